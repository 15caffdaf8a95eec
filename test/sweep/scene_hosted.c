/* scene_hosted.c: see scene_hosted.h. */
#include "scene_hosted.h"

#include "tap.h"

#include <stdatomic.h>

/* Three ranks host the four that wrote the files: faults are those of the four. */
static void
begin_host(int rank, void *arg)
{
    (void)arg;
    tap_enter(TAP_HOSTS + rank);
    tap_see_threads(TAP_HOSTED);
}

/* The first that comes to an end speaks for the rank that has not come. */
static job        *hosts;
static atomic_bool left_has_spoken;
static void (*end_of_rank)(int rank, void *arg);

static void
end_for_two(int rank, void *arg)
{
    const job_rank *k = &hosts->ranks[rank];
    job_rank       *left = &hosts->ranks[SCENE_RANKS - 1];

    if (!atomic_exchange(&left_has_spoken, true)) {
        left->st = k->st;
        left->err = k->err;
        left->out = k->out;
        end_of_rank(SCENE_RANKS - 1, arg);
    }
    end_of_rank(rank, arg);
}

void
scene_recover_by_three(job *j)
{
    void (*const begin_of_rank)(int rank, void *arg) = j->before;

    end_of_rank = j->after;
    j->before = begin_host;
    atomic_store(&left_has_spoken, false);
    hosts = j;
    j->after = end_for_two;
    j->n = SCENE_RANKS - 1;
    job_run(j, job_body_recover);
    j->n = SCENE_RANKS;
    j->before = begin_of_rank;
    j->after = end_of_rank;
}
