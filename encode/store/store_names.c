/* store_names.c: plain names in an open directory (store.h): what has one, and giving it another one, one more, or none. */
#include "store_sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* ---- what has a name ---- */

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
    struct stat sb;
    rset_status st = rset_dir_stat(dir, name, &sb, &own);

    *there_out = st == RSET_OK && S_ISREG(sb.st_mode);
    if (*there_out && st_out != NULL)
        *st_out = sb;
    return st == RSET_OK || st == RSET_ABSENT ? RSET_OK : rset_fail_as(err, &own);
}

bool
rset_dir_has_file(rset_dir *dir, const char *name)
{
    bool there;

    (void)rset_dir_find_file(dir, name, NULL, &there, NULL);
    return there;
}

bool
rset_dir_lacks_file(rset_dir *dir, const char *name)
{
    bool there;

    return rset_dir_find_file(dir, name, NULL, &there, NULL) == RSET_OK && !there;
}

rset_status
rset_dir_may_change(const rset_dir *dir, rset_err *err)
{
    if (faccessat(AT_FDCWD, dir->path, W_OK | X_OK, AT_EACCESS) == 0)
        return RSET_OK;
    return rset_fail_errno(err, RSET_IO, errno, "%s: nothing can be written to this directory",
                           dir->path);
}

/* ---- another name ---- */

static rset_status
check_rename(rset_dir *dir, const char *from, rset_dir *to_dir, const char *to, rset_err *err)
{
    rset_status st = rset_dir_check_name(dir, from, err);

    if (st == RSET_OK)
        st = rset_dir_check_name(to_dir, to, err);
    return st == RSET_OK && to_dir->trust.foreign ? rset_dir_check_free(to_dir, to, err) : st;
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
rset_dir_move(rset_dir *dir, const char *from, rset_dir *to_dir, const char *to, bool over,
              rset_err *err)
{
    int (*const give)(int, const char *, int, const char *) =
        over ? rset_sys_now->renameat : rset_sys_now->rename_new;
    rset_status st = check_rename(dir, from, to_dir, to, err);

    if (st != RSET_OK)
        return st;
    while (give(dir->fd, from, to_dir->fd, to) < 0) {
        const int why = errno; /* the check below makes a call of its own */

        if (why == EINTR)
            continue;
        if (why == EEXIST && !over)
            return rset_fail(err, RSET_BUSY, "%s/%s: exists already", to_dir->path, to);
        st = over ? rset_dir_check_free(to_dir, to, err) : RSET_OK;
        return st == RSET_OK ? not_renamed(dir, from, to, why, err) : st;
    }
    return RSET_OK;
}

/* A system renames nothing where both are names of one file, as of a shadow file that was made by a link: then the old one is removed. */
static void
drop_same(rset_dir *dir, const char *from, const char *to)
{
    struct stat old, now;

    if (strcmp(from, to) != 0 && rset_dir_stat(dir, from, &old, NULL) == RSET_OK &&
        rset_dir_stat(dir, to, &now, NULL) == RSET_OK && old.st_ino == now.st_ino &&
        old.st_dev == now.st_dev)
        (void)rset_dir_unlink(dir, from, NULL);
}

rset_status
rset_dir_rename(rset_dir *dir, const char *from, const char *to, rset_err *err)
{
    const rset_status st = rset_dir_move(dir, from, dir, to, true, err);

    if (st == RSET_OK)
        drop_same(dir, from, to);
    return st;
}

/* ---- one more ---- */

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

/* ---- none ---- */

/* The end of a message: what the user has to do before a name can be removed from a directory; "" where nobody can tell. */
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
