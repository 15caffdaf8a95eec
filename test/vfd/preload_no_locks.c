/* preload_no_locks.c - for LD_PRELOAD: a file system without locks, as some parallel ones are mounted: flock, and locks that belong to an
 * open file, say that there are none, on rank NO_LOCKS of the job.
 */
#include "launch.h"
#include "preload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/file.h>

static bool
is_meant(void)
{
    const char *rank = getenv("NO_LOCKS");

    return rank != NULL && atoi(rank) == launch_rank();
}

typedef int (*flock_type)(int, int);

int
flock(int fd, int how)
{
    if (is_meant()) {
        errno = ENOSYS;
        return -1;
    }
    CALL(flock_type, "flock", fd, how);
}

typedef int (*fcntl_type)(int, int, ...);

static int
no_lock(int fd, int what, void *arg)
{
    if (is_meant() && (what == F_OFD_SETLK || what == F_OFD_SETLKW || what == F_SETLK)) {
        errno = ENOLCK;
        return -1;
    }
    CALL(fcntl_type, "fcntl64", fd, what, arg);
}

int
fcntl(int fd, int what, ...)
{
    va_list args;
    void   *arg;

    va_start(args, what);
    arg = va_arg(args, void *);
    va_end(args);
    return no_lock(fd, what, arg);
}

int fcntl64(int fd, int what, ...) __attribute__((alias("fcntl")));
