/* sweep_second.c: a second fault while the ranks recover from the first. An operation is
 * interrupted; each state that this can leave is opened again, and that is interrupted as well, or a call of
 * it fails: what is opened afterwards is as promised still, also when another node is lost.
 *
 * "all" tries, for XOR on four ranks, every first fault that leaves a state of its own with every second one;
 * for the other schemes a sample. A rank that dies at a call that changes nothing leaves what it leaves at the
 * next one that does: such calls are not tried for each order of events. */
#include "common/crc64.h"
#include "death.h"
#include "judge.h"
#include "sweep.h"

#include <stdio.h>
#include <string.h>

enum { SAMPLE = 1, SAMPLE_OF_ALL = 100 };

static const char given_up[] = "pairs given up: the recovery had fewer calls this time";

/* What the first fault has left: read by all second ones. */
typedef struct first {
    char     what[256];
    image    left;
    unsigned reported;
} first;

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
    judge_case c = {.scene = s,
                    .what = what,
                    .reported = was->reported,
                    .losses = 1U << sweep_random(SCENE_RANKS)};

    scene_put(s, &was->left);
    if (!death_run(s, s->reopen, second, was->what))
        return false;
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
        sweep_tally(given_up);
    image_free(&was.left);
}

/* ---- all pairs ---- */

static bool
is_tried(tap_call call, fate how)
{
    switch (how) {
    case DIE_AHEAD:
    case DIE_BEHIND: return death_changes_something(call);
    case DIE_TORN: return call == TAP_PWRITE;
    case STOP:
    case CALL_FAILS: return true;
    default: return false; /* DIE_AMONG is somewhere between the two ends */
    }
}

static void
each_second(scene *s, const first *was)
{
    tap_record calls;

    scene_put(s, &was->left);
    death_run(s, s->reopen, (fault){.rank = -1}, was->what);
    calls = *tap_seen;
    for (int rank = 0; rank < SCENE_RANKS; rank++)
        for (int at = 1; at <= calls.calls[rank]; at++)
            for (int how = 0; how <= CALL_FAILS; how++)
                if (is_tried(calls.kinds[rank][at - 1], (fate)how) &&
                    !one_pair(s, was, (fault){rank, at, (fate)how}))
                    sweep_tally(given_up);
}

/* Was the state of this scene gone on from before? */
static bool
is_known(const scene *s, const first *was)
{
    static sweep_set known;
    const char      *name = scene_name(s);

    return sweep_seen(&known,
                      image_fingerprint(&was->left, rset_crc64(was->reported, name, strlen(name))));
}

static void
each_first(scene *s, const tap_record *calls)
{
    for (int rank = 0; rank < SCENE_RANKS; rank++)
        for (int at = 1; at <= calls->calls[rank]; at++)
            for (int how = 0; how < FATES; how++) {
                first was;

                if (!is_tried(calls->kinds[rank][at - 1], (fate)how))
                    continue;
                have_first(s, (fault){rank, at, (fate)how}, &was);
                if (is_known(s, &was))
                    sweep_tally("first faults that leave what another left");
                else
                    each_second(s, &was);
                image_free(&was.left);
            }
}

static void
try_scene(scene *s)
{
    tap_record calls;

    scene_begin(s);
    death_run(s, s->op->run, (fault){.rank = -1}, scene_name(s));
    calls = *tap_seen;
    if (sweep_all() && s->kind->scheme == &rset_scheme_xor)
        each_first(s, &calls);
    else
        for (int i = 0; i < sweep_sample(sweep_all() ? SAMPLE_OF_ALL : SAMPLE); i++)
            some_pair(s, &calls);
}

int
main(int argc, char **argv)
{
    sweep_begin("second", argc, argv);
    scene_each(1, try_scene);
    return sweep_end();
}
