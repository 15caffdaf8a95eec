/* seconds.h: a clock that only goes on, for upper bounds. */
#ifndef SECONDS_H
#define SECONDS_H

#include <time.h>

static inline double
now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
