/* store_dir.c: directories: opened, made, listed, synced (store.h). The names in them: store_names.c. */
#include "store_sys.h"

#include "common/phases.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEEPEST = 1024 }; /* directories that one may lie in */

/* ---- opening, making ---- */

static int
open_dir(const char *path, bool *search_only_out)
{
    int fd = rset_sys_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);

    *search_only_out = false;
    if (fd < 0 && errno == EACCES) { /* files in a --x directory can be opened all the same */
        fd = rset_sys_open(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0);
        *search_only_out = fd >= 0;
        if (fd < 0)
            errno = EACCES;
    }
    return fd;
}

/* Makes the entries of `path` last, as far as the file system can. */
static rset_status
sync_fd(int fd, const char *path, rset_err *err)
{
    const rset_phase before = rset_phase_enter(RSET_PHASE_SYNC);
    int              rc;

    /* Interrupted is not failed: nothing was reported yet. Any other failure has used up the
     * kernel's one report and is final. */
    do
        rc = rset_sys_now->fsync(fd);
    while (rc < 0 && errno == EINTR);
    rset_phase_leave(before);
    if (rc == 0 || errno == EINVAL || errno == EROFS)
        return RSET_OK;
    return rset_fail_errno(
        err, RSET_IO, errno,
        "%s: cannot make this directory's entries durable; check the file system", path);
}

static rset_status
sync_parent(char *path, rset_err *err)
{
    char       *slash = strrchr(path, '/');
    const char *parent = slash == NULL ? "." : slash == path ? "/" : path;
    bool        search_only;
    int         fd;
    rset_status st = RSET_OK;

    if (slash != NULL && slash != path)
        *slash = '\0';
    fd = open_dir(parent, &search_only);
    if (fd < 0)
        st = rset_fail_errno(err, RSET_IO, errno, "%s: cannot open directory", parent);
    else if (!search_only)
        st = sync_fd(fd, parent, err);
    if (slash != NULL && slash != path)
        *slash = '/';
    if (fd >= 0)
        (void)rset_sys_now->close(fd);
    return st;
}

/* mkdir -p. A failing mkdir is no error while the directory turns out to be there: read-only and
 * automounted parents answer with all sorts of errno. *why_out keeps the last of them. */
static rset_status
make_dirs(char *path, int *why_out, rset_err *err)
{
    rset_status st = RSET_OK;
    char       *p = path;

    *why_out = 0;
    while (st == RSET_OK && *p != '\0') {
        char end;
        int  rc;

        p += strspn(p, "/");
        p += strcspn(p, "/");
        end = *p;
        *p = '\0';
        do
            rc = rset_sys_now->mkdir(path, 0777);
        while (rc < 0 && errno == EINTR);
        if (rc == 0)
            st = sync_parent(path, err); /* else a crash takes the new directory with all in it */
        else if (errno != EEXIST && (errno != ENOENT || *why_out == 0))
            *why_out = errno; /* ENOENT only follows from what failed before */
        *p = end;
        while (*p == '/' && p[strspn(p, "/")] == '\0')
            *p = '\0'; /* trailing slashes */
    }
    return st;
}

rset_status
rset_dir_open(const char *path, bool create, rset_dir **dir_out, rset_err *err)
{
    size_t      len = strlen(path);
    rset_dir   *dir = malloc(sizeof *dir + len + 1);
    int         why = 0;
    rset_status st = RSET_OK;

    if (dir == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: out of memory", path);
    *dir = (rset_dir){.fd = -1};
    memcpy(dir->path, path, len + 1);
    dir->fd = open_dir(path, &dir->search_only);
    if (dir->fd < 0 && errno == ENOENT && create) {
        st = make_dirs(dir->path, &why, err);
        memcpy(dir->path, path, len + 1);
        if (st == RSET_OK) {
            dir->fd = open_dir(path, &dir->search_only);
            if (dir->fd < 0 && why != 0)
                st = rset_fail_errno(err, RSET_IO, why, "%s: cannot create directory", path);
        }
    }
    if (dir->fd < 0) {
        if (st == RSET_OK)
            st = rset_fail_errno(err, rset_sys_status(errno), errno, "%s: cannot open directory",
                                 path);
        free(dir);
        return st;
    }
    *dir_out = dir;
    return RSET_OK;
}

rset_status
rset_dir_enter(rset_dir *dir, const char *name, rset_dir **dir_out, rset_err *err)
{
    const size_t len = strlen(dir->path) + strlen(name) + 2;
    rset_status  st = rset_dir_check_name(dir, name, err);
    rset_dir    *in = st == RSET_OK ? malloc(sizeof *in + len) : NULL;

    if (st != RSET_OK)
        return st;
    if (in == NULL)
        return rset_fail(err, RSET_NOMEM, "%s/%s: out of memory", dir->path, name);
    *in = (rset_dir){.fd = rset_sys_open(dir->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)};
    (void)stpcpy(stpcpy(stpcpy(in->path, strcmp(dir->path, "/") == 0 ? "" : dir->path), "/"), name);
    if (in->fd < 0) {
        st = rset_fail_errno(err, rset_sys_status(errno), errno, "%s: cannot open directory",
                             in->path);
        free(in);
        return st;
    }
    *dir_out = in;
    return RSET_OK;
}

/* Asks one directory after the other on the way up, as far as the one that is above itself. */
rset_status
rset_dir_is_below(const rset_dir *dir, const char *root, bool *is_out, rset_err *err)
{
    char        up[3 * DEEPEST] = ".";
    size_t      n = 0;
    struct stat at, last = {0}, top;

    *is_out = false;
    if (rset_sys_now->fstatat(AT_FDCWD, root, &top, 0) != 0)
        return rset_sys_status(errno) == RSET_ABSENT
                   ? RSET_OK
                   : rset_fail_errno(err, RSET_IO, errno, "%s: cannot be looked at", root);
    while (S_ISDIR(top.st_mode) && n + 4 < sizeof up) {
        if (rset_sys_now->fstatat(dir->fd, up, &at, 0) != 0)
            return rset_fail_errno(err, RSET_IO, errno, "%s/%s: cannot be looked at", dir->path,
                                   up);
        *is_out = at.st_dev == top.st_dev && at.st_ino == top.st_ino;
        if (*is_out || (n > 0 && at.st_dev == last.st_dev && at.st_ino == last.st_ino))
            return RSET_OK;
        last = at;
        n = (size_t)(stpcpy(up + n, n > 0 ? "/.." : "..") - up);
    }
    return RSET_OK;
}

void
rset_dir_rest(rset_dir *dir)
{
    if (dir->shared != NULL)
        rset_shared_leave(dir->shared);
    else if (dir->fd >= 0)
        (void)rset_sys_now->close(dir->fd); /* nothing was written through it */
    dir->shared = NULL;
    dir->fd = -1;
}

void
rset_dir_close(rset_dir *dir)
{
    if (dir != NULL)
        rset_dir_rest(dir);
    free(dir);
}

uint64_t
rset_dir_number(const rset_dir *dir)
{
    struct stat sb;

    if (rset_sys_now->fstat(dir->fd, &sb) != 0)
        return 0;
    return ((uint64_t)sb.st_dev * UINT64_C(0x9e3779b97f4a7c15)) ^ (uint64_t)sb.st_ino;
}

int
rset_dir_fd(const rset_dir *dir)
{
    return dir->fd;
}

const char *
rset_dir_path(const rset_dir *dir)
{
    return dir->path;
}

/* ---- all entries ---- */

static bool
may_be_dir(const struct dirent *entry)
{
    return entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
}

static rset_status
list(rset_dir *dir, bool only_dirs, bool (*visit)(const char *name, void *arg), void *arg,
     rset_err *err)
{
    int            fd = rset_sys_open(dir->fd, ".", O_RDONLY | O_DIRECTORY, 0);
    DIR           *stream = fd < 0 ? NULL : rset_sys_now->fdopendir(fd);
    struct dirent *entry = NULL;
    bool           more = true;
    rset_status    st = RSET_OK;

    if (stream == NULL) {
        st = rset_fail_errno(err, RSET_IO, errno, "%s: cannot list directory", dir->path);
        if (fd >= 0)
            (void)rset_sys_now->close(fd);
        return st;
    }
    while (more) {
        errno = 0;
        entry = rset_sys_now->readdir(stream);
        if (entry == NULL && errno == EINTR)
            continue;
        if (entry == NULL)
            break;
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            (!only_dirs || may_be_dir(entry)))
            more = visit(entry->d_name, arg);
    }
    if (more && errno != 0)
        st = rset_fail_errno(err, RSET_IO, errno, "%s: cannot list directory", dir->path);
    (void)rset_sys_now->closedir(stream);
    return st;
}

rset_status
rset_dir_list(rset_dir *dir, bool (*visit)(const char *name, void *arg), void *arg, rset_err *err)
{
    return list(dir, false, visit, arg, err);
}

rset_status
rset_dir_list_dirs(rset_dir *dir, bool (*visit)(const char *name, void *arg), void *arg,
                   rset_err *err)
{
    return list(dir, true, visit, arg, err);
}

rset_status
rset_dir_sync(rset_dir *dir, rset_err *err)
{
    rset_status st;
    bool       *failed = &dir->sync_failed;

    if (dir->search_only)
        return rset_fail_errno(
            err, RSET_IO, EACCES,
            "%s: cannot make this directory's entries durable; give read permission", dir->path);
    if (dir->shared != NULL)
        failed = rset_shared_begin_sync(dir->shared);
    if (*failed)
        st = rset_fail_errno(err, RSET_IO, EIO, "%s: an earlier sync of this directory failed",
                             dir->path);
    else
        st = sync_fd(dir->fd, dir->path, err);
    *failed = st != RSET_OK;
    if (dir->shared != NULL)
        rset_shared_end_sync(dir->shared);
    return st;
}

/* ---- directories that may have to go again ---- */

/* RSET_ABSENT: nothing has that path; RSET_IO: that cannot be told. */
static rset_status
look_at(const char *path)
{
    struct stat sb;

    if (rset_sys_now->fstatat(AT_FDCWD, path, &sb, 0) == 0)
        return RSET_OK;
    return errno == ENOENT ? RSET_ABSENT : RSET_IO;
}

/* The topmost of the missing directories that lead to `path`, which is missing: cuts it to that. */
static void
cut_to_first(char *path)
{
    char *slash;

    while ((slash = strrchr(path, '/')) != NULL && slash != path) {
        *slash = '\0';
        if (look_at(path) != RSET_ABSENT) {
            *slash = '/';
            break;
        }
    }
}

rset_status
rset_dir_make(const char *path, char **first_out, rset_err *err)
{
    const rset_status there = look_at(path);
    rset_dir         *dir = NULL;
    rset_status       st;

    *first_out = NULL;
    if (there == RSET_OK)
        return RSET_OK;
    if (there == RSET_ABSENT) { /* what may have been there is never unmade */
        *first_out = strdup(path);
        if (*first_out == NULL)
            return rset_fail(err, RSET_NOMEM, "%s: no memory to make this directory", path);
        cut_to_first(*first_out);
    }
    st = rset_dir_open(path, true, &dir, err);
    rset_dir_close(dir);
    return st;
}

void
rset_dir_unmake(const char *path, const char *first)
{
    char  *at = strdup(path);
    size_t stop = strlen(first);

    while (at != NULL && strlen(at) >= stop) {
        char *slash = strrchr(at, '/');

        if (rset_sys_now->unlinkat(AT_FDCWD, at, AT_REMOVEDIR) != 0 || slash == NULL || slash == at)
            break;
        *slash = '\0';
    }
    free(at);
}
