/* sweep_oom.c: an allocation of one rank fails, once or from then on: all ranks come to an
 * error, and nobody waits for the one that has it (P5); nothing crashes, nothing leaks, and the files are what they
 * were or what they should be.
 *
 * What allocates is wrapped by the linker (alloc.h). */
#include "alloc.h"
#include "change.h"
#include "judge.h"
#include "scene.h"
#include "store/recall.h"
#include "sweep.h"
#include "tap.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sanitizers have it; elsewhere it is null. It takes a while: in a sample only at every LSAN-th point. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

typedef struct fault {
    int  rank, at;
    bool for_ever;
} fault;

enum { TIMEOUT = 60, LSAN = 4 };

static fault ordered = {.rank = -1};

typedef struct count { /* shared with children */
    int  calls[SCENE_RANKS];
    long left; /* allocations that were never freed */
    bool leaks;
} count;

static count *counted;

/* ---- allocating ---- */

static bool
fails(void)
{
    const int rank = tap_rank();
    int       nth;

    if (rank < 0 || counted == NULL)
        return false;
    nth = ++counted->calls[rank];
    return rank == ordered.rank && (nth == ordered.at || (nth > ordered.at && ordered.for_ever));
}

/* ---- one fault ---- */

/* What ranks know of their files. */
static void
forget_evidence(scene *s)
{
    for (int r = 0; r < SCENE_RANKS; r++) {
        rset_evidence_free(&s->job.ranks[r].evidence);
        rset_evidence_free(&s->with.ranks[r].evidence);
    }
}

static void
run_in_child(void *arg)
{
    static const tap_hooks none;
    scene                 *s = arg;
    long                   before;

    forget_evidence(s);
    rset_recall_forget();
    before = atomic_load(&alloc_live);
    tap_use(&none);
    s->job.timeout = TIMEOUT;
    scene_run(s, s->op->run, 1, NULL);
    forget_evidence(s);
    rset_recall_forget(); /* what is kept for the next time */
    counted->left = atomic_load(&alloc_live) - before;
    counted->leaks = (sweep_all() || ordered.at % LSAN == 0) &&
                     __lsan_do_recoverable_leak_check != NULL &&
                     __lsan_do_recoverable_leak_check() != 0;
}

/* How many ranks were told that all is well, and what kind of end it was. */
static const char *
kind_of_end(const scene *s, const fault *f, int *well_out)
{
    const scene_outcome *all = scene_said->rank;
    bool                 same = true;

    *well_out = 0;
    for (int r = 0; r < SCENE_RANKS; r++) {
        same = same && all[r].st == all[0].st;
        *well_out += all[r].st == RSET_OK;
    }
    if ((s->op->flags & SCENE_LOCAL) != 0)
        return "each for itself";
    if (!same)
        return "an error on all ranks, in different words";
    return all[f->rank].st == RSET_OK ? "without consequence" : "the same error on all ranks";
}

/* The transport between threads allocates for each message, MPI does not: when a rank cannot send or take
 * the very last one, the others have been told already. */
static void
check_told(const scene *s, const fault *f, const char *what)
{
    const scene_outcome *all = scene_said->rank, *mine = &all[f->rank];
    int                  well;
    const char          *end = kind_of_end(s, f, &well);

    for (int r = 0; r < SCENE_RANKS; r++) {
        if (!all[r].done)
            sweep_violation("%s: rank %d never came back", what, r);
        if (all[r].st != RSET_OK && all[r].text[0] == '\0')
            sweep_violation("%s: rank %d failed without a message (%s)", what, r,
                            rset_status_name(all[r].st));
    }
    if (scene_timed_out())
        sweep_violation("%s: others waited for it (%s)", what, mine->text);
    if ((s->op->flags & SCENE_LOCAL) != 0 || well == 0 || well == SCENE_RANKS)
        sweep_tally(end);
    else if (strstr(mine->text, "no memory for a message") != NULL)
        sweep_tally("no memory for the last message, when the others were told already");
    else
        sweep_violation("%s: %d ranks are told that all is well, rank %d %s (%s)", what, well,
                        f->rank, rset_status_name(mine->st), mine->text);
}

static void
one_point(scene *s, fault f)
{
    char      what[512];
    child_end end;

    scene_begin(s);
    snprintf(what, sizeof what, "%s, rank %d allocation %d fails %s", scene_name(s), f.rank, f.at,
             f.for_ever ? "and all that follow" : "once");
    sweep_point();
    ordered = f;
    memset(counted, 0, sizeof *counted);
    end = sweep_child(run_in_child, s);
    ordered = (fault){.rank = -1};
    if (end != CHILD_DONE)
        sweep_violation("%s: it %s", what, end == CHILD_HUNG ? "hangs" : "crashes");
    else if (counted->calls[f.rank] < f.at && (s->op->flags & SCENE_ROOT) != 0)
        sweep_tally("points given up: whom ranks ask goes by the numbers of their directories");
    else if (counted->calls[f.rank] < f.at)
        sweep_violation("%s: the fault did not happen", what);
    else
        check_told(s, &f, what);
    if (counted->left != 0 || counted->leaks)
        sweep_violation("%s: %ld allocations leak", what, counted->left);
    judge(&(judge_case){.scene = s,
                        .what = what,
                        .weak = s->job.change != NULL,
                        .unsynced = change_gave_up(),
                        .reported = scene_reported() ? SCENE_NEW : 0,
                        .losses = 0});
}

/* ---- all of a scene ---- */

enum { SAMPLE = 4 };

static void
try_scene(scene *s)
{
    count calls;

    memset(counted, 0, sizeof *counted);
    if (sweep_child(run_in_child, s) != CHILD_DONE || counted->left != 0 || counted->leaks)
        sweep_violation("%s: %ld allocations leak where nothing fails", scene_name(s),
                        counted->left);
    calls = *counted;
    for (int rank = 0; sweep_all() && rank < 2; rank++) /* 1: the one that is lost, if one is */
        for (int at = 1; at <= calls.calls[rank]; at++)
            for (int ever = 0; ever < 2; ever++)
                one_point(s, (fault){rank, at, ever != 0});
    for (int i = 0; !sweep_all() && i < sweep_sample(SAMPLE); i++) {
        fault f = {.rank = (int)sweep_random(SCENE_RANKS), .for_ever = sweep_random(2) != 0};

        f.at = 1 + (int)sweep_random((uint32_t)calls.calls[f.rank]);
        one_point(s, f);
    }
}

int
main(int argc, char **argv)
{
    sweep_begin("oom", argc, argv);
    counted = sweep_shared(sizeof *counted);
    alloc_fails = fails;
    scene_each(1, try_scene);
    return sweep_end();
}
