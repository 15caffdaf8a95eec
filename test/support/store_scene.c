/* store_scene.c: see store_scene.h. */
#include "store_scene.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

char      top[64];
rset_dir *dir;

int
set_up(void **state)
{
    rset_err err = RSET_ERR_NONE;

    (void)state;
    snprintf(top, sizeof top, "/tmp/test_store.XXXXXX");
    if (mkdtemp(top) == NULL)
        return -1;
    return rset_dir_open(top, false, &dir, &err) == RSET_OK ? 0 : -1;
}

int
tear_down(void **state)
{
    char command[128];

    (void)state;
    rset_sys_use(NULL);
    rset_dir_close(dir);
    dir = NULL;
    snprintf(command, sizeof command, "rm -rf '%s'", top);
    return system(command);
}

const char *
in_top(const char *name)
{
    static char path[2][256];
    static int  turn;

    turn = 1 - turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", top, name);
    return path[turn];
}

void
put(const char *name, const char *text)
{
    FILE *f = fopen(in_top(name), "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

void
assert_content(const char *name, const char *text)
{
    char   buf[256] = "";
    FILE  *f = fopen(in_top(name), "r");
    size_t n;

    assert_non_null(f);
    n = fread(buf, 1, sizeof buf - 1, f);
    buf[n] = '\0';
    fclose(f);
    assert_string_equal(buf, text);
}

int
open_descriptors(void)
{
    int n = 0;

    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* ---- faults: the table with one call that misbehaves ---- */

struct fault fault;

static bool
hit(call which)
{
    if (fault.which != which)
        return false;
    if (fault.seen++ < fault.at || (fault.times >= 0 && fault.hits >= fault.times))
        return false;
    fault.hits++;
    errno = fault.sys_errno;
    return true;
}

static int
bad_openat(int dirfd, const char *name, int flags, mode_t mode)
{
    return hit(OPENAT) ? -1 : rset_sys_posix.openat(dirfd, name, flags, mode);
}

static int
bad_close(int fd)
{
    int rc = rset_sys_posix.close(fd); /* as Linux: closed in any case */

    return hit(CLOSE) ? -1 : rc;
}

static ssize_t
bad_pread(int fd, void *buf, size_t len, off_t off)
{
    if (!hit(PREAD))
        return rset_sys_posix.pread(fd, buf, len, off);
    return fault.sys_errno != 0 ? -1 : rset_sys_posix.pread(fd, buf, len > 3 ? 3 : len, off);
}

static ssize_t
bad_pwrite(int fd, const void *buf, size_t len, off_t off)
{
    if (!hit(PWRITE))
        return rset_sys_posix.pwrite(fd, buf, len, off);
    if (fault.sys_errno == ERANGE) /* stands for: nothing written, no reason */
        return 0;
    return fault.sys_errno != 0 ? -1 : rset_sys_posix.pwrite(fd, buf, len > 3 ? 3 : len, off);
}

static int
bad_ftruncate(int fd, off_t len)
{
    return hit(FTRUNCATE) ? -1 : rset_sys_posix.ftruncate(fd, len);
}

static int
bad_fsync(int fd)
{
    return hit(FSYNC) ? -1 : rset_sys_posix.fsync(fd);
}

static int
bad_fstat(int fd, struct stat *sb)
{
    return hit(FSTAT) ? -1 : rset_sys_posix.fstat(fd, sb);
}

static int
bad_fstatat(int dirfd, const char *name, struct stat *sb, int flags)
{
    return hit(FSTATAT) ? -1 : rset_sys_posix.fstatat(dirfd, name, sb, flags);
}

static int
bad_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    return hit(RENAMEAT) ? -1 : rset_sys_posix.renameat(from_dir, from, to_dir, to);
}

static int
bad_rename_new(int from_dir, const char *from, int to_dir, const char *to)
{
    return hit(RENAMEAT) ? -1 : rset_sys_posix.rename_new(from_dir, from, to_dir, to);
}

static int
bad_unlinkat(int dirfd, const char *name, int flags)
{
    return hit(UNLINKAT) ? -1 : rset_sys_posix.unlinkat(dirfd, name, flags);
}

static int
bad_mkdir(const char *path, mode_t mode)
{
    return hit(MKDIR) ? -1 : rset_sys_posix.mkdir(path, mode);
}

static DIR *
bad_fdopendir(int fd)
{
    return hit(FDOPENDIR) ? NULL : rset_sys_posix.fdopendir(fd);
}

static struct dirent *
bad_readdir(DIR *stream)
{
    return hit(READDIR) ? NULL : rset_sys_posix.readdir(stream);
}

static int
bad_fchmod(int fd, mode_t mode)
{
    return hit(FCHMOD) ? -1 : rset_sys_posix.fchmod(fd, mode);
}

static int
bad_fchown(int fd, uid_t uid, gid_t gid)
{
    return hit(FCHOWN) ? -1 : rset_sys_posix.fchown(fd, uid, gid);
}

static int
bad_futimens(int fd, const struct timespec times[2])
{
    return hit(FUTIMENS) ? -1 : rset_sys_posix.futimens(fd, times);
}

static int
bad_fsetxattr(int fd, const char *name, const void *value, size_t size, int flags)
{
    return hit(FSETXATTR) ? -1 : rset_sys_posix.fsetxattr(fd, name, value, size, flags);
}

void
break_call(call which, int at, int times, int sys_errno)
{
    static rset_sys bad;

    bad = rset_sys_posix;
    bad.openat = bad_openat;
    bad.close = bad_close;
    bad.pread = bad_pread;
    bad.pwrite = bad_pwrite;
    bad.ftruncate = bad_ftruncate;
    bad.fsync = bad_fsync;
    bad.fstat = bad_fstat;
    bad.fstatat = bad_fstatat;
    bad.renameat = bad_renameat;
    bad.rename_new = bad_rename_new;
    bad.unlinkat = bad_unlinkat;
    bad.mkdir = bad_mkdir;
    bad.fdopendir = bad_fdopendir;
    bad.readdir = bad_readdir;
    bad.fchmod = bad_fchmod;
    bad.fchown = bad_fchown;
    bad.futimens = bad_futimens;
    bad.fsetxattr = bad_fsetxattr;
    memset(&fault, 0, sizeof fault);
    fault.which = which;
    fault.at = at;
    fault.times = times;
    fault.sys_errno = sys_errno;
    rset_sys_use(&bad);
}
