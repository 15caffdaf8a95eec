/* preload_clock.c: the wall clock shows one second over and over again. HDF5 writes the time of day into files and error texts:
 * two runs of a program that are compared byte for byte must not depend on the second they are in. Within that second it goes on, since
 * a library of MPI's (libpsm2) waits for that before main() begins. */
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { NOON = 1700000000 };

static struct timespec
shown(void)
{
    struct timespec now = {0};

    (void)syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    now.tv_sec = NOON;
    return now;
}

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
    const struct timespec it = shown();

    (void)zone;
    *now = (struct timeval){.tv_sec = it.tv_sec, .tv_usec = it.tv_nsec / 1000};
    return 0;
}

int
clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock != CLOCK_REALTIME)
        return (int)syscall(SYS_clock_gettime, clock, now);
    *now = shown();
    return 0;
}

int
timespec_get(struct timespec *now, int base)
{
    *now = shown();
    return base;
}
