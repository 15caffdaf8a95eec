/* given.c: see given.h. */
#include "given.h"

#include "common/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40 };

/* ---- the environment ---- */

const char *
rset_given_env(const char *name)
{
    return secure_getenv(name);
}

bool
rset_given_is_barred(const char *text, const char *name)
{
    const char *set = getenv(name);

    return set != NULL && secure_getenv(name) == NULL && strcmp(set, text) == 0;
}

/* ---- the way to a file ---- */

/* How far a path has been followed. */
typedef struct way {
    const char *path;           /* as it was given */
    int         dir;            /* O_PATH */
    char        rest[PATH_MAX]; /* from there */
    int         links;          /* that were followed */
} way;

static bool
is_trusted(const struct stat *sb)
{
    return sb->st_uid == geteuid() || sb->st_uid == 0;
}

static rset_status
cannot(const way *w, int why, rset_err *err)
{
    return rset_fail_errno(err, RSET_USAGE, why, "%s cannot be opened", w->path);
}

/* Takes the first name of what is left; false: it is the last one. */
static bool
next_name(way *w, char name[PATH_MAX])
{
    const char  *from = w->rest + strspn(w->rest, "/");
    const size_t n = strcspn(from, "/");
    const char  *after = from + n + strspn(from + n, "/");

    snprintf(name, PATH_MAX, "%.*s", (int)n, from);
    memmove(w->rest, after, strlen(after) + 1);
    return w->rest[0] != '\0';
}

/* What is left is looked for from that directory on. */
static rset_status
go_to(way *w, int dir, rset_err *err)
{
    if (dir < 0)
        return cannot(w, errno, err);
    if (w->dir >= 0)
        close(w->dir);
    w->dir = dir;
    return RSET_OK;
}

static rset_status
begin(way *w, const char *path, rset_err *err)
{
    *w = (way){.path = path, .dir = -1};
    if (strlen(path) >= sizeof w->rest)
        return cannot(w, ENAMETOOLONG, err);
    strcpy(w->rest, path);
    return go_to(w, open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC), err);
}

/* What is left comes after what the link `fd` says. */
static rset_status
follow(way *w, int fd, const struct stat *sb, rset_err *err)
{
    char    to[PATH_MAX], joined[2 * PATH_MAX + 2];
    ssize_t n = readlinkat(fd, "", to, sizeof to - 1);

    if (n < 0)
        return cannot(w, errno, err);
    if (!is_trusted(sb))
        return rset_fail(
            err, RSET_USAGE,
            "%s: a symbolic link on the way belongs to user %u; name the file itself, if "
            "it is the one that is meant",
            w->path, (unsigned)sb->st_uid);
    to[n] = '\0';
    snprintf(joined, sizeof joined, "%s/%s", to, w->rest);
    if (n == 0 || ++w->links > LINKS_MAX || strlen(joined) >= sizeof w->rest)
        return cannot(w, ELOOP, err);
    joined[strlen(joined) - (w->rest[0] == '\0')] =
        '\0'; /* a slash behind would mean a directory */
    strcpy(w->rest, joined);
    return to[0] == '/' ? go_to(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), err) : RSET_OK;
}

/* Links of procfs (/dev/stdout, /dev/fd/3) are made by the system, and lead where no path does. */
static bool
is_of_procfs(const struct stat *sb)
{
    struct stat proc;

    return stat("/proc/self", &proc) == 0 && sb->st_dev == proc.st_dev;
}

/* One name further. *fd_out: the file, as `flags` say, once there is no more; until then -1. */
static rset_status
step(way *w, int flags, int *fd_out, rset_err *err)
{
    char        name[PATH_MAX];
    struct stat sb;
    const bool  more = next_name(w, name);
    const int   there = openat(w->dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    rset_status st = RSET_OK;

    if (there < 0 && (more || errno != ENOENT || (flags & O_CREAT) == 0))
        return cannot(w, errno, err);
    if (there >= 0 && fstat(there, &sb) != 0)
        st = cannot(w, errno, err);
    else if (there >= 0 && S_ISLNK(sb.st_mode) && (more || !is_of_procfs(&sb)))
        st = follow(w, there, &sb, err);
    else if (more)
        return go_to(w, there, err);
    else {
        *fd_out = openat(w->dir, name, flags | (there >= 0 && S_ISLNK(sb.st_mode) ? 0 : O_NOFOLLOW),
                         0666);
        st = *fd_out < 0 ? cannot(w, errno, err) : RSET_OK;
    }
    if (there >= 0)
        close(there);
    return st;
}

/* A file, and the directory that it is in; both are to be closed. */
static rset_status
open_given(const char *path, int flags, way *w, int *fd_out, rset_err *err)
{
    rset_status st = begin(w, path, err);

    *fd_out = -1;
    while (st == RSET_OK && *fd_out < 0)
        st = step(w, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, fd_out, err);
    return st;
}

static void
close_given(way *w, int fd)
{
    if (fd >= 0)
        close(fd);
    if (w->dir >= 0)
        close(w->dir);
}

/* ---- reading ---- */

/* May its content be believed? */
static rset_status
check_settings(const char *path, int fd, rset_err *err)
{
    struct stat sb;

    if (fstat(fd, &sb) != 0)
        return rset_fail_errno(err, RSET_USAGE, errno, "%s cannot be looked at", path);
    if (!S_ISREG(sb.st_mode))
        return rset_fail(err, RSET_USAGE, "%s is no regular file", path);
    if (!is_trusted(&sb))
        return rset_fail(err, RSET_USAGE,
                         "%s belongs to user %u, who could change your settings; copy it, or have "
                         "it given to root",
                         path, (unsigned)sb.st_uid);
    if (sb.st_uid != 0 && (sb.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return rset_fail(err, RSET_USAGE,
                         "%s can be written by other users (mode %03o), who could change your "
                         "settings: chmod go-w",
                         path, (unsigned)(sb.st_mode & 0777));
    return RSET_OK;
}

/* At most max + 1 bytes. */
static rset_status
read_all(const char *path, int fd, char *buf, size_t max, size_t *n_out, rset_err *err)
{
    ssize_t got = -1;
    size_t  n = 0;

    while (n <= max && got != 0) {
        got = read(fd, buf + n, max + 1 - n);
        if (got > 0)
            n += (size_t)got;
        else if (got < 0 && errno != EINTR)
            return rset_fail_errno(err, RSET_USAGE, errno, "%s cannot be read", path);
    }
    *n_out = n;
    return RSET_OK;
}

rset_status
rset_given_read(const char *path, size_t max, char **text_out, rset_err *err)
{
    char       *buf = malloc(max + 1);
    size_t      n = 0;
    way         w;
    int         fd;
    rset_status st = open_given(path, O_RDONLY, &w, &fd, err);

    if (buf == NULL && st == RSET_OK)
        st = rset_fail_errno(err, RSET_NOMEM, ENOMEM, "%s", path);
    if (st == RSET_OK)
        st = check_settings(path, fd, err);
    if (st == RSET_OK)
        st = read_all(path, fd, buf, max, &n, err);
    close_given(&w, fd);
    if (st == RSET_OK && (n > max || memchr(buf, '\0', n) != NULL))
        st = rset_fail(err, RSET_USAGE, "%s is no text of at most %zu bytes", path, max);
    if (st != RSET_OK) {
        free(buf);
        return st;
    }
    buf[n] = '\0';
    *text_out = buf;
    return RSET_OK;
}

/* ---- appending ---- */

/* May it be written to? A link that another user has planted leads to a file of this one, a file to what he reads. */
static rset_status
check_target(const way *w, int fd, rset_err *err)
{
    struct stat sb, dir;
    bool        planted;

    if (fstat(fd, &sb) != 0 || fstat(w->dir, &dir) != 0)
        return rset_fail_errno(err, RSET_IO, errno, "%s cannot be looked at", w->path);
    planted = (dir.st_mode & S_IWOTH) != 0 || !S_ISREG(sb.st_mode);
    if (!is_trusted(&sb) && planted)
        return rset_fail(err, RSET_USAGE, "%s belongs to user %u; name a file of your own", w->path,
                         (unsigned)sb.st_uid);
    if (S_ISREG(sb.st_mode) && sb.st_nlink > 1 && (dir.st_mode & S_IWOTH) != 0)
        return rset_fail(err, RSET_USAGE,
                         "%s has %u names, and everybody may have made this one; name a file of "
                         "your own",
                         w->path, (unsigned)sb.st_nlink);
    return RSET_OK;
}

static rset_status
write_all(const char *path, int fd, const char *text, size_t len, rset_err *err)
{
    rset_signals before;
    ssize_t      put = 0;

    errno = 0;
    rset_signals_hold(&before);
    for (size_t at = 0; at < len && put >= 0; at += put > 0 ? (size_t)put : 0) {
        put = write(fd, text + at, len - at);
        if (put < 0 && errno == EINTR)
            put = 0;
    }
    rset_signals_release(&before, put < 0);
    return put >= 0 ? RSET_OK : rset_fail_errno(err, RSET_IO, errno, "%s cannot be written", path);
}

rset_status
rset_given_append(const char *path, const char *text, size_t len, rset_err *err)
{
    way         w;
    int         fd;
    rset_status st = open_given(path, O_WRONLY | O_CREAT | O_APPEND, &w, &fd, err);

    if (st == RSET_OK)
        st = check_target(&w, fd, err);
    if (st == RSET_OK)
        st = write_all(path, fd, text, len, err);
    if (st == RSET_OK && close(fd) != 0)
        st = rset_fail_errno(err, RSET_IO, errno, "%s cannot be written", path);
    else if (st == RSET_OK)
        fd = -1;
    close_given(&w, fd);
    return st;
}
