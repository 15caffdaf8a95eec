/* sweep_crash.c: the job, or one rank of it, dies at a file call of an operation (F10, F14, F16; goals G2
 * and G3): what is opened afterwards is OLD or NEW on all ranks, or refused on all, and what was said about
 * protection is true; also when another node is lost, and when recovery is interrupted as well. */
#include "judge.h"
#include "scene.h"
#include "sweep.h"
#include "tap.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Between the calls of other ranks there is no order. Of all that can happen while one rank comes to its
 * call, both ends are tried, and something in between. */
typedef enum {
    DIE_AHEAD,  /* the job dies; the others have published as little as they can */
    DIE_BEHIND, /* ... as much as they can */
    DIE_AMONG,  /* ... as it happens */
    DIE_TORN,   /* ... and half of what the call writes is written */
    STOP,       /* the rank alone stops for ever; the others go on, and give up */
    FATES,
    STOP_SENDING = FATES /* ... before it sends a message: `at` counts messages */
} fate;

static const char *const fates[] = {"the job dies, others behind",
                                    "the job dies, others ahead",
                                    "the job dies",
                                    "the job dies in the middle of a write",
                                    "the rank stops",
                                    "the rank stops before it sends that"};

typedef struct fault {
    int  rank, at;
    fate fate;
} fault;

/* Clocks are fast only once a rank has stopped: before, nothing may time out. */
enum { TIMEOUT = 60, HURRY = 3000, IDLE_LOOKS = 20, LOOK_US = 100 };

static fault       ordered;
static _Atomic int through; /* ranks whose run is over */
static atomic_bool stopped;

/* ---- in the child ---- */

static bool
is_progress(int rank, bool others, int *seen)
{
    int n = 0;

    for (int r = 0; r < SCENE_RANKS; r++)
        n += (r == rank) != others ? tap_seen->calls[r] : 0;
    if (n == *seen)
        return false;
    *seen = n;
    return true;
}

/* Waits until the faulty rank (others: all but it) has made no file call for a while. How long that takes
 * decides about nothing but which of many possible orders of events is tried. */
static void
wait_idle(bool others)
{
    int seen = -1;

    for (int idle = 0; idle < IDLE_LOOKS; idle++) {
        if (is_progress(ordered.rank, others, &seen))
            idle = 0;
        usleep(LOOK_US);
    }
}

static void
leave_when_alone(void)
{
    if (atomic_load(&stopped) && atomic_load(&through) % SCENE_RANKS == SCENE_RANKS - 1)
        sweep_leave();
}

static void
rank_is_through(int rank)
{
    (void)rank;
    atomic_fetch_add(&through, 1);
    leave_when_alone();
}

static tap_order
at_call(const tap_event *e, int *err_out)
{
    (void)err_out;
    if (e->rank != ordered.rank) {
        if (ordered.fate == DIE_AHEAD && (e->call == TAP_RENAME || e->call == TAP_UNLINK))
            wait_idle(false);
        return TAP_GO;
    }
    if (e->nth != ordered.at || (e->call == TAP_SEND) != (ordered.fate == STOP_SENDING))
        return TAP_GO;
    if (ordered.fate == DIE_TORN && e->call == TAP_PWRITE)
        (void)rset_sys_posix.pwrite(e->fd, e->data, e->len / 2, e->off);
    if (ordered.fate == DIE_BEHIND)
        wait_idle(true);
    if (ordered.fate < STOP)
        sweep_die();
    atomic_store(&stopped, true);
    sweep_hurry(HURRY);
    for (;;) {
        leave_when_alone();
        usleep(1000);
    }
}

static const tap_hooks hooks = {.before = at_call};

typedef struct task {
    scene *scene;
    void (*run)(job *j);
} task;

static void
run_in_child(void *arg)
{
    task *t = arg;

    t->scene->job.timeout = TIMEOUT;
    scene_run(t->scene, t->run, 1, rank_is_through);
}

/* ---- one fault ---- */

/* Runs with a fault (rank -1: with none); false: the fault did not happen, the run went to its end. */
static bool
run_with(scene *s, void (*run)(job *j), fault f, const char *what)
{
    task      t = {s, run};
    child_end end;

    ordered = f;
    memset(scene_said, 0, sizeof *scene_said);
    tap_use(&hooks);
    end = sweep_child(run_in_child, &t);
    if (end == CHILD_HUNG || end == CHILD_CRASHED)
        sweep_violation("%s: it %s", what, end == CHILD_HUNG ? "hangs" : "crashes");
    if (f.rank < 0)
        return false;
    return (f.fate == STOP_SENDING ? tap_seen->sends[f.rank] : tap_seen->calls[f.rank]) >= f.at;
}

static const char *
fault_name(char *buf, size_t size, fault f)
{
    if (f.fate == STOP_SENDING)
        snprintf(buf, size, "rank %d message %d: %s", f.rank, f.at, fates[f.fate]);
    else
        snprintf(buf, size, "rank %d call %d (%s): %s", f.rank, f.at,
                 f.at <= TAP_LOG ? tap_name(tap_seen->kinds[f.rank][f.at - 1]) : "?",
                 fates[f.fate]);
    return buf;
}

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
    if (!run_with(s, s->op->run, f, what))
        sweep_violation("%s: the fault did not happen", what);
    sweep_tally(f.fate >= STOP ? "ranks stopped" : "jobs killed");
    snprintf(what, sizeof what, "%s, %s", scene_name(s),
             fault_name(fault_text, sizeof fault_text, f));
    judge(&(judge_case){.scene = s,
                        .what = what,
                        .reported = scene_reported() ? SCENE_NEW : 0,
                        .losses = losses()});
}

/* Killed once, and once more at some call of the recovery from that. */
static void
one_pair(scene *s, fault first)
{
    char     what[512], text[2][200];
    fault    second = {.rank = (int)sweep_random(SCENE_RANKS),
                       .at = 1 + (int)sweep_random(60),
                       .fate = (fate)sweep_random(FATES)};
    unsigned reported;
    image    left;

    scene_begin(s);
    run_with(s, s->op->run, first, scene_name(s));
    reported = scene_reported() ? SCENE_NEW : 0;
    fault_name(text[0], sizeof text[0], first);
    left = image_take(s->base);
    for (int tries = 0; !run_with(s, scene_recover, second, scene_name(s)) && tries < 3; tries++) {
        second.at = 1 + (int)sweep_random((uint32_t)tap_seen->calls[second.rank]);
        scene_put(s, &left);
    }
    if (reported == 0 && scene_reported())
        reported = s->op->plain; /* by the recovery, to one or the other */
    sweep_point();
    sweep_tally("pairs of faults");
    snprintf(what, sizeof what, "%s, %s; then in recovery %s", scene_name(s), text[0],
             fault_name(text[1], sizeof text[1], second));
    judge(&(judge_case){.scene = s, .what = what, .reported = reported, .losses = losses()});
    image_free(&left);
}

/* ---- all of a scene ---- */

enum { SAMPLE = 8, PAIRS = 2, ALL_PAIRS = 60 };

static fault
some_fault(const tap_record *calls)
{
    fault f = {.rank = (int)sweep_random(SCENE_RANKS)};

    if (calls->sends[f.rank] > 0 && sweep_random(FATES + 1) == STOP_SENDING)
        return (fault){f.rank, 1 + (int)sweep_random((uint32_t)calls->sends[f.rank]), STOP_SENDING};
    f.at = 1 + (int)sweep_random((uint32_t)calls->calls[f.rank]);
    do
        f.fate = (fate)sweep_random(FATES);
    while (f.fate == DIE_TORN && calls->kinds[f.rank][f.at - 1] != TAP_PWRITE);
    return f;
}

/* Calls after which another state is on disk. */
static bool
changes_something(tap_call call)
{
    return call == TAP_CREATE || call == TAP_PWRITE || call == TAP_FTRUNCATE ||
           call == TAP_RENAME || call == TAP_UNLINK || call == TAP_MKDIR || call == TAP_FSYNC ||
           (call >= TAP_FCHMOD && call <= TAP_FREMOVEXATTR);
}

/* Every fate at every call. For the larger files one order of events will do, and at calls that change
 * nothing one fate. */
static bool
is_tried(const scene *s, tap_call call, fate how, fate order, fate only)
{
    if (how == DIE_TORN)
        return call == TAP_PWRITE;
    if (s->size == &scene_sizes[0])
        return true;
    return changes_something(call) ? how == order || how == STOP : how == only;
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
try_scene(const scene_operation *op, const scene_kind *kind, const scene_size *size)
{
    scene      s;
    tap_record calls;

    if (!scene_open(&s, op, kind, size))
        return;
    sweep_point(); /* without a fault */
    scene_begin(&s);
    run_with(&s, op->run, (fault){.rank = -1}, scene_name(&s));
    calls = *tap_seen;
    judge(&(judge_case){.scene = &s,
                        .what = scene_name(&s),
                        .reported = scene_reported() ? SCENE_NEW : 0,
                        .losses = 15});
    if (sweep_all())
        every_fault(&s, &calls);
    for (int i = 0; !sweep_all() && i < SAMPLE; i++)
        one_point(&s, some_fault(&calls));
    for (int i = 0; i < (sweep_all() ? ALL_PAIRS : PAIRS); i++)
        one_pair(&s, some_fault(&calls));
    sweep_progress(scene_name(&s));
    scene_close(&s);
}

int
main(int argc, char **argv)
{
    sweep_begin("crash", argc, argv);
    for (int op = 0; op < scene_noperations; op++)
        for (int kind = 0; kind < SCENE_KINDS; kind++)
            for (int size = 0; size < (sweep_all() ? SCENE_SIZES : 1); size++)
                try_scene(&scene_operations[op], &scene_kinds[kind], &scene_sizes[size]);
    return sweep_end();
}
