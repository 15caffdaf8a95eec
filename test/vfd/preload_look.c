/* preload_look.c - for LD_PRELOAD: one look of the driver's at a file, a directory or a name fails on one rank: stat and its kin, a
 * resolved path, an attribute, an open of what is there, a listing.
 *
 *   LOOK_RANK=N LOOK_AT=M   on rank N number M, from 1 on, with EIO; LOOK_SAID=FILE: is made when it happens
 *
 * The driver's: by the address that it is asked from. */
#include "launch.h"
#include "preload.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static bool
is_of_driver(const void *caller)
{
    Dl_info of;

    return dladdr(caller, &of) != 0 && of.dli_fname != NULL &&
           strstr(of.dli_fname, "hdf5_vfd_redset") != NULL;
}

/* Looks until the one that fails; 0: it has, or never shall. */
static int
left(void)
{
    const char *rank = getenv("LOOK_RANK"), *at = getenv("LOOK_AT");

    return rank != NULL && at != NULL && atoi(rank) == launch_rank() ? atoi(at) : 0;
}

static bool
fails(const void *caller)
{
    static int  count = -1;
    const char *said = getenv("LOOK_SAID");

    if (count < 0)
        count = left();
    if (count == 0 || !is_of_driver(caller) || --count != 0)
        return false;
    if (said != NULL)
        close((int)syscall(SYS_openat, AT_FDCWD, said, O_CREAT | O_WRONLY, 0666));
    errno = EIO;
    return true;
}

#define LOOK(type, name, bad, parameters, ...)                                                     \
    typedef type(*name##_type) parameters;                                                         \
    type name parameters;                                                                          \
    type name parameters                                                                           \
    {                                                                                              \
        if (fails(__builtin_return_address(0)))                                                    \
            return bad;                                                                            \
        CALL(name##_type, #name, __VA_ARGS__);                                                     \
    }
LOOK(int, stat, -1, (const char *name, struct stat *st), name, st)
LOOK(int, lstat, -1, (const char *name, struct stat *st), name, st)
LOOK(int, fstat, -1, (int fd, struct stat *st), fd, st)
LOOK(int, fstatat, -1, (int dir, const char *name, struct stat *st, int how), dir, name, st, how)
LOOK(int, stat64, -1, (const char *name, struct stat64 *st), name, st)
LOOK(int, lstat64, -1, (const char *name, struct stat64 *st), name, st)
LOOK(int, fstat64, -1, (int fd, struct stat64 *st), fd, st)
LOOK(int, fstatat64, -1, (int dir, const char *name, struct stat64 *st, int how), dir, name, st,
     how)
LOOK(char *, realpath, NULL, (const char *name, char *to), name, to)
LOOK(ssize_t, readlink, -1, (const char *name, char *to, size_t n), name, to, n)
LOOK(ssize_t, fgetxattr, -1, (int fd, const char *name, void *to, size_t n), fd, name, to, n)
LOOK(DIR *, fdopendir, NULL, (int fd), fd)

/* ---- an open of what is there ---- */

int
openat(int dir, const char *name, int flags, ...)
{
    va_list args;
    mode_t  mode;

    va_start(args, flags);
    mode = (flags & O_CREAT) != 0 ? va_arg(args, mode_t) : 0;
    va_end(args);
    if ((flags & O_CREAT) == 0 && fails(__builtin_return_address(0)))
        return -1;
    CALL(openat_type, "openat", dir, name, flags, mode);
}

int openat64(int dir, const char *name, int flags, ...) __attribute__((alias("openat")));

/* openat2 has no function of its own. */
long
syscall(long number, ...)
{
    va_list args;
    long    a[6];

    va_start(args, number);
    take_arguments(args, a);
    va_end(args);
    if (number == SYS_openat2 && (*(const uint64_t *)a[2] & O_CREAT) == 0 &&
        fails(__builtin_return_address(0)))
        return -1;
    CALL(syscall_type, "syscall", number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
