/* death.c: see death.h. */
#include "death.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sweep.h"

const char *const fates[] = {[DIE_AHEAD] = "the job dies, others behind",
                             [DIE_BEHIND] = "the job dies, others ahead",
                             [DIE_AMONG] = "the job dies",
                             [DIE_TORN] = "the job dies in the middle of a write",
                             [STOP] = "the rank stops",
                             [FATES] = "?",
                             [STOP_SENDING] = "the rank stops before it sends that",
                             [CALL_FAILS] = "the call fails"};

/* Clocks are fast only once a rank has stopped, or a call has failed: before, nothing may time out. */
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

static void stop_for_ever(void) __attribute__((noreturn));

static void
stop_for_ever(void)
{
    atomic_store(&stopped, true);
    sweep_hurry(HURRY);
    for (;;) {
        leave_when_alone();
        usleep(1000);
    }
}

static tap_order
at_call(const tap_event *e, int *err_out)
{
    if (e->rank != ordered.rank) {
        if (ordered.fate == DIE_AHEAD &&
            (e->call == TAP_RENAME || e->call == TAP_LINK || e->call == TAP_UNLINK))
            wait_idle(false);
        return TAP_GO;
    }
    if (e->nth != ordered.at || (e->call == TAP_SEND) != (ordered.fate == STOP_SENDING))
        return TAP_GO;
    if (ordered.fate == CALL_FAILS) {
        sweep_hurry(HURRY);
        *err_out = EIO;
        return TAP_FAIL;
    }
    if (ordered.fate == DIE_TORN && e->call == TAP_PWRITE)
        (void)rset_sys_posix.pwrite(e->fd, e->data, e->len / 2, e->off);
    if (ordered.fate == DIE_BEHIND)
        wait_idle(true);
    if (ordered.fate < STOP)
        sweep_die();
    stop_for_ever();
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

bool
death_run(scene *s, void (*run)(job *j), fault f, const char *what)
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

const char *
death_name(char *buf, size_t size, fault f)
{
    if (f.fate == STOP_SENDING)
        snprintf(buf, size, "rank %d message %d: %s", f.rank, f.at, fates[f.fate]);
    else
        snprintf(buf, size, "rank %d call %d (%s): %s", f.rank, f.at,
                 f.at <= TAP_LOG ? tap_name(tap_seen->kinds[f.rank][f.at - 1]) : "?",
                 fates[f.fate]);
    return buf;
}

fault
death_some(const tap_record *seen)
{
    fault f = {.rank = (int)sweep_random(SCENE_RANKS)};

    while (seen->calls[f.rank] == 0) /* what concerns it not */
        f.rank = (f.rank + 1) % SCENE_RANKS;
    if (seen->sends[f.rank] > 0 && sweep_random(FATES + 1) == FATES)
        return (fault){f.rank, 1 + (int)sweep_random((uint32_t)seen->sends[f.rank]), STOP_SENDING};
    f.at = 1 + (int)sweep_random((uint32_t)seen->calls[f.rank]);
    do
        f.fate = (fate)sweep_random(FATES);
    while (f.fate == DIE_TORN && seen->kinds[f.rank][f.at - 1] != TAP_PWRITE);
    return f;
}

bool
death_changes_something(tap_call call)
{
    return call == TAP_CREATE || call == TAP_PWRITE || call == TAP_FTRUNCATE ||
           call == TAP_RENAME || call == TAP_LINK || call == TAP_UNLINK || call == TAP_MKDIR ||
           call == TAP_FSYNC || (call >= TAP_FCHMOD && call <= TAP_FREMOVEXATTR);
}
