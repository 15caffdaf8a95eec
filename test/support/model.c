/* model.c: see model.h. What goes on in a job is in model_job.c, what follows in model_recovery.c. */
#include "model_steps.h"

#include <stdlib.h>
#include <string.h>

#define ALL                                                                                        \
    {                                                                                              \
        DO_CREATE, DO_CREATE, DO_CREATE                                                            \
    }
#define PLACE                                                                                      \
    {                                                                                              \
        DO_UPDATE, DO_UPDATE, DO_UPDATE                                                            \
    }

const model_scenario model_scenarios[] = {
    {"created anew", true, -1, ALL},
    {"changed in place", true, -1, PLACE},
    {"written for the first time", false, -1, ALL},
    {"created anew, a node lost before", true, 2, ALL},
    {"changed by one rank", true, -1, {DO_UPDATE, DO_NOTHING, DO_NOTHING}},
    {"created by some, changed by others", true, -1, {DO_CREATE, DO_UPDATE, DO_NOTHING}},
};
const size_t model_nscenarios = sizeof model_scenarios / sizeof *model_scenarios;

/* Version 1, protected. */
static model_disk
first_disk(const model_explorer *e, int r)
{
    return (model_disk){.data = model_version(e, r, 1), .red = 1};
}

/* Another program changes the file of rank r, which a job has left as it was protected. What a job died over has no
 * recorded time that would tell who wrote last. */
static void
change(model_explorer *e, const model_world *w, int r)
{
    model_world       next = *w;
    const model_disk *d = &w->d[r];

    if (w->changes >= e->limits.changes || d->red == 0 || d->journal != J_NONE || d->next != 0 ||
        d->shadow != C_NONE || !model_is_version(d->data, d->red))
        return;
    next.changes++;
    next.user++;
    next.d[r].data = C_USER;
    model_reach(e, &next);
}

static void
between_jobs(model_explorer *e, const model_world *w)
{
    model_begin_recovery(e, w);
    for (int r = 0; r < MODEL_RANKS; r++) {
        model_world next = *w;

        if (w->serial < 2) {
            model_serial_open(e, w, r, false);
            model_serial_open(e, w, r, true);
        }
        change(e, w, r);
        if (w->losses >= e->limits.losses)
            continue;
        next.losses++;
        next.user -= model_users(&next.d[r]);
        next.d[r] = (model_disk){0};
        model_reach(e, &next);
        if (!e->s->protected_)
            continue;
        next.d[r] = first_disk(e, r); /* it comes back with what it had before */
        model_reach(e, &next);
    }
}

/* The job ends, killed or not. */
static void
end_job(model_explorer *e, const model_world *w, bool killed)
{
    model_world next = *w;

    if (killed && w->crashes == e->limits.crashes)
        return;
    next.crashes += killed;
    next.phase = PHASE_BETWEEN;
    next.gave_up = next.failed = next.voted = next.target = next.serial = 0;
    memset(next.pc, 0, sizeof next.pc);
    memset(next.action, 0, sizeof next.action);
    model_reach(e, &next);
}

static void
expand(model_explorer *e, const model_world *w)
{
    model_world next = *w;
    int         done = 0, ended = 0;

    if (w->phase == PHASE_BETWEEN) {
        between_jobs(e, w);
        return;
    }
    end_job(e, w, true);
    if (w->phase == PHASE_RECOVER) {
        model_recovery_steps(e, w);
        return;
    }
    for (int r = 0; r < MODEL_RANKS; r++) {
        done += w->pc[r] == W_DONE;
        ended += w->pc[r] == W_DONE || w->pc[r] == W_ENDED;
    }
    if (done == MODEL_RANKS && w->told != 2) {
        next.told = 2;
        model_reach(e, &next);
        return;
    }
    if (ended == MODEL_RANKS) {
        end_job(e, w, false);
        return;
    }
    for (int r = 0; r < MODEL_RANKS; r++)
        model_job_steps(e, w, r);
}

void
model_explore(const model_scenario *s, model_limits limits, model_result *out)
{
    model_explorer e = {.s = s, .out = out, .limits = limits};
    model_world    w = {0};

    *out = (model_result){0};
    for (int r = 0; s->protected_ && r < MODEL_RANKS; r++)
        w.d[r] = first_disk(&e, r);
    w.told = s->protected_;
    if (s->lost >= 0) {
        w.d[s->lost] = (model_disk){0};
        w.losses = 1;
    }
    model_reach(&e, &w);
    while (e.ntodo > 0) {
        const model_world at = e.todo[--e.ntodo];

        expand(&e, &at);
    }
    out->states = e.nseen;
    free(e.todo);
    free(e.seen);
}
