/* sweep_crash.c: the job, or one rank of it, dies at a file call of an operation: what
 * is opened afterwards is OLD or NEW on all ranks, or refused on all, and what was said about protection is
 * true; also when another node is lost. When recovery is interrupted as well: sweep_second.c. */
#include "death.h"
#include "judge.h"
#include "sweep.h"

#include <stdio.h>

/* ---- one fault ---- */

/* Which nodes to lose in addition. */
static unsigned
losses(void)
{
    return sweep_all() ? (1U << SCENE_RANKS) - 1 : 1U << sweep_random(SCENE_RANKS);
}

static void
one_point(scene *s, fault f)
{
    char what[512], fault_text[200];

    scene_begin(s);
    snprintf(what, sizeof what, "%s, rank %d call %d, %s", scene_name(s), f.rank, f.at,
             fates[f.fate]);
    sweep_point();
    if (!death_run(s, s->op->run, f, what))
        sweep_violation("%s: the fault did not happen", what);
    sweep_tally(f.fate >= STOP ? "ranks stopped" : "jobs killed");
    snprintf(what, sizeof what, "%s, %s", scene_name(s),
             death_name(fault_text, sizeof fault_text, f));
    judge(&(judge_case){.scene = s,
                        .what = what,
                        .died = f.fate < STOP,
                        .reported = scene_reported() ? SCENE_NEW : 0,
                        .losses = losses()});
}

/* ---- all of a scene ---- */

enum { SAMPLE = 3 };

/* Every fate at every call. For the larger files one order of events will do, and at calls that change
 * nothing one fate. */
static bool
is_tried(const scene *s, tap_call call, fate how, fate order, fate only)
{
    if (how == DIE_TORN)
        return call == TAP_PWRITE;
    if (s->size == &scene_sizes[0])
        return true;
    return death_changes_something(call) ? how == order || how == STOP : how == only;
}

static void
every_fault(scene *s, const tap_record *calls)
{
    for (int rank = 0; rank < SCENE_RANKS; rank++) {
        for (int at = 1; at <= calls->sends[rank]; at++)
            one_point(s, (fault){rank, at, STOP_SENDING});
        for (int at = 1; at <= calls->calls[rank]; at++) {
            const fate order = (fate)sweep_random(DIE_TORN);
            const fate only = sweep_random(4) != 0 ? order : STOP;

            for (int how = 0; how < FATES; how++)
                if (is_tried(s, calls->kinds[rank][at - 1], (fate)how, order, only))
                    one_point(s, (fault){rank, at, (fate)how});
        }
    }
}

static void
try_scene(scene *s)
{
    tap_record calls;

    sweep_point(); /* without a fault */
    scene_begin(s);
    death_run(s, s->op->run, (fault){.rank = -1}, scene_name(s));
    calls = *tap_seen;
    judge(&(judge_case){.scene = s,
                        .what = scene_name(s),
                        .died = true,
                        .reported = scene_reported() ? SCENE_NEW : 0,
                        .losses = 15});
    if (sweep_all())
        every_fault(s, &calls);
    for (int i = 0; !sweep_all() && i < sweep_sample(SAMPLE); i++)
        one_point(s, death_some(&calls));
}

int
main(int argc, char **argv)
{
    sweep_begin("crash", argc, argv);
    scene_each(sweep_all() ? SCENE_SIZES : 1, try_scene);
    return sweep_end();
}
