/* moment.c: see moment.h. */
#include "moment.h"

#include "protect/protect.h"

#include <stdatomic.h>
#include <time.h>

static const time_t   begin = 1577836800; /* 2020-01-01 */
static const uint64_t end =
    UINT64_C(1) << 41; /* 2089: later ones are a mistake, and would leave no room for others */
static _Atomic uint64_t latest;

void
rset_moment_heard(uint64_t moment)
{
    uint64_t known = latest;

    while (moment > known && moment < end &&
           !atomic_compare_exchange_weak(&latest, &known, moment)) {
    }
}

void
rset_moment_heard_generation(uint64_t generation)
{
    rset_moment_heard(rset_generation_moment(generation));
}

uint64_t
rset_moment_now(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (now.tv_sec > begin)
        rset_moment_heard((uint64_t)(now.tv_sec - begin) * 1000 + (uint64_t)now.tv_nsec / 1000000);
    return latest;
}
