/* store.c: regular files (store.h): read one, or write a new one. Directories: store_dir.c, store_names.c; who may use them: store_access.c, store_attrs.c. */
#include "store_sys.h"

#include "common/bytes.h"
#include "common/phases.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

enum { BEGIN_SYNC = 8 << 20 };

static const char mark_name[] = "user.redset";

/* ---- opening and closing ---- */

static rset_status
new_file(const rset_dir *dir, const char *name, rset_file **file_out, rset_err *err)
{
    rset_status st = rset_dir_check_name(dir, name, err);
    size_t      size;
    rset_file  *file;

    if (st != RSET_OK)
        return st;
    size = strlen(dir->path) + 1 + strlen(name) + 1;
    file = malloc(sizeof *file + size);
    if (file == NULL)
        return rset_fail(err, RSET_NOMEM, "%s/%s: out of memory", dir->path, name);
    *file = (rset_file){.fd = -1};
    snprintf(file->path, size, "%s/%s", dir->path, name);
    *file_out = file;
    return RSET_OK;
}

static void
drop_file(rset_file *file)
{
    if (file->fd >= 0)
        (void)rset_sys_now->close(file->fd); /* nothing was written through it */
    free(file);
}

static rset_status
check_regular(const rset_dir *dir, rset_file *file, rset_err *err)
{
    struct stat sb;
    rset_status st = rset_file_stat(file, &sb, err);

    if (st == RSET_OK && !S_ISREG(sb.st_mode))
        st = rset_fail(err, RSET_DAMAGED, "%s: is not a regular file; move it out of the way",
                       file->path);
    return st == RSET_OK ? rset_dir_check_trusted(dir, file->path, &sb, err) : st;
}

static rset_status
open_existing(rset_dir *dir, const char *name, int access, rset_file **file_out, rset_err *err)
{
    rset_file  *file;
    rset_status st = new_file(dir, name, &file, err);

    if (st != RSET_OK)
        return st;
    file->created = access != O_RDONLY;
    /* O_NONBLOCK: a FIFO must not make us wait before fstat can tell what it is */
    file->fd = rset_sys_open(dir->fd, name, access | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    if (file->fd >= 0)
        st = check_regular(dir, file, err);
    else if (errno == ELOOP || errno == ENXIO)
        st = rset_fail(err, RSET_DAMAGED, "%s: is a %s, not a regular file; move it out of the way",
                       file->path, errno == ELOOP ? "symbolic link" : "socket or device");
    else
        st =
            rset_fail_errno(err, rset_sys_status(errno), errno, "%s: cannot be opened", file->path);
    if (st != RSET_OK) {
        drop_file(file);
        return st;
    }
    *file_out = file;
    return RSET_OK;
}

rset_status
rset_file_open(rset_dir *dir, const char *name, rset_file **file_out, rset_err *err)
{
    return open_existing(dir, name, O_RDONLY, file_out, err);
}

rset_status
rset_file_open_update(rset_dir *dir, const char *name, rset_file **file_out, rset_err *err)
{
    return open_existing(dir, name, O_RDWR, file_out, err);
}

rset_status
rset_file_create(rset_dir *dir, const char *name, const rset_access *origin, rset_file **file_out,
                 rset_err *err)
{
    const int    flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    const mode_t mode = origin != NULL ? rset_access_first_mode(origin) : 0666;
    rset_file   *file;
    rset_status  st = new_file(dir, name, &file, err);

    if (st != RSET_OK)
        return st;
    file->created = true;
    file->fd = rset_sys_open(dir->fd, name, flags, mode);
    if (file->fd < 0 &&
        errno == EEXIST) { /* left by a dead run, or planted: never written through */
        st = rset_dir_check_free(dir, name, err);
        if (st == RSET_OK)
            st = rset_dir_unlink(dir, name, err);
        if (st == RSET_OK)
            file->fd = rset_sys_open(dir->fd, name, flags, mode);
    }
    if (st == RSET_OK && file->fd < 0)
        st = rset_fail_errno(
            err, rset_sys_status(errno), errno,
            "%s: cannot be created; check permissions and space of the file system", file->path);
    if (st != RSET_OK) {
        drop_file(file);
        return st;
    }
    file->is_new = true;
    file->has_home = rset_user() == 0 && rset_sys_now->fstat(dir->fd, &file->home) == 0;
    file->has_origin = origin != NULL;
    if (origin != NULL) {
        file->origin = *origin;
        rset_file_follow(file, *origin);
    }
    *file_out = file;
    return RSET_OK;
}

rset_status
rset_file_close(rset_file *file, rset_err *err)
{
    rset_status st = RSET_OK;

    if (file == NULL)
        return RSET_OK;
    /* Never again after EINTR: Linux has released the descriptor, another thread may own it by now.
     * Interrupted after a sync loses nothing. */
    if (rset_sys_now->close(file->fd) < 0 && file->created && (errno != EINTR || file->unsynced))
        st = rset_fail_errno(
            err, RSET_IO, errno,
            "%s: closing it failed, its content is not safe; check the file system", file->path);
    free(file);
    return st;
}

bool
rset_file_lock(rset_file *file, bool exclusive)
{
    int rc;

    do
        rc = rset_sys_now->flock(file->fd, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB);
    while (rc < 0 && errno == EINTR);
    return rc == 0 || errno != EWOULDBLOCK;
}

bool
rset_file_guard_as(rset_file *file, rset_guard which, bool exclusive)
{
    return rset_sys_now->guard(file->fd, which, exclusive ? F_WRLCK : F_RDLCK) == 0 ||
           (errno != EAGAIN && errno != EACCES);
}

bool
rset_file_is_guarded(rset_file *file, rset_guard which)
{
    return rset_sys_now->guarded(file->fd, which) == 1;
}

void
rset_file_unguard(rset_file *file)
{
    for (int which = 0; which < RSET_GUARDS; which++)
        (void)rset_sys_now->guard(file->fd, (rset_guard)which, F_UNLCK);
}

rset_status
rset_file_stat(rset_file *file, struct stat *st_out, rset_err *err)
{
    while (rset_sys_now->fstat(file->fd, st_out) < 0)
        if (errno != EINTR)
            return rset_fail_errno(err, RSET_IO, errno, "%s: cannot read its attributes",
                                   file->path);
    return RSET_OK;
}

const char *
rset_file_path(const rset_file *file)
{
    return file->path;
}

/* ---- content ---- */

static void (*reads_watch)(size_t bytes);

void
rset_file_watch_reads(void (*watch)(size_t bytes))
{
    reads_watch = watch;
}

rset_status
rset_file_read(rset_file *file, uint64_t off, void *buf, size_t len, size_t *got_out, rset_err *err)
{
    size_t got = 0;

    *got_out = 0;
    while (got < len && off + got >= off && off + got <= INT64_MAX) { /* no file reaches further */
        const rset_phase before = rset_phase_enter(RSET_PHASE_READ);
        const ssize_t    n =
            rset_sys_now->pread(file->fd, (char *)buf + got, len - got, (off_t)(off + got));

        rset_phase_leave(before);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return rset_fail_errno(err, RSET_IO, errno,
                                   "%s: reading at byte %llu failed; check the file system",
                                   file->path, (unsigned long long)(off + got));
        if (n == 0)
            break;
        got += (size_t)n;
        if (reads_watch != NULL)
            reads_watch((size_t)n);
    }
    *got_out = got;
    return RSET_OK;
}

/* Without holes a file has as many bytes on disk as it is long. */
static bool
is_sparse(const rset_file *file, struct stat *sb)
{
    return rset_sys_now->fstat(file->fd, sb) == 0 &&
           (uint64_t)sb->st_blocks * 512 < (uint64_t)sb->st_size;
}

uint64_t
rset_file_next_data(rset_file *file, uint64_t off, uint64_t *end_out)
{
    struct stat sb;
    off_t       at, end;

    *end_out = UINT64_MAX;
    if (off > INT64_MAX || !is_sparse(file, &sb) || off >= (uint64_t)sb.st_size)
        return off;
    at = rset_sys_now->lseek(file->fd, (off_t)off, SEEK_DATA);
    if (at < 0)
        return errno == ENXIO ? (uint64_t)sb.st_size : off;
    end = rset_sys_now->lseek(file->fd, at, SEEK_HOLE);
    if (end > at)
        *end_out = (uint64_t)end;
    return (uint64_t)at;
}

enum { ADVICE = 128 };

/* The advice for a file that could not grow up to `end`. */
static const char *
advice(int why, uint64_t end, char text[ADVICE])
{
    struct rlimit most = {RLIM_INFINITY, RLIM_INFINITY};

    if (why != EFBIG)
        return "check space and quota of the file system";
    if (getrlimit(RLIMIT_FSIZE, &most) != 0 || end <= most.rlim_cur)
        return "this file system has no files of that size";
    snprintf(text, ADVICE,
             "this process may make no file larger than %llu bytes: raise that limit (ulimit -f)",
             (unsigned long long)most.rlim_cur);
    return text;
}

static rset_status
not_written(const rset_file *file, int why, uint64_t at, uint64_t end, rset_err *err)
{
    char text[ADVICE];

    return rset_fail_errno(err, RSET_IO, why, "%s: writing at byte %llu failed; %s", file->path,
                           (unsigned long long)at, advice(why, end, text));
}

static rset_status
write_all(rset_file *file, uint64_t off, const void *buf, size_t len, rset_err *err)
{
    size_t put = 0;

    if (file->is_new) /* also what comes to be half written */
        rset_written_note(&file->written, off, off + len);
    while (put < len) {
        const rset_phase before = rset_phase_enter(RSET_PHASE_WRITE);
        const ssize_t    n =
            rset_sys_now->pwrite(file->fd, (const char *)buf + put, len - put, (off_t)(off + put));

        rset_phase_leave(before);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) /* nothing written and no reason given: the disk is full */
            return not_written(file, n < 0 ? errno : ENOSPC, off + put, off + len, err);
        put += (size_t)n;
    }
    file->waiting += len;
    if (off + len > file->size)
        file->size = off + len;
    return RSET_OK;
}

/* Where nothing has been written a new file reads as zeros by itself. */
static rset_status
write_new(rset_file *file, uint64_t off, const uint8_t *buf, size_t len, rset_err *err)
{
    rset_status st = RSET_OK;

    for (size_t at = 0; st == RSET_OK && at < len;) {
        const size_t data = rset_run_of(buf + at, len - at, false);

        st = write_all(file, off + at, buf + at, data, err);
        at += data;
        at += rset_run_of(buf + at, len - at, true);
    }
    if (st == RSET_OK && len > 0 && file->size < off + len)
        st = rset_file_resize(file, off + len, err);
    return st;
}

rset_status
rset_file_write(rset_file *file, uint64_t off, const void *buf, size_t len, rset_err *err)
{
    rset_status st;

    file->unsynced = true;
    if (off > INT64_MAX || len > INT64_MAX - off)
        return rset_fail_errno(err, RSET_IO, EFBIG, "%s: cannot write at byte %llu", file->path,
                               (unsigned long long)off);
    st = file->is_new && !rset_written_has(&file->written, off, off + len)
             ? write_new(file, off, buf, len, err)
             : write_all(file, off, buf, len, err);
    if (st == RSET_OK && file->waiting >= BEGIN_SYNC)
        rset_file_begin_sync(file);
    return st;
}

void
rset_file_begin_sync(rset_file *file)
{
    const rset_phase before = rset_phase_enter(RSET_PHASE_SYNC);

    file->waiting = 0;
    (void)rset_sys_now->sync_file_range(file->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    rset_phase_leave(before);
}

rset_status
rset_file_resize(rset_file *file, uint64_t len, rset_err *err)
{
    file->unsynced = true;
    if (len > INT64_MAX)
        return rset_fail_errno(err, RSET_IO, EFBIG, "%s: cannot be made %llu bytes long",
                               file->path, (unsigned long long)len);
    while (rset_sys_now->ftruncate(file->fd, (off_t)len) < 0) {
        const int why = errno;
        char      text[ADVICE];

        if (why != EINTR)
            return rset_fail_errno(err, RSET_IO, why, "%s: cannot be made %llu bytes long; %s",
                                   file->path, (unsigned long long)len, advice(why, len, text));
    }
    file->size = len;
    return RSET_OK;
}

rset_status
rset_file_clone(rset_file *to, const rset_file *from, uint64_t size, bool *done_out, rset_err *err)
{
    struct stat sb;
    rset_status st = RSET_OK;

    *done_out = to->is_new && to->size == 0 && rset_sys_now->clone(to->fd, from->fd) == 0;
    if (!*done_out)
        return RSET_OK;
    to->unsynced = true;
    if (rset_sys_now->fstat(to->fd, &sb) != 0)
        return rset_fail_errno(err, RSET_IO, errno, "%s", to->path);
    *done_out = (uint64_t)sb.st_size >= size;
    if (!*done_out || (uint64_t)sb.st_size > size)
        st = rset_file_resize(to, *done_out ? size : 0, err);
    to->size = *done_out ? size : 0;
    rset_written_note(&to->written, 0, to->size);
    return st;
}

rset_status
rset_file_sync(rset_file *file, rset_err *err)
{
    rset_phase before;
    int        rc;

    if (file->sync_failed)
        return rset_fail_errno(err, RSET_IO, EIO, "%s: an earlier sync of it failed; write it anew",
                               file->path);
    /* Interrupted is not failed. After a real failure the kernel has dropped the dirty pages and the
     * next fsync would say OK: never asked again. */
    before = rset_phase_enter(RSET_PHASE_SYNC);
    do
        rc = rset_sys_now->fsync(file->fd);
    while (rc < 0 && errno == EINTR);
    rset_phase_leave(before);
    file->sync_failed = rc < 0;
    if (rc < 0)
        return rset_fail_errno(err, RSET_IO, errno,
                               "%s: its content could not be made durable; check the file system",
                               file->path);
    file->unsynced = false;
    return RSET_OK;
}

rset_status
rset_file_slurp(rset_dir *dir, const char *name, size_t max, uint8_t **buf_out, size_t *len_out,
                rset_err *err)
{
    rset_file  *file = NULL;
    uint8_t    *buf = NULL;
    struct stat sb;
    size_t      got = 0;
    rset_status st = rset_file_open(dir, name, &file, err);

    if (st == RSET_OK)
        st = rset_file_stat(file, &sb, err);
    if (st != RSET_OK)
        goto done;
    if (sb.st_size < 0 || (uint64_t)sb.st_size > max) {
        st = rset_fail(err, RSET_DAMAGED, "%s: is %lld bytes long, at most %zu make sense",
                       file->path, (long long)sb.st_size, max);
        goto done;
    }
    buf = malloc(sb.st_size > 0 ? (size_t)sb.st_size : 1);
    if (buf == NULL) {
        st = rset_fail(err, RSET_NOMEM, "%s: no memory for its %lld bytes", file->path,
                       (long long)sb.st_size);
        goto done;
    }
    st = rset_file_read(file, 0, buf, (size_t)sb.st_size, &got, err);
    if (st != RSET_OK)
        goto done;
    *buf_out = buf;
    *len_out = got;
    buf = NULL;
done:
    free(buf);
    (void)rset_file_close(file, NULL);
    return st;
}

/* ---- the mark ---- */

void
rset_file_set_mark(rset_file *file, uint64_t mark)
{
    uint8_t value[8];

    if (mark == 0) {
        (void)rset_sys_now->fremovexattr(file->fd, mark_name);
        return;
    }
    rset_put64(value, mark);
    (void)rset_sys_now->fsetxattr(file->fd, mark_name, value, sizeof value, 0);
}

uint64_t
rset_file_get_mark(rset_file *file)
{
    uint8_t value[8];

    if (rset_sys_now->fgetxattr(file->fd, mark_name, value, sizeof value) != sizeof value)
        return 0;
    return rset_get64(value);
}
