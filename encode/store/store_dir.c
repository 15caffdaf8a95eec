/* store_dir.c: directories, and the names in them (store.h). */
#include "store_sys.h"

#include "common/phases.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEEPEST = 1024 }; /* directories that one may lie in */

rset_status
rset_dir_check_name(const rset_dir *dir, const char *name, rset_err *err)
{
    if (name == NULL || *name == '\0')
        return rset_fail(err, RSET_USAGE, "%s: empty file name", dir->path);
    if (strchr(name, '/') != NULL || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return rset_fail(err, RSET_USAGE,
                         "%s: \"%s\" is not a plain file name; redset uses only names inside the "
                         "directory of the file it protects",
                         dir->path, name);
    return RSET_OK;
}

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
    (void)stpcpy(stpcpy(stpcpy(in->path, dir->path), "/"), name);
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
bool
rset_dir_is_below(const rset_dir *dir, const char *root)
{
    char        up[3 * DEEPEST] = ".";
    size_t      n = 0;
    struct stat at, last = {0}, top;

    if (rset_sys_now->fstatat(AT_FDCWD, root, &top, 0) != 0 || !S_ISDIR(top.st_mode))
        return false;
    while (n + 4 < sizeof up && rset_sys_now->fstatat(dir->fd, up, &at, 0) == 0) {
        if (at.st_dev == top.st_dev && at.st_ino == top.st_ino)
            return true;
        if (n > 0 && at.st_dev == last.st_dev && at.st_ino == last.st_ino)
            return false;
        last = at;
        n = (size_t)(stpcpy(up + n, n > 0 ? "/.." : "..") - up);
    }
    return false;
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

/* ---- entries ---- */

rset_status
rset_dir_list(rset_dir *dir, bool (*visit)(const char *name, void *arg), void *arg, rset_err *err)
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
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            more = visit(entry->d_name, arg);
    }
    if (more && errno != 0)
        st = rset_fail_errno(err, RSET_IO, errno, "%s: cannot list directory", dir->path);
    (void)rset_sys_now->closedir(stream);
    return st;
}

rset_status
rset_dir_stat(rset_dir *dir, const char *name, struct stat *st_out, rset_err *err)
{
    rset_status st = rset_dir_check_name(dir, name, err);

    if (st != RSET_OK)
        return st;
    while (rset_sys_now->fstatat(dir->fd, name, st_out, AT_SYMLINK_NOFOLLOW) < 0)
        if (errno != EINTR)
            return rset_fail_errno(err, rset_sys_status(errno), errno,
                                   "%s/%s: cannot read its attributes", dir->path, name);
    return RSET_OK;
}

rset_status
rset_dir_find_file(rset_dir *dir, const char *name, struct stat *st_out, bool *there_out,
                   rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    rset_status st = rset_dir_stat(dir, name, st_out, &own);

    *there_out = st == RSET_OK && S_ISREG(st_out->st_mode);
    return st == RSET_OK || st == RSET_ABSENT ? RSET_OK : rset_fail(err, st, "%s", own.text);
}

bool
rset_dir_has_file(rset_dir *dir, const char *name)
{
    struct stat sb;
    bool        there;

    (void)rset_dir_find_file(dir, name, &sb, &there, NULL);
    return there;
}

rset_status
rset_dir_may_change(const rset_dir *dir, rset_err *err)
{
    if (faccessat(AT_FDCWD, dir->path, W_OK | X_OK, AT_EACCESS) == 0)
        return RSET_OK;
    return rset_fail_errno(err, RSET_IO, errno, "%s: nothing can be written to this directory",
                           dir->path);
}

static rset_status
check_rename(rset_dir *dir, const char *from, const char *to, rset_err *err)
{
    rset_status st = rset_dir_check_name(dir, from, err);

    if (st == RSET_OK)
        st = rset_dir_check_name(dir, to, err);
    return st == RSET_OK && dir->trust.foreign ? rset_dir_check_free(dir, to, err) : st;
}

static rset_status
not_renamed(const rset_dir *dir, const char *from, const char *to, int why, rset_err *err)
{
    return rset_fail_errno(err, rset_sys_status(why), why,
                           "%s/%s: cannot be renamed to %s; check permissions and space of the "
                           "file system",
                           dir->path, from, to);
}

rset_status
rset_dir_rename(rset_dir *dir, const char *from, const char *to, rset_err *err)
{
    rset_status st = check_rename(dir, from, to, err);

    if (st != RSET_OK)
        return st;
    while (rset_sys_now->renameat(dir->fd, from, dir->fd, to) < 0) {
        const int why = errno; /* the check below makes a call of its own */

        if (why == EINTR)
            continue;
        st = rset_dir_check_free(dir, to, err);
        return st == RSET_OK ? not_renamed(dir, from, to, why, err) : st;
    }
    return RSET_OK;
}

rset_status
rset_dir_rename_new(rset_dir *dir, const char *from, const char *to, rset_err *err)
{
    rset_status st = check_rename(dir, from, to, err);

    if (st != RSET_OK)
        return st;
    while (rset_sys_now->rename_new(dir->fd, from, dir->fd, to) < 0) {
        if (errno == EEXIST)
            return rset_fail(err, RSET_BUSY, "%s/%s: exists already", dir->path, to);
        if (errno != EINTR)
            return not_renamed(dir, from, to, errno, err);
    }
    return RSET_OK;
}

static rset_status
not_linked(const rset_dir *dir, const char *from, const rset_dir *to_dir, const char *to, int why,
           rset_err *err)
{
    const bool never = why == EXDEV || why == EPERM || why == EOPNOTSUPP || why == EMLINK;

    return rset_fail_errno(err, never ? RSET_USAGE : rset_sys_status(why), why,
                           "%s/%s: cannot have the name %s/%s as well%s", dir->path, from,
                           to_dir->path, to,
                           why == EXDEV ? "; give it a name on the same file system"
                           : never      ? "; this file system gives a file one name only"
                                        : "");
}

static rset_status
link_once(rset_dir *dir, const char *from, rset_dir *to_dir, const char *to, int *errno_out,
          rset_err *err)
{
    while (rset_sys_now->linkat(dir->fd, from, to_dir->fd, to, 0) < 0)
        if (errno != EINTR) {
            *errno_out = errno;
            return not_linked(dir, from, to_dir, to, *errno_out, err);
        }
    return RSET_OK;
}

static bool
is_one_file(rset_dir *dir, const char *name, rset_dir *other_dir, const char *other)
{
    struct stat of, has;

    return rset_dir_stat(dir, name, &of, NULL) == RSET_OK &&
           rset_dir_stat(other_dir, other, &has, NULL) == RSET_OK && of.st_dev == has.st_dev &&
           of.st_ino == has.st_ino;
}

/* A name that the file has already is not taken from it, not even for a moment. */
rset_status
rset_dir_link(rset_dir *dir, const char *from, rset_dir *to_dir, const char *to, rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    int         sys_errno = 0;
    rset_status st = rset_dir_check_name(dir, from, err);

    if (st == RSET_OK)
        st = rset_dir_check_name(to_dir, to, err);
    if (st != RSET_OK || link_once(dir, from, to_dir, to, &sys_errno, &own) == RSET_OK)
        return st;
    if (sys_errno != EEXIST)
        return rset_fail_as(err, &own);
    if (is_one_file(dir, from, to_dir, to))
        return RSET_OK;
    if (to_dir->trust.foreign)
        st = rset_dir_check_free(to_dir, to, err);
    if (st == RSET_OK)
        st = rset_dir_unlink(to_dir, to, err);
    return st == RSET_OK ? link_once(dir, from, to_dir, to, &sys_errno, err) : st;
}

/* What has to be done before a name can be removed from a directory; "" where nobody can tell. */
static const char *
what_to_give(int sys_errno)
{
    switch (sys_errno) {
    case EROFS: return "; make the file system writable and try again";
    case EACCES: return "; give write permission for the directory";
    default: return "";
    }
}

rset_status
rset_dir_unlink(rset_dir *dir, const char *name, rset_err *err)
{
    rset_status st = rset_dir_check_name(dir, name, err);

    if (st != RSET_OK)
        return st;
    if (dir->trust.foreign && rset_dir_check_free(dir, name, NULL) != RSET_OK)
        return RSET_OK; /* it is nothing of ours, and was not there before either */
    while (rset_sys_now->unlinkat(dir->fd, name, 0) < 0) {
        if (errno == ENOENT)
            return RSET_OK;
        if (errno != EINTR)
            return rset_fail_errno(err, RSET_IO, errno, "%s/%s: cannot be removed%s", dir->path,
                                   name, what_to_give(errno));
    }
    return RSET_OK;
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

const char *
rset_path_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

rset_status
rset_path_split(const char *path, char **dir_out, char **base_out, rset_err *err)
{
    const char *slash = path == NULL ? NULL : strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    char       *dir_copy, *base_copy;

    if (base == NULL || *base == '\0' || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
        return rset_fail(err, RSET_USAGE, "\"%s\" names no file", path == NULL ? "" : path);
    while (slash != NULL && slash > path && slash[-1] == '/')
        slash--;
    base_copy = strdup(base);
    dir_copy = slash == NULL   ? strdup(".")
               : slash == path ? strdup("/")
                               : strndup(path, (size_t)(slash - path));
    if (base_copy == NULL || dir_copy == NULL) {
        free(base_copy);
        free(dir_copy);
        return rset_fail(err, RSET_NOMEM, "%s: out of memory", path);
    }
    *dir_out = dir_copy;
    *base_out = base_copy;
    return RSET_OK;
}

/* ---- directories that may have to go again ---- */

rset_status
rset_dir_make(const char *path, char **first_out, rset_err *err)
{
    char       *first = strdup(path), *slash;
    rset_dir   *dir = NULL;
    struct stat st;
    rset_status status;

    *first_out = NULL;
    if (first == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: no memory to make this directory", path);
    if (rset_sys_now->fstatat(AT_FDCWD, path, &st, 0) == 0) {
        free(first);
        return RSET_OK;
    }
    while ((slash = strrchr(first, '/')) != NULL && slash != first) {
        *slash = '\0';
        if (rset_sys_now->fstatat(AT_FDCWD, first, &st, 0) == 0) {
            *slash = '/';
            break;
        }
    }
    status = rset_dir_open(path, true, &dir, err);
    rset_dir_close(dir);
    *first_out = first;
    return status;
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
