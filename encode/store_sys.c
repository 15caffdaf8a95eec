/* store_sys.c: the table of file calls (store.h), and what decides about their errors. */
#include "store_sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/xattr.h>
#include <unistd.h>

static int
posix_openat(int dirfd, const char *name, int flags, mode_t mode)
{
    return openat(dirfd, name, flags, mode);
}

static int
posix_fstat(int fd, struct stat *st)
{
    return fstat(fd, st);
}

static int
posix_fstatat(int dirfd, const char *name, struct stat *st, int flags)
{
    return fstatat(dirfd, name, st, flags);
}

const rset_sys rset_sys_posix = {
    .openat = posix_openat,
    .close = close,
    .pread = pread,
    .pwrite = pwrite,
    .ftruncate = ftruncate,
    .fsync = fsync,
    .fstat = posix_fstat,
    .fstatat = posix_fstatat,
    .renameat = renameat,
    .unlinkat = unlinkat,
    .mkdir = mkdir,
    .fdopendir = fdopendir,
    .readdir = readdir,
    .closedir = closedir,
    .fchmod = fchmod,
    .fchown = fchown,
    .futimens = futimens,
    .fsetxattr = fsetxattr,
    .fgetxattr = fgetxattr,
    .fremovexattr = fremovexattr,
    .flock = flock,
};

const rset_sys *rset_sys_now = &rset_sys_posix;

void
rset_sys_use(const rset_sys *sys)
{
    rset_sys_now = sys != NULL ? sys : &rset_sys_posix;
}

int
rset_sys_open(int dirfd, const char *name, int flags, mode_t mode)
{
    int fd;

    do
        fd = rset_sys_now->openat(dirfd, name, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

rset_status
rset_sys_status(int sys_errno)
{
    return sys_errno == ENOENT || sys_errno == ENOTDIR ? RSET_ABSENT : RSET_IO;
}
