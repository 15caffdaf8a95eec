/* sweep_io.c: a file call of one rank fails, once or from then on, or moves less than it should:
 * all ranks come to the same, nothing that is half done looks finished, what was interrupted is simply
 * done again, and once the cause is gone a retry works (B5). */
#include "change.h"
#include "judge.h"
#include "scene.h"
#include "scene_hosted.h"
#include "sweep.h"
#include "tap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct trouble {
    const char *name;
    tap_order   order;
    int         err;
} trouble;

static const trouble troubles[] = {
    {"EIO", TAP_FAIL, EIO},       {"ENOSPC", TAP_FAIL, ENOSPC}, {"EDQUOT", TAP_FAIL, EDQUOT},
    {"EROFS", TAP_FAIL, EROFS},   {"EACCES", TAP_FAIL, EACCES}, {"EMFILE", TAP_FAIL, EMFILE},
    {"ENOMEM", TAP_FAIL, ENOMEM}, {"ESTALE", TAP_FAIL, ESTALE}, {"EINTR", TAP_FAIL, EINTR},
    {"half", TAP_HALF, 0},        {"nothing", TAP_NOTHING, 0},
};
enum { TROUBLES = sizeof troubles / sizeof *troubles };

typedef struct fault {
    int            rank, at;
    const trouble *trouble;
    bool for_ever; /* from that call on; EINTR at every second: else nothing would ever end */
} fault;

enum { TIMEOUT = 60 };

static fault ordered;

/* ---- in the child ---- */

static bool
applies(const trouble *t, tap_call call)
{
    if (t->order == TAP_HALF)
        return call == TAP_PREAD || call == TAP_PWRITE;
    if (t->err == EINTR) /* the C library's own bookkeeping, nothing that waits */
        return call != TAP_FDOPENDIR;
    return t->order != TAP_NOTHING || call == TAP_PWRITE;
}

/* The call that was struck first, shared with the child. Messages decide in which order a rank reads
 * and writes, so it need not be the one that the first run had at this place. */
static struct struck {
    _Atomic int  call;  /* -1: none */
    _Atomic bool names; /* it was to write a names file */
} * struck;

static bool
is_of_names_file(const tap_event *e)
{
    char    link[64], path[4096];
    ssize_t n;

    if (e->call != TAP_PWRITE && e->call != TAP_FSYNC)
        return e->to != NULL && strstr(e->to, ".redset.names") != NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", e->fd);
    n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    return strstr(path, ".redset.names") != NULL;
}

static tap_order
at_call(const tap_event *e, int *err_out)
{
    const int since = e->nth - ordered.at;
    bool      hit = since == 0 || (ordered.for_ever && since > 0);

    if (ordered.trouble->err == EINTR && since % 2 != 0)
        hit = false;
    if (e->rank != ordered.rank || !hit || !applies(ordered.trouble, e->call))
        return TAP_GO;
    if (struck->call < 0) {
        struck->call = (int)e->call;
        struck->names = is_of_names_file(e);
    }
    *err_out = ordered.trouble->err;
    return ordered.trouble->order;
}

static const tap_hooks hooks = {.before = at_call};

static void
run_in_child(void *arg)
{
    scene *s = arg;

    s->job.timeout = TIMEOUT;
    scene_run(s, s->op->run, 1, NULL);
}

/* ---- one fault ---- */

/* An interruption, or a transfer of less than was asked for, is no failure. */
static bool
survivable(const trouble *t)
{
    return t->order == TAP_HALF || t->err == EINTR;
}

/* What was not written, not made durable or not given its name cannot have succeeded. (A file system that
 * cannot sync a directory answers EINVAL or EROFS. An application that changes its file goes on without
 * an undo journal. A names file may list more than there is: what is not taken from it after a commit is told by nobody, and
 * what is not added to it before one is missed by the judge.) */
static bool
must_be_told(const scene *s, const fault *f, tap_call call)
{
    if (s->job.change != NULL || survivable(f->trouble) || struck->names ||
        (call == TAP_FSYNC && f->trouble->err == EROFS))
        return false;
    return call == TAP_PWRITE || call == TAP_FSYNC || call == TAP_RENAME;
}

/* The commit counts where there was no space for the generation before; that is told, and judged as a loss of that rank. */
static bool
was_told_of_kept(const scene *s, const fault *f, const scene_outcome *mine)
{
    return s->job.keep > 1 && (f->trouble->err == ENOSPC || f->trouble->err == EDQUOT) &&
           strstr(mine->out.note, "could not be kept") != NULL;
}

/* A rebuild without room beside the file is done again in the file itself, which needs none: what failed need not be told. */
static bool
is_made_in_place(const scene *s, const fault *f)
{
    return (s->op->run == scene_recover || s->op->run == scene_recover_by_three) && !f->for_ever &&
           (f->trouble->err == ENOSPC || f->trouble->err == EDQUOT);
}

/* What the ranks were told while the fault lasted. */
static void
check_told(const scene *s, const fault *f, const char *what)
{
    const scene_report  *all = scene_said;
    const scene_outcome *mine = &all->rank[f->rank];

    if (scene_timed_out())
        sweep_violation("%s: others waited for it (%s)", what, mine->text);
    for (int r = 0; (s->op->flags & SCENE_LOCAL) == 0 && r < SCENE_RANKS; r++)
        if (!all->rank[r].done || all->rank[r].st != all->rank[0].st ||
            (all->rank[0].st == RSET_OK &&
             all->rank[r].out.protected_ != all->rank[0].out.protected_)) {
            sweep_violation("%s: ranks do not agree: rank 0 %s (%s), rank %d %s (%s)", what,
                            rset_status_name(all->rank[0].st), all->rank[0].text, r,
                            rset_status_name(all->rank[r].st), all->rank[r].text);
            return;
        }
    if (mine->st != RSET_OK && mine->text[0] == '\0')
        sweep_violation("%s: failed without a message", what);
    if (survivable(f->trouble) && mine->st != RSET_OK && (s->op->flags & SCENE_VAIN) == 0 &&
        strstr(mine->text, "closing it failed") == NULL) /* by the application, before a sync */
        sweep_violation("%s: not survived: %s", what, mine->text);
    if (struck->call >= 0 && must_be_told(s, f, (tap_call)struck->call) && mine->st == RSET_OK &&
        !was_told_of_kept(s, f, mine) && !is_made_in_place(s, f))
        sweep_violation("%s: not reported", what);
    sweep_tally(mine->st == RSET_OK ? "faults without consequence" : "faults reported");
}

static void
retry_in_child(void *arg)
{
    scene *s = arg;

    s->job.timeout = SCENE_PATIENCE;
    tap_use(NULL);
    scene_run(s, s->op->run, 2, NULL);
}

/* The same again without the fault, then the loss of a node. */
static void
retry(scene *s, const char *what)
{
    char again[600];

    snprintf(again, sizeof again, "%s, then retried", what);
    memset(scene_said, 0, sizeof *scene_said);
    if (sweep_child(retry_in_child, s) != CHILD_DONE || scene_said->rank[0].st != RSET_OK)
        sweep_violation("%s: failed: %s", again, scene_said->rank[0].text);
    else
        judge(&(judge_case){.scene = s,
                            .what = again,
                            .twice = true,
                            .reported = scene_reported() ? SCENE_NEW : 0,
                            .losses = 1U << sweep_random(SCENE_RANKS)});
}

static void
one_point(scene *s, fault f, tap_call call)
{
    char      what[512];
    child_end end;
    image     left;

    scene_begin(s);
    snprintf(what, sizeof what, "%s, rank %d call %d (%s): %s %s", scene_name(s), f.rank, f.at,
             tap_name(call), f.trouble->name, f.for_ever ? "for ever" : "once");
    sweep_point();
    ordered = f;
    if (struck == NULL)
        struck = sweep_shared(sizeof *struck);
    struck->call = -1;
    struck->names = false;
    tap_use(&hooks);
    end = sweep_child(run_in_child, s);
    if (tap_seen->calls[f.rank] < f.at)
        sweep_violation("%s: the fault did not happen", what);
    if (end != CHILD_DONE)
        sweep_violation("%s: it %s", what, end == CHILD_HUNG ? "hangs" : "crashes");
    else
        check_told(s, &f, what);
    left = image_take(s->base);
    judge(&(judge_case){.scene = s,
                        .what = what,
                        .weak = s->job.change != NULL,
                        .unsynced = change_gave_up(),
                        .reported = scene_reported() ? SCENE_NEW : 0,
                        .losses = 1U << sweep_random(SCENE_RANKS)});
    scene_put(s, &left);
    if ((s->op->flags & SCENE_VAIN) == 0)
        retry(s, what);
    image_free(&left);
}

/* ---- all of a scene ---- */

enum { SAMPLE = 2 };

static fault
some_fault(const tap_record *calls)
{
    fault f = {.rank = (int)sweep_random(SCENE_RANKS), .for_ever = sweep_random(2) != 0};

    while (calls->calls[f.rank] == 0) /* what concerns it not */
        f.rank = (f.rank + 1) % SCENE_RANKS;
    f.at = 1 + (int)sweep_random((uint32_t)calls->calls[f.rank]);
    do
        f.trouble = &troubles[sweep_random(TROUBLES)];
    while (!applies(f.trouble, calls->kinds[f.rank][f.at - 1]));
    return f;
}

/* With SWEEP_CALL in the environment, calls of that name only, each with one fault: enough for a look that fails, which is no answer. */
static bool
is_asked_for(tap_call call, int which)
{
    const char *only = getenv("SWEEP_CALL");

    return only == NULL || (which == 0 && strcmp(tap_name(call), only) == 0);
}

static void
every_fault(scene *s, const tap_record *calls)
{
    for (int rank = 0; rank < SCENE_RANKS; rank++)
        for (int at = 1; at <= calls->calls[rank]; at++)
            for (int t = 0; t < 2 * TROUBLES; t++) {
                const tap_call call = calls->kinds[rank][at - 1];

                if (applies(&troubles[t / 2], call) && is_asked_for(call, t))
                    one_point(s, (fault){rank, at, &troubles[t / 2], t % 2 != 0}, call);
            }
}

static void
try_scene(scene *s)
{
    tap_record calls;

    tap_use(&(tap_hooks){0});
    sweep_child(run_in_child, s);
    calls = *tap_seen;
    if (sweep_all())
        every_fault(s, &calls);
    for (int i = 0; !sweep_all() && i < sweep_sample(SAMPLE); i++) {
        fault f = some_fault(&calls);

        one_point(s, f, calls.kinds[f.rank][f.at - 1]);
    }
}

int
main(int argc, char **argv)
{
    sweep_begin("io", argc, argv);
    scene_each(1, try_scene);
    return sweep_end();
}
