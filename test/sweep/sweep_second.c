/* sweep_second.c: a second fault while the ranks recover from the first (F18; goal G3). An operation is
 * interrupted; each state that this can leave is opened again, and that is interrupted as well, or a call of
 * it fails: what is opened afterwards is as promised still, also when another node is lost.
 *
 * "all" tries, for XOR on four ranks, every first fault that leaves a state of its own with every second one;
 * for the other schemes a sample. A rank that dies at a call that changes nothing leaves what it leaves at the
 * next one that does: such calls are not tried for each order of events. */
#include "death.h"
#include "judge.h"
#include "sweep.h"

#include <stdio.h>
#include <string.h>

enum { SAMPLE = 2, SAMPLE_OF_ALL = 100, STATES = 1 << 14 };

/* What the first fault has left: read by all second ones. */
typedef struct first {
    char     what[256];
    image    left;
    unsigned reported;
} first;

/* Which nodes to lose in addition. */
static unsigned
losses(void)
{
    return 1U << sweep_random(SCENE_RANKS);
}

static void
have_first(scene *s, fault f, first *out)
{
    char text[200];

    scene_begin(s);
    death_run(s, s->op->run, f, scene_name(s));
    out->reported = scene_reported() ? SCENE_NEW : 0;
    snprintf(out->what, sizeof out->what, "%s, %s", scene_name(s),
             death_name(text, sizeof text, f));
    out->left = image_take(s->base);
}

/* False: the second fault did not happen, recovery went to its end. */
static bool
one_pair(scene *s, const first *was, fault second)
{
    char       what[512], text[200];
    judge_case c = {.scene = s, .what = what, .losses = losses()};

    scene_put(s, &was->left);
    if (!death_run(s, scene_recover, second, was->what))
        return false;
    c.reported = was->reported;
    sweep_point();
    sweep_tally(second.fate == CALL_FAILS ? "calls of a recovery that fail"
                : second.fate >= STOP     ? "ranks that stop in a recovery"
                                          : "jobs that die in a recovery");
    snprintf(what, sizeof what, "%s; then in recovery %s", was->what,
             death_name(text, sizeof text, second));
    if (c.reported == 0)
        judge_told(&c); /* by the recovery, to one or the other */
    judge(&c);
    return true;
}

/* ---- some pairs ---- */

static void
some_pair(scene *s, const tap_record *calls)
{
    first was;
    fault second = {.rank = (int)sweep_random(SCENE_RANKS), .at = 1 + (int)sweep_random(60)};
    bool  happened;
    fault at_first = death_some(calls);
    int   how = (int)sweep_random(FATES + 1);

    second.fate = how == FATES ? CALL_FAILS : (fate)how;
    have_first(s, at_first, &was);
    happened = one_pair(s, &was, second);
    for (int tries = 0; !happened && tries < 3 && tap_seen->calls[second.rank] > 0; tries++) {
        second.at = 1 + (int)sweep_random((uint32_t)tap_seen->calls[second.rank]);
        happened = one_pair(s, &was, second);
    }
    if (!happened)
        sweep_tally("pairs given up: the recovery had fewer calls this time");
    image_free(&was.left);
}

/* ---- all pairs ---- */

static bool
is_tried(tap_call call, fate how)
{
    if (how == DIE_AMONG) /* somewhere between the two ends */
        return false;
    if (how == DIE_TORN)
        return call == TAP_PWRITE;
    return how == CALL_FAILS || how == STOP || death_changes_something(call);
}

static void
each_second(scene *s, const first *was)
{
    tap_record calls;

    scene_put(s, &was->left);
    death_run(s, scene_recover, (fault){.rank = -1}, was->what);
    calls = *tap_seen;
    for (int rank = 0; rank < SCENE_RANKS; rank++)
        for (int at = 1; at <= calls.calls[rank]; at++)
            for (int how = 0; how <= CALL_FAILS; how++)
                if (how < FATES || how == CALL_FAILS)
                    if (is_tried(calls.kinds[rank][at - 1], (fate)how) &&
                        !one_pair(s, was, (fault){rank, at, (fate)how}))
                        sweep_tally("pairs given up: the recovery had fewer calls this time");
}

/* States of this scene that were gone on from. */
static uint64_t known[STATES];
static int      nknown;

static bool
is_known(const first *was)
{
    const uint64_t print = image_fingerprint(&was->left, was->reported);

    for (int i = 0; i < nknown; i++)
        if (known[i] == print)
            return true;
    if (nknown < STATES)
        known[nknown++] = print;
    return false;
}

static void
each_first(scene *s, const tap_record *calls)
{
    nknown = 0;
    for (int rank = 0; rank < SCENE_RANKS; rank++)
        for (int at = 1; at <= calls->calls[rank]; at++)
            for (int how = 0; how < FATES; how++) {
                first was;

                if (!is_tried(calls->kinds[rank][at - 1], (fate)how))
                    continue;
                have_first(s, (fault){rank, at, (fate)how}, &was);
                if (is_known(&was))
                    sweep_tally("first faults that leave what another left");
                else
                    each_second(s, &was);
                image_free(&was.left);
            }
}

static void
try_scene(const scene_operation *op, const scene_kind *kind)
{
    scene      s;
    tap_record calls;

    if (!scene_open(&s, op, kind, &scene_sizes[0]))
        return;
    scene_begin(&s);
    death_run(&s, op->run, (fault){.rank = -1}, scene_name(&s));
    calls = *tap_seen;
    if (sweep_all() && kind->scheme == &rset_scheme_xor)
        each_first(&s, &calls);
    else
        for (int i = 0; i < sweep_sample(sweep_all() ? SAMPLE_OF_ALL : SAMPLE); i++)
            some_pair(&s, &calls);
    sweep_progress(scene_name(&s));
    scene_close(&s);
}

int
main(int argc, char **argv)
{
    sweep_begin("second", argc, argv);
    for (int op = 0; op < scene_noperations; op++)
        for (int kind = 0; kind < SCENE_KINDS; kind++)
            try_scene(&scene_operations[op], &scene_kinds[kind]);
    return sweep_end();
}
