/* preload_clock.c: the wall clock stands still. HDF5 writes the time of day into files and error texts:
 * two runs of a program that are compared byte for byte must not depend on the second they are in. */
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { NOON = 1700000000 };

time_t
time(time_t *out)
{
    if (out != NULL)
        *out = NOON;
    return NOON;
}

int
gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    (void)zone;
    *now = (struct timeval){.tv_sec = NOON};
    return 0;
}

int
clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock != CLOCK_REALTIME)
        return (int)syscall(SYS_clock_gettime, clock, now);
    *now = (struct timespec){.tv_sec = NOON};
    return 0;
}

int
timespec_get(struct timespec *now, int base)
{
    *now = (struct timespec){.tv_sec = NOON};
    return base;
}
