/* sweep_power.c: the power of all nodes goes at some moment of an operation: of what no
 * fsync has covered by then, all, nothing or something is lost. Judged as after a crash. */
#include "judge.h"
#include "power.h"
#include "scene.h"
#include "sweep.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static power_log *power;
static int        held = -1; /* rank that comes last at each rename, for another order of events */

/* ---- in the child ---- */

static tap_order
at_call(const tap_event *e, int *err_out)
{
    (void)err_out;
    if (e->rank == held && (e->call == TAP_RENAME || e->call == TAP_FSYNC))
        usleep(2000);
    return TAP_GO;
}

static const tap_hooks hooks = {.before = at_call, .after = power_record};

static void
rank_is_through(int rank)
{
    if (scene_said->rank[rank].st == RSET_OK && scene_said->rank[rank].out.protected_)
        power_told(rank);
}

static void
run_in_child(void *arg)
{
    scene *s = arg;

    s->job.timeout = SCENE_PATIENCE;
    power_record_to(power);
    scene_run(s, s->op->run, 1, rank_is_through);
}

/* ---- what is lost ---- */

static bool
is_name(const power_op *op)
{
    return op->kind == POWER_CREATE || op->kind == POWER_RENAME || op->kind == POWER_LINK ||
           op->kind == POWER_UNLINK;
}

static power_fate
lose_all(const power_op *op)
{
    (void)op;
    return POWER_LOST;
}

static power_fate
lose_content(const power_op *op)
{
    return is_name(op) ? POWER_KEPT : POWER_LOST;
}

static power_fate
lose_names(const power_op *op)
{
    return is_name(op) ? POWER_LOST : POWER_KEPT;
}

static power_fate
lose_some(const power_op *op)
{
    return (power_fate)sweep_random(is_name(op) ? POWER_KEPT + 1 : POWER_PAGES + 1);
}

static const struct {
    const char *name;
    power_fate (*fate)(const power_op *op);
} losses[] = {{"all is lost", lose_all},
              {"content is lost", lose_content},
              {"names are lost", lose_names},
              {"some is lost", lose_some}};
enum { LOSE_ALL, LOSE_CONTENT, LOSE_NAMES, LOSE_SOME };

/* ---- one state ---- */

static void
one_point(scene *s, int n, int how)
{
    /* what was told holds until files that stay open change again: the journals of that may be torn on all nodes */
    const bool told = power_was_told(power, n) && (s->op->flags & SCENE_OPEN) == 0;
    char       what[512];
    image      img = power_state(power, s, n, losses[how].fate);

    snprintf(what, sizeof what, "%s, power goes after %d of %d calls, %s of what was not synced",
             scene_name(s), n, power->n, losses[how].name);
    sweep_point();
    scene_put(s, &img);
    image_free(&img);
    judge(&(judge_case){.scene = s,
                        .what = what,
                        .weak = (s->op->flags & SCENE_TORN) != 0,
                        .reported = told ? SCENE_NEW : 0,
                        .unsynced = s->unsynced || (s->op->flags & SCENE_TORN) != 0,
                        .losses = sweep_all() ? 15 : 1U << (n % SCENE_RANKS)});
}

/* ---- all of a scene ---- */

enum {
    RANDOM_ALL = 8,
    RECORDINGS_ALL = 3,
    SAMPLE = 2,
    SAMPLE_OLDER = 1,
    STEP = 3,
    STEP_OLDER = 8,
    FEWER = 4
};

static void
record(scene *s, int who_is_held)
{
    held = who_is_held;
    scene_begin(s);
    tap_use(&hooks);
    if (sweep_child(run_in_child, s) != CHILD_DONE ||
        (scene_said->rank[0].st == RSET_OK) == ((s->op->flags & SCENE_VAIN) != 0))
        sweep_violation("%s: cannot be recorded: %s", scene_name(s), scene_said->rank[0].text);
    power_begin(power, s);
}

static void
every_state(scene *s)
{
    for (int n = 0; n <= power->n; n++) {
        for (int how = LOSE_ALL; how < LOSE_SOME; how++)
            one_point(s, n, how);
        for (int i = 0; i < RANDOM_ALL; i++)
            one_point(s, n, LOSE_SOME);
    }
}

/* Under XOR a third of the prefixes, some of each kind under the others; fewer where older generations are opened after each
 * of them, and a quarter of that with SWEEP_POINTS=1. */
static void
some_states(scene *s)
{
    const int step = (s->nolder > 0 ? STEP_OLDER : STEP) * (sweep_sample(SAMPLE) == 1 ? FEWER : 1);
    const int sample = s->nolder > 0 ? SAMPLE_OLDER : SAMPLE;
    const int first = (int)sweep_random((uint32_t)step);

    for (int n = first; s->kind->scheme == &rset_scheme_xor && n <= power->n; n += step)
        one_point(s, n, LOSE_ALL);
    for (int i = 0; i < sweep_sample(sample); i++)
        one_point(s, (int)sweep_random((uint32_t)power->n + 1), (int)sweep_random(LOSE_SOME + 1));
}

static void
try_scene(scene *s)
{
    for (int i = 0; i < (sweep_all() ? RECORDINGS_ALL : 1); i++) {
        record(s, i - 1);
        if (sweep_all())
            every_state(s);
        else
            some_states(s);
    }
}

int
main(int argc, char **argv)
{
    sweep_begin("power", argc, argv);
    power = sweep_shared(sizeof *power);
    scene_each(1, try_scene);
    return sweep_end();
}
