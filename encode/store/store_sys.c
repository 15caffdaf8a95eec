/* store_sys.c: the table of file calls (store.h), and what decides about their errors. */
#include "store_sys.h"

#include "common/crc64.h"
#include "common/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#if __has_include(<linux/close_range.h>)
#include <linux/close_range.h>
#endif
#if defined(SYS_openat2) && __has_include(<linux/openat2.h>)
#include <linux/openat2.h>

/* A name in an open directory, and no way out of it: not by "..", not by an absolute path, not by a link
 * put in its place (P7). The kernel checks while it walks, so nothing can be swapped in between. */
static int
open_beneath(int dirfd, const char *name, int flags, mode_t mode)
{
    struct open_how how;

    memset(&how, 0, sizeof how); /* the kernel wants what it does not know to be zero */
    how.flags = (uint64_t)(unsigned)flags;
    how.mode = (flags & O_CREAT) != 0 ? mode : 0;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    return (int)syscall(SYS_openat2, dirfd, name, &how, sizeof how);
}
#else
static int
open_beneath(int dirfd, const char *name, int flags, mode_t mode)
{
    (void)dirfd, (void)name, (void)flags, (void)mode;
    errno = ENOSYS;
    return -1;
}
#endif

/* Confined where the kernel can, for names in an open directory. The directory itself is opened by the
 * caller's path, along whatever links the caller has there. Kernels before 5.6 say ENOSYS; sandboxes
 * say EPERM to calls they do not know, and so do files for reasons of their own: that is told apart by
 * asking once more without. Names are plain then too, and O_NOFOLLOW holds (rset_dir_check_name). */
static int
posix_openat(int dirfd, const char *name, int flags, mode_t mode)
{
    static atomic_bool unknown;
    int                fd, why;

    if (dirfd == AT_FDCWD || atomic_load(&unknown))
        return openat(dirfd, name, flags, mode);
    fd = open_beneath(dirfd, name, flags, mode);
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
        return fd;
    why = errno;
    fd = openat(dirfd, name, flags, mode);
    if (why == ENOSYS || fd >= 0 || errno != EPERM)
        atomic_store(&unknown, true);
    return fd;
}

static ssize_t
posix_pwrite(int fd, const void *buf, size_t len, off_t off)
{
    rset_signals before;
    ssize_t      put;

    rset_signals_hold(&before);
    put = pwrite(fd, buf, len, off);
    rset_signals_release(&before, put < 0);
    return put;
}

static int
posix_ftruncate(int fd, off_t len)
{
    rset_signals before;
    int          rc;

    rset_signals_hold(&before);
    rc = ftruncate(fd, len);
    rset_signals_release(&before, rc != 0);
    return rc;
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

/* Bytes that no file has, so that they are nobody else's. */
static struct flock
lock_of(rset_guard which, short type)
{
    return (struct flock){.l_type = type,
                          .l_whence = SEEK_SET,
                          .l_start = ((off_t)1 << 62) + (off_t)which,
                          .l_len = 1};
}

static int
posix_guard(int fd, rset_guard which, short type)
{
    struct flock lock = lock_of(which, type);

    return fcntl(fd, F_OFD_SETLK, &lock);
}

static int
posix_guarded(int fd, rset_guard which)
{
    struct flock lock = lock_of(which, F_RDLCK);

    return fcntl(fd, F_OFD_GETLK, &lock) == 0 ? lock.l_type != F_UNLCK : -1;
}

/* Two boots have the same number by chance only. */
static uint64_t
posix_boot(void)
{
    static _Atomic uint64_t boot;
    char                    text[64];
    uint64_t                is = boot;
    ssize_t                 n = -1;
    int fd = is == 0 ? open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        n = read(fd, text, sizeof text);
        close(fd);
    }
    if (n > 0)
        boot = is = rset_crc64(0, text, (size_t)n);
    return is;
}

/* Looks first on a file system that cannot do both in one call. */
static int
posix_rename_new(int from_dir, const char *from, int to_dir, const char *to)
{
    struct stat sb;
    int         rc = renameat2(from_dir, from, to_dir, to, RENAME_NOREPLACE);

    if (rc == 0 || (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP))
        return rc;
    if (fstatat(to_dir, to, &sb, AT_SYMLINK_NOFOLLOW) == 0)
        errno = EEXIST;
    else if (errno == ENOENT)
        return renameat(from_dir, from, to_dir, to);
    return -1;
}

static int
posix_clone(int to, int from)
{
    return ioctl(to, FICLONE, from);
}

const rset_sys rset_sys_posix = {
    .openat = posix_openat,
    .close = close,
    .pread = pread,
    .pwrite = posix_pwrite,
    .lseek = lseek,
    .ftruncate = posix_ftruncate,
    .clone = posix_clone,
    .fsync = fsync,
    .sync_file_range = sync_file_range,
    .fstat = posix_fstat,
    .fstatat = posix_fstatat,
    .renameat = renameat,
    .rename_new = posix_rename_new,
    .linkat = linkat,
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
    .guard = posix_guard,
    .guarded = posix_guarded,
    .boot = posix_boot,
};

const rset_sys *rset_sys_now = &rset_sys_posix;
unsigned        rset_sys_tables;

void
rset_sys_use(const rset_sys *sys)
{
    rset_sys_now = sys != NULL ? sys : &rset_sys_posix;
    rset_sys_tables++;
}

bool
rset_sys_unshare_files(void)
{
#if defined(SYS_close_range) && defined(CLOSE_RANGE_UNSHARE)
    return syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, CLOSE_RANGE_UNSHARE) == 0;
#else
    return false;
#endif
}

void
rset_low_take(rset_low *low)
{
    *low = (rset_low){0};
    for (int fd = 0; fd < RSET_PRINTED; fd++) {
        const int got = fcntl(fd, F_GETFD) < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;

        low->taken[fd] = got == fd;
        if (got >= 0 && got != fd) /* another thread has taken it meanwhile */
            (void)close(got);
    }
}

void
rset_low_leave(const rset_low *low)
{
    for (int fd = 0; fd < RSET_PRINTED; fd++)
        if (low->taken[fd])
            (void)close(fd);
}

/* The file that was opened, with another descriptor where it has one that a program prints to (S4). */
static int
raised(int fd)
{
    int high, why;

    if (fd < 0 || fd >= RSET_PRINTED)
        return fd;
    high = fcntl(fd, F_DUPFD_CLOEXEC, RSET_PRINTED);
    why = errno;
    (void)rset_sys_now->close(fd);
    errno = why;
    return high;
}

uid_t
rset_user(void)
{
    return (uid_t)setfsuid((uid_t)-1); /* no user has that number: nothing changes */
}

uint64_t
rset_sys_boot(void)
{
    return rset_sys_now->boot();
}

int
rset_sys_open(int dirfd, const char *name, int flags, mode_t mode)
{
    int fd;

    do
        fd = rset_sys_now->openat(dirfd, name, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return raised(fd);
}

rset_status
rset_sys_status(int sys_errno)
{
    return sys_errno == ENOENT || sys_errno == ENOTDIR ? RSET_ABSENT : RSET_IO;
}
