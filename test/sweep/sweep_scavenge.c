/* sweep_scavenge.c: h5redset scavenge (one process) brings files to a safe directory from each state that the operations of the
 * sweeps begin in (scene_operations.c), and a fault happens: it is killed, a call of it fails, it has no memory, the power goes,
 * it is killed and killed again. Always: the sources are untouched; nothing in the target has the name of a file but what is
 * complete, and what a run without a fault brings (HR6); an error is said; and a run without a fault finishes. */
#include "../../tools/h5redset/exits.h"
#include "alloc.h"
#include "scavenge_power.h"
#include "scavenge_run.h"
#include "scene.h"
#include "sweep.h"
#include "tap.h"

#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define INDEX "redset-index.json"
#define STAGE "redset-scavenge.tmp"

/* What a scene comes to without a fault. */
typedef struct trial {
    scene     *s;
    image      sources, brought;
    int        status, calls, allocations;
    int        nth; /* fault of its kind, from 1 */
    tap_record seen;
    bool
        older; /* in the target: what could not be read was taken for lost, and said (check_told) */
} trial;

static char *safe, *target, *said;

/* ---- one run ---- */

typedef enum { NO_FAULT, KILLED, TORN, FAILS, SHORT, NO_MEMORY } kind;

static const char *const kinds[] = {
    "no fault",       "killed",        "killed in the middle of a write",
    "the call fails", "half is moved", "no memory"};

typedef struct fault {
    kind kind;
    int  at;
    int  err;
    bool for_ever;
} fault;

static fault       ordered;
static atomic_int *allocated; /* shared with the child */
static atomic_int *struck;    /* how often it happened; shared with the child */

static bool
is_now(int nth)
{
    const bool now = nth == ordered.at || (ordered.for_ever && nth > ordered.at);

    if (now)
        atomic_fetch_add(struck, 1);
    return now;
}

static bool
no_memory(void)
{
    int nth;

    if (tap_rank() < 0)
        return false;
    nth = 1 + atomic_fetch_add(allocated, 1);
    return ordered.kind == NO_MEMORY && is_now(nth);
}

static tap_order
at_call(const tap_event *e, int *err_out)
{
    if (ordered.kind == NO_FAULT || ordered.kind == NO_MEMORY || !is_now(e->nth))
        return TAP_GO;
    if (ordered.kind == TORN && e->call == TAP_PWRITE)
        (void)rset_sys_posix.pwrite(e->fd, e->data, e->len / 2, e->off);
    if (ordered.kind == KILLED || ordered.kind == TORN)
        sweep_die();
    *err_out = ordered.err;
    return ordered.kind == FAILS ? TAP_FAIL : TAP_HALF;
}

static const tap_hooks hooks = {.before = at_call, .after = scavenge_power_see};

static void
run_in_child(void *arg)
{
    trial *t = arg;

    alloc_fails = no_memory;
    scavenge_run(t->s->base, target, t->older, said);
}

static child_end
run(trial *t, fault f)
{
    ordered = f;
    *allocated = *struck = 0;
    *scavenge_came_to = (scavenge_end){0};
    scavenge_power_begin();
    tap_use(&hooks);
    return sweep_child(run_in_child, t);
}

/* ---- what must hold ---- */

static bool
is_staged(const char *path)
{
    return strncmp(path, STAGE "/", strlen(STAGE "/")) == 0;
}

/* The index says of no file that is not there, and complete, that it is. */
static void
check_index(const image_file *index, const image *now, const char *what)
{
    json_t       *all = json_loadb((const char *)index->data, index->size, 0, NULL), *one;
    const json_t *files = json_object_get(all, "files");
    size_t        i;

    if (!json_is_array(files))
        sweep_violation("%s: the index is torn", what);
    json_array_foreach((json_t *)files, i, one)
    {
        const char       *name = json_string_value(json_object_get(one, "name"));
        const image_file *f = name != NULL ? image_find(now, name) : NULL;

        if (f == NULL || json_integer_value(json_object_get(one, "size")) != (json_int_t)f->size)
            sweep_violation("%s: the index names %s, which is not there", what, name);
    }
    json_decref(all);
}

static bool
holds(const image_file *f, const uint8_t *data, size_t size)
{
    return data != NULL && f->size == size && memcmp(data, f->data, size) == 0;
}

/* What was protected last; or before that, where a commit over it was decided, and not finished: it still has the name then. */
/* Of one of the files of each rank; `old`: of all of them. */
static bool
is_old_of(const trial *t, const job *j, const contents *old, const image_file *f)
{
    for (int r = 0; r < SCENE_RANKS; r++) {
        const char       *name = j->ranks[r].names[0];
        const image_file *was = image_find(&t->sources, path_of("node%d/%s", r, name));

        if (strcmp(f->path, name) == 0)
            return holds(f, old->data[r], old->size[r]) ||
                   ((t->s->op->flags & SCENE_APART) != 0 && was != NULL &&
                    holds(f, was->data, was->size));
    }
    return false;
}

/* What was protected last; or before that, where a commit over it was decided, and not finished: it still has the name then. */
static bool
is_old(const trial *t, const image_file *f)
{
    return is_old_of(t, &t->s->job, &t->s->old, f) ||
           (t->s->job.with != NULL && is_old_of(t, t->s->job.with, &t->s->with_old, f));
}

/* Nothing has the name of a file but what a run without a fault brings, or what was protected last. Returns whether all of it is
 * there. */
static bool
check_target(trial *t, const char *what)
{
    image  now = image_take(target);
    size_t there = 0;

    t->older = false;
    for (size_t i = 0; i < now.n; i++) {
        const image_file *f = &now.at[i], *want = image_find(&t->brought, f->path);
        const bool        is =
            want != NULL && want->size == f->size && memcmp(want->data, f->data, f->size) == 0;

        if (is_staged(f->path))
            continue;
        there++;
        if (strcmp(f->path, INDEX) == 0)
            check_index(f, &now, what);
        else if (want == NULL && is_old(t, f))
            there--; /* nothing protects it, and without memory that was not seen: a copy too many */
        else if (!is && is_old(t, f))
            t->older = true;
        else if (!is)
            sweep_violation("%s: %s in the target is not what it should be", what, f->path);
    }
    image_free(&now);
    return there == t->brought.n && !t->older;
}

static void
check_sources(const trial *t, const char *what)
{
    char why[1024];

    if (!image_same(&t->sources, t->s->base, NULL, IMAGE_UNTOUCHED, why))
        sweep_violation("%s: the sources were changed: %s", what, why);
}

/* The messages of the last run, as far as there is room. */
static const char *
what_was_said(void)
{
    static char text[1024];
    size_t      n = 0;
    uint8_t    *all = exists(said) ? read_file(said, &n) : NULL;

    snprintf(text, sizeof text, "%.*s", (int)n, all != NULL ? (const char *)all : "");
    free(all);
    return text;
}

static bool
was_said(void)
{
    return what_was_said()[0] != '\0';
}

/* After a run that was not killed. */
static void
check_told(trial *t, child_end end, const char *what)
{
    const int status = scavenge_came_to->status;

    if (end != CHILD_DONE || !scavenge_came_to->done) {
        sweep_violation("%s: it %s", what, end == CHILD_HUNG ? "hangs" : "crashes");
        return;
    }
    if (status == 0 && (t->status != 0 || !check_target(t, what)))
        sweep_violation("%s: all is well, it says, and not all is there", what);
    if (status != 0 && !was_said())
        sweep_violation("%s: exit status %d without a message", what, status);
    sweep_tally(status == t->status ? "faults without consequence" : "faults reported");
}

/* A run without a fault brings the rest. */
static void
check_finishes(trial *t, const char *what)
{
    const child_end end = run(t, (fault){NO_FAULT, 0, 0, false});
    /* Where too much is lost, the run with the fault may have brought a file that it could not verify, and said so: it is in the way now. */
    const bool in_the_way = t->status == EXITS_UNRECOVERABLE &&
                            scavenge_came_to->status == EXITS_ERROR &&
                            strstr(what_was_said(), "is there already, and has other") != NULL;

    if (end != CHILD_DONE || (scavenge_came_to->status != t->status && !in_the_way) ||
        !check_target(t, what))
        sweep_violation("%s, and once more: exit status %d instead of %d, or not all is there: %s",
                        what, scavenge_came_to->status, t->status, what_was_said());
    if (exists(path_of("%s/" STAGE, target)))
        sweep_violation("%s, and once more: leftovers in the target", what);
    check_sources(t, what);
}

/* ---- one point ---- */

static const char *
name_of(const trial *t, const char *which, fault f)
{
    static char text[512];
    const char *call = f.kind == NO_MEMORY ? "allocation"
                       : f.at <= TAP_LOG   ? tap_name(t->seen.kinds[0][f.at - 1])
                                           : "call";

    snprintf(text, sizeof text, "%s: %s, %s %d: %s%s%s", scene_name(t->s), which, call, f.at,
             kinds[f.kind], f.kind == FAILS ? path_of(" with %s", strerrorname_np(f.err)) : "",
             f.for_ever ? ", for ever" : "");
    return text;
}

static int
any_call(const trial *t)
{
    return 1 + (int)sweep_random((uint32_t)t->calls);
}

static const char *
crash(trial *t)
{
    const fault f = {sweep_random(3) == 0 ? TORN : KILLED, any_call(t), 0, false};
    const char *what = name_of(t, "crash", f);

    if (run(t, f) != CHILD_KILLED && *struck > 0)
        sweep_violation("%s: it is not killed", what);
    return what;
}

static const char *
second(trial *t)
{
    for (int times = 0; times < 2; times++) {
        (void)run(t, (fault){KILLED, any_call(t), 0, false});
        (void)check_target(t, scene_name(t->s));
    }
    return name_of(t, "second", ordered);
}

/* In a sweep of all each call fails once, before some do in some way. */
static const char *
io(trial *t)
{
    static const int errors[] = {EIO, ENOSPC, EDQUOT, EROFS, EACCES, EMFILE, ENOMEM, ESTALE};
    const fault      some = {sweep_random(8) == 0 ? SHORT : FAILS, any_call(t),
                        errors[sweep_random(sizeof errors / sizeof *errors)], sweep_random(2) != 0},
                f = sweep_all() && t->nth <= t->calls ? (fault){FAILS, t->nth, EIO, false} : some;
    const char *what = name_of(t, "io", f);

    check_told(t, run(t, f), what);
    return what;
}

static const char *
oom(trial *t)
{
    const fault f = {NO_MEMORY, 1 + (int)sweep_random((uint32_t)t->allocations), 0,
                     sweep_random(2) != 0};
    const char *what = name_of(t, "oom", f);

    check_told(t, run(t, f), what);
    return what;
}

/* Also after its end: what it has said is there is. */
static const char *
power(trial *t)
{
    const fault              f = {KILLED, 1 + (int)sweep_random((uint32_t)t->calls + 1), 0, false};
    const scavenge_power_way how = (scavenge_power_way)sweep_random(POWER_WAYS);
    const char              *what = name_of(t, "power", f);
    const child_end          end = run(t, f);

    scavenge_power_go(safe, how);
    if (end == CHILD_DONE && !check_target(t, what))
        sweep_violation("%s: it had come to its end, and not all is there", what);
    return what;
}

static const struct {
    const char *name;
    const char *(*strike)(trial *t);
    bool hides; /* something may pass for lost */
} strikes[] = {{"crash", crash, false},
               {"second", second, false},
               {"io", io, true},
               {"oom", oom, true},
               {"power", power, false}};

static void
one_point(trial *t, size_t which)
{
    const char *what;

    remove_tree(target);
    sweep_point();
    what = strikes[which].strike(t);
    sweep_tally(strikes[which].name);
    (void)check_target(t, what);
    if (t->older && !strikes[which].hides)
        sweep_violation(
            "%s: what was protected last is in the target, and something newer should be", what);
    check_sources(t, what);
    check_finishes(t, what);
}

/* ---- all of a scene ---- */

enum { SAMPLE = 1, SAMPLE_OF_ALL = 200 };

static int
points_of(const trial *t, size_t which)
{
    const int some = sweep_sample(sweep_all() ? SAMPLE_OF_ALL : SAMPLE);

    return sweep_all() && strikes[which].strike == io ? t->calls + some : some;
}

/* That of a rank: under its name, or where all files have one, below a directory of the rank. */
static const image_file *
brought_of(const trial *t, int rank)
{
    const char *name = t->s->job.ranks[rank].names[0];

    if (strcmp(name, t->s->job.ranks[(rank + 1) % SCENE_RANKS].names[0]) != 0)
        return image_find(&t->brought, name);
    return image_find(&t->brought, path_of("rank_%d/%s", rank, name));
}

/* What opening these files by all ranks would bring is brought. */
static void
check_brought(const trial *t)
{
    const bool renamed = strncmp(t->s->op->name, "take over", strlen("take over")) == 0;
    const bool opens = t->s->op->run == scene_recover || renamed;

    if (opens && t->status != 0)
        sweep_violation("%s: exit status %d where nothing happens", scene_name(t->s), t->status);
    for (int r = 0; r < SCENE_RANKS; r++) {
        const image_file *f = brought_of(t, r);
        const contents *new = &t->s->new, *old = &t->s->old;

        if (f == NULL ? opens
                      : (new->size[r] != f->size || memcmp(new->data[r], f->data, f->size) != 0) &&
                            (opens || old->data[r] == NULL || old->size[r] != f->size ||
                             memcmp(old->data[r], f->data, f->size) != 0))
            sweep_violation("%s: what is brought of rank %d is not what should be",
                            scene_name(t->s), r);
    }
}

static void
try_state(scene *s, bool beyond)
{
    trial t = {.s = s};

    remove_tree(target);
    t.sources = image_take(s->base);
    sweep_point();
    if (run(&t, (fault){NO_FAULT, 0, 0, false}) != CHILD_DONE)
        sweep_violation("%s: it crashes where nothing happens", scene_name(s));
    t.status = scavenge_came_to->status;
    t.seen = *tap_seen;
    t.calls = tap_seen->calls[0];
    t.allocations = *allocated;
    t.brought = image_take(target);
    if (!beyond)
        check_brought(&t);
    else if (t.status != EXITS_UNRECOVERABLE || !was_said())
        sweep_violation("%s: too many lost, and exit status %d", scene_name(s), t.status);
    check_sources(&t, scene_name(s));
    for (size_t which = 0; which < sizeof strikes / sizeof *strikes; which++)
        for (t.nth = 1; t.nth <= points_of(&t, which); t.nth++)
            one_point(&t, which);
    image_free(&t.sources);
    image_free(&t.brought);
}

/* Where all is well also with one node more lost than can be rebuilt: what can be had is brought, and the rest listed. */
static void
try_scene(scene *s)
{
    if ((s->op->flags & SCENE_ROOT) != 0)
        return; /* it brings one file of those of all ranks: another judge's matter */
    scene_begin(s);
    try_state(s, false);
    if (strcmp(s->op->name, "void") != 0)
        return;
    for (int r = 0; r <= scene_tolerance(s); r++)
        scene_lose(s, r);
    try_state(s, true);
}

int
main(int argc, char **argv)
{
    static const char *const launched[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};

    for (size_t i = 0; i < sizeof launched / sizeof *launched; i++)
        unsetenv(launched[i]); /* it would wait for others */
    sweep_begin("scavenge", argc, argv);
    scavenge_came_to = sweep_shared(sizeof *scavenge_came_to);
    allocated = sweep_shared(sizeof *allocated);
    struck = sweep_shared(sizeof *struck);
    safe = scratch_make();
    if (asprintf(&target, "%s/to", safe) < 0 || asprintf(&said, "%s/said", safe) < 0)
        return 1;
    scene_each(1, try_scene);
    remove_tree(safe);
    free(target);
    free(said);
    free(safe);
    return sweep_end();
}
