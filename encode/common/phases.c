/* phases.c: see phases.h. */
#include "phases.h"

#include <assert.h>
#include <stddef.h>
#include <time.h>

static _Thread_local rset_phase_scope *current;

/* Whole nanoseconds: sums of many short times stay exact. */
static uint64_t
clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The time up to now goes to the phase that it was of. */
static void
settle(rset_phase_scope *scope)
{
    const uint64_t now = clock_ns();

    scope->spent.ns[scope->now] += now - scope->since;
    scope->since = now;
}

uint64_t
rset_phases_total(const rset_phases *phases)
{
    uint64_t ns = 0;

    for (int p = 0; p < RSET_PHASES; p++)
        ns += phases->ns[p];
    return ns;
}

void
rset_phases_add(rset_phases *to, const rset_phases *more)
{
    for (int p = 0; p < RSET_PHASES; p++)
        to->ns[p] += more->ns[p];
}

void
rset_phases_begin(rset_phase_scope *scope)
{
    *scope = (rset_phase_scope){.outer = current};
    if (current != NULL)
        settle(current);
    scope->since = current != NULL ? current->since : clock_ns();
    current = scope;
}

void
rset_phases_end(rset_phase_scope *scope)
{
    assert(current == scope); /* A6 */
    settle(scope);
    current = scope->outer;
    if (current != NULL)
        current->since = scope->since;
}

static void
change(rset_phase phase)
{
    if (phase == current->now)
        return;
    settle(current);
    current->now = phase;
}

rset_phase
rset_phase_enter(rset_phase phase)
{
    rset_phase before;

    if (current == NULL)
        return RSET_PHASE_OTHER;
    before = current->now;
    if (before != RSET_PHASE_MEET || (phase != RSET_PHASE_WAIT && phase != RSET_PHASE_SEND))
        change(phase);
    return before;
}

void
rset_phase_leave(rset_phase before)
{
    if (current != NULL)
        change(before);
}

void
rset_phases_spread(const rset_phases *together, uint64_t ns)
{
    const double all = (double)rset_phases_total(together);

    for (int p = 0; current != NULL && p < RSET_PHASES && all > 0; p++)
        current->spent.ns[p] += (uint64_t)((double)ns * ((double)together->ns[p] / all));
}
