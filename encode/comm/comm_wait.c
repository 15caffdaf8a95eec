/* comm_wait.c: see comm.h. Time, and which ranks a communicator has. Nothing is sent here. */
#include "comm_internal.h"

#include <assert.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- time ---- */

double
rset_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A sleep costs at least the kernel's timer slack (50 us), a yield on a core of one's own less than
 * one: yielding comes first. On a shared core it takes longer and keeps others from working (measured,
 * 8 ranks on 2 cores: an agreement takes twice as long with 100 yields as with 10), so it counts more. */
enum { YIELDS = 100, SHARED_YIELD = 10 };

/* Naps double each time they have added up to some ten times their length, later to a hundred times: so the last of them
 * adds a hundredth to a wait at most, and a rank that waits long asks MPI seldom. */
enum { SHORT_NAPS = 80, LONG_NAPS = 300, NAP_LONG = 200000 /* ns; 1.6 ms in the end */ };

static long
nap_length(unsigned naps)
{
    if (naps < SHORT_NAPS)
        return 1000L << naps / 10;
    return (long)NAP_LONG << (naps - SHORT_NAPS) / 100;
}

/* Seconds. */
#define WAIT_LEAST 0.001
#define WAIT_MOST  0.1

/* Where the rank of this thread waits, if its transport can block. */
static _Thread_local struct {
    void (*wait)(void *self, double seconds);
    void *self;
} place;

void
rset_pause_in(void (*wait)(void *self, double seconds), void *self)
{
    place.wait = wait;
    place.self = self;
}

/* How long a pause may last that ends when something happens: some loops look for more than messages, and then their own
 * deadline is not missed by much. */
static double
longest_wait(const rset_pause *pause)
{
    const double now = rset_clock(), share = (now - pause->since) / 8;

    if (pause->until > 0)
        return now < pause->until ? pause->until - now : 0;
    return share < WAIT_LEAST ? WAIT_LEAST : share > WAIT_MOST ? WAIT_MOST : share;
}

void
rset_pause_once(rset_pause *pause)
{
    struct timespec nap = {0};

    if (pause->spins < YIELDS) {
        const double start = rset_clock();

        if (pause->spins == 0)
            pause->since = start;
        sched_yield();
        pause->spins += rset_clock() - start > 1e-6 ? SHARED_YIELD : 1;
        return;
    }
    if (place.wait != NULL) {
        place.wait(place.self, longest_wait(pause));
        return;
    }
    nap.tv_nsec = nap_length(pause->spins - YIELDS);
    if (pause->spins < YIELDS + SHORT_NAPS + LONG_NAPS)
        pause->spins++;
    nanosleep(&nap, NULL);
}

/* ---- long waits ---- */

static void (*say_wait)(const char *text);
static atomic_bool said_wait;

void
rset_comm_on_long_wait(void (*say)(const char *text))
{
    say_wait = say;
}

bool
rset_comm_long_wait(double start, double after)
{
    return say_wait != NULL && !atomic_load(&said_wait) && rset_clock() >= start + after &&
           !atomic_exchange(&said_wait, true);
}

void
rset_comm_say_waiting(const char *fmt, ...)
{
    char    text[RSET_ERR_TEXT];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    say_wait(text);
}

/* ---- what a communicator has ---- */

void
rset_comm_init(rset_comm *comm, const rset_transport *transport, void *self, int rank, int size,
               double timeout)
{
    assert(size > 0 && rank >= 0 && rank < size && timeout > 0); /* C1 */
    *comm = (rset_comm){.transport = transport,
                        .self = self,
                        .rank = rank,
                        .size = size,
                        .timeout = timeout,
                        .most_tag = INT_MAX};
}

void
rset_comm_free(rset_comm *comm)
{
    if (comm == NULL)
        return;
    free(comm->coll);
    free(comm->world);
    *comm = (rset_comm){0};
}

/* All but whose subset it is. `ranks` becomes out->world, or is freed. */
static rset_status
choose(const rset_comm *parent, int *ranks, int n, rset_comm *out, rset_err *err)
{
    int mine = -1, times = 0;

    for (int i = 0; i < n; i++) {
        const int rank = ranks[i];

        if (rank < 0 || rank >= parent->size)
            times = 2;
        else
            ranks[i] = rset_comm_world(parent, rank);
        if (rank == parent->rank) {
            mine = i;
            times++;
        }
    }
    if (times != 1) {
        free(ranks);
        return rset_fail(err, RSET_BUG, "a set of %d ranks of %d does not make sense", n,
                         parent->size);
    }
    rset_comm_init(out, parent->transport, parent->self, mine, n, parent->timeout);
    out->world = ranks;
    return RSET_OK;
}

/* NULL: no memory. */
static int *
copy_of(const int *ranks, int n, rset_err *err)
{
    int *copy = malloc((n > 0 ? (size_t)n : 1) * sizeof *copy);

    if (copy == NULL)
        (void)rset_fail(err, RSET_NOMEM, "no memory for a set of %d ranks", n);
    else if (n > 0)
        memcpy(copy, ranks, (size_t)n * sizeof *copy);
    return copy;
}

rset_status
rset_comm_subset_of(rset_comm *parent, int *ranks, int n, rset_comm *out, rset_err *err)
{
    const rset_status st = choose(parent, ranks, n, out, err);

    if (st == RSET_OK)
        out->parent = parent;
    return st;
}

rset_status
rset_comm_subset(rset_comm *parent, const int *ranks, int n, rset_comm *out, rset_err *err)
{
    int *copy = copy_of(ranks, n, err);

    return copy != NULL ? rset_comm_subset_of(parent, copy, n, out, err) : RSET_NOMEM;
}

rset_status
rset_comm_divide(const rset_comm *whole, const int *ranks, int n, rset_comm *out, rset_err *err)
{
    int              *copy = copy_of(ranks, n, err);
    const rset_status st = copy != NULL ? choose(whole, copy, n, out, err) : RSET_NOMEM;

    if (st != RSET_OK)
        return st;
    out->most_tag = whole->most_tag;
    out->tags = whole->tags + RSET_TAGS; /* what is under way in `whole` is not for it */
    return RSET_OK;
}

int
rset_comm_tag(const rset_comm *comm, int tag)
{
    while (comm->parent != NULL)
        comm = comm->parent;
    return comm->tags + tag;
}

int
rset_comm_world(const rset_comm *comm, int rank)
{
    return comm->world != NULL ? comm->world[rank] : rank;
}

int
rset_comm_rank_of(const rset_comm *comm, int world)
{
    int r = 0;

    if (comm->world == NULL)
        return world;
    while (r < comm->size && comm->world[r] != world)
        r++;
    return r < comm->size ? r : -1;
}
