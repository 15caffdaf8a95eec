/* preload_yield.c - for LD_PRELOAD: a process that gives its core away sleeps for a moment.
 *
 * A rank of MPI that waits asks again and again, with a sched_yield in between. Where tests run more ranks than there are cores,
 * more of the processors' time went into that than into what is tested (docs/testing.md). */
#include <time.h>

enum { MOMENT = 50000 }; /* ns: what the kernel adds to any sleep */

int sched_yield(void);

int
sched_yield(void)
{
    const struct timespec moment = {.tv_nsec = MOMENT};

    (void)nanosleep(&moment, NULL);
    return 0;
}
