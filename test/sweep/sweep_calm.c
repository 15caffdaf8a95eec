/* sweep_calm.c: no false alarms. Files are created, updated, replaced, protected and opened again, and
 * nothing ever goes wrong: no open is refused, nothing is rebuilt, nothing is said, and no file is touched by
 * opening, not even its times. And when a node is lost after all, what comes back are the same bytes.
 *
 *   REDSET_SOAK_SEED, REDSET_SOAK_LIFE, REDSET_SOAK_CYCLES as in sweep_soak.c */
#include "soak_plan.h"
#include "soak_random.h"
#include "soak_world.h"
#include "sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHANGE_CYCLES = 300, ALL_CYCLES = 10000, LIFE = 25 };

typedef struct calm {
    soak_world w;
    char       what[256];
} calm;

/* ---- nothing goes wrong ---- */

static void
operate(calm *c, soak_operation op)
{
    for (int r = 0; r < c->w.job.n; r++) {
        soak_bytes now = {0};

        soak_look(&c->w, r, &now);
        if (op == SOAK_RENEW && soak_chance(75))
            soak_plan_update(&c->w.part[r], &now, true);
        else if (op == SOAK_REPLACE)
            soak_plan_new(&c->w.part[r]);
        else
            soak_plan_nothing(&c->w.part[r], &now, true);
        c->w.part[r].keep = true;
        free(now.at);
    }
    sweep_tally(soak_operation_names[op]);
    if (soak_run(&c->w, op, NULL) != SOAK_DONE)
        sweep_violation("%s: it ends badly", c->what);
    for (int r = 0; r < c->w.job.n; r++)
        if (!soak_said[r].done || soak_said[r].st != RSET_OK)
            sweep_violation("%s: rank %d fails: %s", c->what, r, soak_said[r].text);
}

/* What the application wrote is what is there. */
static void
expect_targets(const calm *c)
{
    for (int r = 0; r < c->w.job.n; r++) {
        soak_bytes now = {0};

        soak_look(&c->w, r, &now);
        if (!soak_bytes_equal(&now, &c->w.part[r].target))
            sweep_violation("%s: the file of rank %d is not what was written", c->what, r);
        free(now.at);
    }
}

static void
expect_quiet(const calm *c, const char *when)
{
    for (int r = 0; r < c->w.job.n; r++) {
        const soak_outcome *said = &soak_said[r];

        if (!said->done || said->st != RSET_OK)
            sweep_violation("%s, %s: refused: %s", c->what, when, said->text);
        else if (!said->out.protected_ || said->out.reprotect || said->out.replaced)
            sweep_violation("%s, %s: rank %d finds something to repair", c->what, when, r);
        else if (said->out.note[0] != '\0')
            sweep_violation("%s, %s: rank %d says %s", c->what, when, r, said->out.note);
    }
}

/* Opened by all, with or without looking at all content, by the run that protected or by another. */
static void
open_untouched(calm *c, const image *before, const char *when)
{
    char why[1024];

    c->w.job.content = (rset_content)soak_random(RSET_CONTENT_ALL + 1);
    c->w.job.own_run = soak_chance(50);
    if (soak_run(&c->w, SOAK_RECOVER, NULL) != SOAK_DONE)
        sweep_violation("%s, %s: it ends badly", c->what, when);
    expect_quiet(c, when);
    if (!image_same(before, c->w.base, NULL, IMAGE_UNTOUCHED, why))
        sweep_violation("%s, %s: %s", c->what, when, why);
    c->w.job.content = RSET_CONTENT_ALL;
    c->w.job.own_run = false;
}

static void
open_serial(calm *c, const image *before)
{
    const int r = (int)soak_random((uint64_t)c->w.job.n);
    char      why[1024];

    if (job_recover_serial(&c->w.job, r) != RSET_OK)
        sweep_violation("%s: rank %d alone is refused: %s", c->what, r, c->w.job.ranks[r].err.text);
    else if (c->w.job.ranks[r].out.replaced || c->w.job.ranks[r].out.note[0] != '\0')
        sweep_violation("%s: rank %d alone: %s", c->what, r, c->w.job.ranks[r].out.note);
    if (!image_same(before, c->w.base, NULL, IMAGE_UNTOUCHED, why))
        sweep_violation("%s: rank %d alone: %s", c->what, r, why);
}

/* ---- and what comes back is the same ---- */

static bool
same_times(const image *before, const image *now, char *why)
{
    for (size_t i = 0; i < before->n; i++) {
        const struct stat *a = &before->at[i].st, *b = &now->at[i].st;

        snprintf(why, 1024, "%s has another mode or time of change", before->at[i].path);
        if (strstr(before->at[i].path, ".redset") == NULL &&
            (a->st_mode != b->st_mode || a->st_mtim.tv_sec != b->st_mtim.tv_sec ||
             a->st_mtim.tv_nsec != b->st_mtim.tv_nsec))
            return false;
    }
    return true;
}

static void
lose_and_bring_back(calm *c, const image *before)
{
    bool  lost[JOB_RANKS] = {false};
    char  why[1024];
    image now;

    for (int tries = (int)soak_random(4); tries >= 0; tries--) {
        const int r = (int)soak_random((uint64_t)c->w.job.n);

        lost[r] = true;
        if (!job_survives(&c->w.job, lost))
            lost[r] = false;
    }
    for (int r = 0; r < c->w.job.n; r++)
        if (lost[r]) {
            sweep_tally("nodes lost and rebuilt");
            soak_lose(&c->w, r);
        }
    if (soak_run(&c->w, SOAK_RECOVER, NULL) != SOAK_DONE || soak_said[0].st != RSET_OK ||
        !soak_said[0].out.protected_)
        sweep_violation("%s: a lost node is not rebuilt: %s", c->what, soak_said[0].text);
    now = image_take(c->w.base);
    if (!image_same(before, c->w.base, NULL, IMAGE_CONTENT, why) || !same_times(before, &now, why))
        sweep_violation("%s: a lost node is rebuilt, but %s", c->what, why);
    open_untouched(c, &now, "after that");
    image_free(&now);
}

/* ---- cycles ---- */

static void
cycle(calm *c, soak_operation op)
{
    image before;

    operate(c, op);
    expect_targets(c);
    before = image_take(c->w.base);
    if (before.n != 4 * (size_t)c->w.job.n) /* data, descriptor, redundancy and names file */
        sweep_violation("%s: there are %zu files", c->what, before.n);
    open_untouched(c, &before, "opened");
    open_untouched(c, &before, "opened again");
    if (soak_chance(30))
        open_serial(c, &before);
    if (soak_chance(30))
        lose_and_bring_back(c, &before);
    image_free(&before);
}

static int
live(uint64_t seed, uint64_t number, int most)
{
    static const soak_operation some[] = {SOAK_RENEW, SOAK_REPLACE, SOAK_PROTECT, SOAK_NOTHING};
    static const int            weights[] = {40, 30, 15, 15};
    calm                        c;
    int                         at;

    soak_random_begin(seed, number);
    soak_plan_world(&c.w);
    c.w.job.keep = 0; /* what lies beside is counted */
    for (at = 0; at < most && at < LIFE; at++) {
        soak_operation   op = at == 0 ? SOAK_PROTECT : some[soak_pick(weights, 4)];
        const rset_desc *d = &c.w.job.ranks[0].desc;

        snprintf(c.what, sizeof c.what, "trial %llu, cycle %d, %s %d of %d ranks: %s",
                 (unsigned long long)number, at, d->scheme->name, d->parity, c.w.job.n,
                 soak_operation_names[op]);
        sweep_point();
        cycle(&c, op);
    }
    soak_world_close(&c.w);
    return at;
}

int
main(int argc, char **argv)
{
    const uint64_t seed = soak_setting("REDSET_SOAK_SEED", 1);
    const uint64_t only = soak_setting("REDSET_SOAK_LIFE", UINT64_MAX);
    uint64_t       cycles, trial = only != UINT64_MAX ? only : 0;

    sweep_begin("calm", argc, argv);
    cycles = soak_setting("REDSET_SOAK_CYCLES", sweep_all() ? ALL_CYCLES : CHANGE_CYCLES);
    printf("REDSET_SOAK_SEED=%llu\n", (unsigned long long)seed);
    for (uint64_t done = 0; done < cycles; trial++) {
        done += (uint64_t)live(seed, trial, (int)(cycles - done));
        if (trial % 100 == 99)
            sweep_progress("trials go on");
        if (only != UINT64_MAX)
            break;
    }
    return sweep_end();
}
