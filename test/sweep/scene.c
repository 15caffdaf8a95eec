/* scene.c: see scene.h. The operations are in scene_operations.c. */
#include "scene.h"

#include "change.h"
#include "scene_rename.h"
#include "tap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sweep.h"

const scene_kind scene_kinds[SCENE_KINDS] = {{&rset_scheme_single, 0},
                                             {&rset_scheme_partner, 1},
                                             {&rset_scheme_xor, 1},
                                             {&rset_scheme_rs, 2}};
const scene_size scene_sizes[SCENE_SIZES] = {{"small", {10000, 7001, 10000, 5}},
                                             {"large", {300000, 150001, 300000, 70000}}};

scene_report *scene_said;

static void
contents_free(contents *c)
{
    for (int r = 0; r < SCENE_RANKS; r++)
        free(c->data[r]);
    *c = (contents){0};
}

static void
close_scene(scene *s)
{
    remove_tree(s->base);
    free(s->base);
    image_free(&s->start);
    contents_free(&s->old);
    contents_free(&s->new);
    contents_free(&s->with_old);
    contents_free(&s->with_new);
    for (int i = 0; i < SCENE_OLDER; i++) {
        contents_free(&s->older[i]);
        contents_free(&s->with_older[i]);
    }
    job_free(&s->job);
    job_free(&s->with);
}

static bool
open_scene(scene *s, const scene_operation *op, const scene_kind *kind, const scene_size *size)
{
    const char *only = getenv("SWEEP_ONLY");
    bool        there;

    *s =
        (scene){.op = op, .kind = kind, .size = size, .base = scratch_make(), .reopen = scene_open};
    if (scene_said == NULL)
        scene_said = sweep_shared(sizeof *scene_said);
    job_init(&s->job, s->base, SCENE_RANKS, kind->scheme, kind->parity, SCENE_RANKS);
    there = (only == NULL || strstr(scene_name(s), only) != NULL) && op->prepare(s);
    s->start = image_take(s->base);
    if (!there)
        close_scene(s);
    return there;
}

/* With SWEEP_HALF=1 one operation is tried with SINGLE and PARTNER, the next with XOR and RS; with 2 it is the other way round, as in a
 * sweep whose name is of odd length. So in one run of all sweeps each operation meets each scheme in some of them, and in two runs in
 * each. */
static bool
is_in_half(int op, int kind)
{
    const char *half = sweep_all() ? NULL : getenv("SWEEP_HALF");

    return half == NULL || (op + kind / 2 + (int)strlen(sweep_name()) + atoi(half)) % 2 != 0;
}

void
scene_each(int sizes, void (*try)(scene *s))
{
    scene s;

    for (int op = 0; op < scene_noperations; op++)
        for (int kind = 0; kind < SCENE_KINDS; kind++)
            for (int size = 0; size < sizes && is_in_half(op, kind); size++)
                if (open_scene(&s, &scene_operations[op], &scene_kinds[kind], &scene_sizes[size])) {
                    try(&s);
                    sweep_progress(scene_name(&s));
                    close_scene(&s);
                }
}

const char *
scene_name(const scene *s)
{
    static char name[128];

    snprintf(name, sizeof name, "%s %d, %s, %s", s->kind->scheme->name, s->kind->parity,
             s->size->name, s->op->name);
    return name;
}

/* ---- directories ---- */

void
scene_put(const scene *s, const image *img)
{
    for (int r = 0; r < SCENE_RANKS; r++)
        scene_lose(s, r);
    image_put(img, s->base, NULL);
}

void
scene_begin(const scene *s)
{
    scene_put(s, &s->start);
    memset(scene_said, 0, sizeof *scene_said);
    change_reset();
}

void
scene_lose(const scene *s, int rank)
{
    remove_tree(s->job.ranks[rank].dir);
    mkdir(s->job.ranks[rank].dir, 0777);
}

void
scene_write(scene *s, int version)
{
    job_write_data(&s->job, s->size->bytes, SCENE_RANKS, version);
    for (int r = 0; r < SCENE_RANKS; r++) {
        s->attrs[r] = (rset_attrs){.uid = geteuid(),
                                   .gid = getegid(),
                                   .mode = 0100000 | image_mode_of(job_data(&s->job, r)),
                                   .mtime_secs = 1000000000 + (uint64_t)version,
                                   .size = s->size->bytes[r]};
        s->job.ranks[r].attrs = &s->attrs[r];
    }
}

int
scene_tolerance(const scene *s)
{
    return s->kind->scheme == &rset_scheme_single ? 0 : s->kind->parity;
}

const char *
scene_data(const scene *s, int rank)
{
    const job_rank *k = &s->job.ranks[rank];

    return path_of("%s/%s", k->dir, scene_said->by_other ? k->other_name : k->names[0]);
}

bool
scene_files_there(const scene *s)
{
    for (int r = 0; r < SCENE_RANKS; r++)
        if (!exists(scene_data(s, r)))
            return false;
    return true;
}

bool
scene_holds(const contents *c, int r, const uint8_t *data, size_t size)
{
    return c->data[r] != NULL && c->size[r] == size && memcmp(c->data[r], data, size) == 0;
}

/* SCENE_OLD or SCENE_NEW bits of the file at `path`, which is rank r's. */
static unsigned
look_at(const char *path, int r, const contents *old, const contents *new, char *why)
{
    size_t   size = 0;
    uint8_t *data = exists(path) ? read_file(path, &size) : NULL;
    unsigned is = 0;

    if (data != NULL)
        is = (scene_holds(old, r, data, size) ? SCENE_OLD : 0) |
             (scene_holds(new, r, data, size) ? SCENE_NEW : 0);
    if (is == 0)
        snprintf(why, 256, "the file of rank %d is %s", r,
                 data == NULL ? "missing" : "neither old nor new");
    free(data);
    return is;
}

unsigned
scene_look(const scene *s, char *why)
{
    unsigned all = SCENE_OLD | SCENE_NEW;

    snprintf(why, 256, "a mixture of old and new files");
    for (int r = 0; r < SCENE_RANKS; r++)
        all &= look_at(scene_data(s, r), r, &s->old, &s->new, why);
    for (int r = 0; s->job.with != NULL && r < SCENE_RANKS; r++)
        all &= look_at(job_data(&s->with, r), r, &s->with_old, &s->with_new, why);
    return all;
}

/* ---- running ---- */

static void (*when_done)(int rank);
static const scene *running;

static void
begin_rank(int rank, void *arg)
{
    (void)arg;
    tap_enter(rank);
}

static void
end_rank(int rank, void *arg)
{
    const job_rank *k = &running->job.ranks[rank];

    (void)arg;
    tap_leave();
    scene_said->rank[rank].st = k->st;
    scene_said->rank[rank].any = k->any;
    scene_said->rank[rank].asks = k->asks;
    scene_said->rank[rank].out = k->out;
    memcpy(scene_said->rank[rank].text, k->err.text, sizeof k->err.text);
    scene_said->rank[rank].done = true;
    if (when_done != NULL)
        when_done(rank);
}

void
scene_run(scene *s, void (*run)(job *j), int attempt, void (*done)(int rank))
{
    when_done = done;
    running = s;
    s->job.salt = (uint64_t)attempt;
    s->job.before = begin_rank;
    s->job.after = end_rank;
    run(&s->job);
}

bool
scene_reported(void)
{
    for (int r = 0; r < SCENE_RANKS; r++)
        if (scene_said->rank[r].done && scene_said->rank[r].st == RSET_OK &&
            scene_said->rank[r].out.protected_)
            return true;
    return false;
}

bool
scene_timed_out(void)
{
    static const char *const said[] = {"gave up after", "no data came from rank",
                                       "has taken data of rank"};

    for (int r = 0; r < SCENE_RANKS; r++)
        for (size_t i = 0; i < sizeof said / sizeof *said; i++)
            if (strstr(scene_said->rank[r].text, said[i]) != NULL)
                return true;
    return false;
}

static void
recover_tapped(rset_comm *world, void *j)
{
    tap_transport(world);
    job_body_recover(world, j);
}

static void
protect_tapped(rset_comm *world, void *j)
{
    tap_transport(world);
    job_body_protect(world, j);
}

void
scene_recover(job *j)
{
    job_run(j, recover_tapped);
}

static bool
any_opened(const job *j)
{
    for (int r = 0; r < j->n; r++)
        if (j->ranks[r].st == RSET_OK)
            return true;
    return false;
}

void
scene_open(job *j)
{
    scene_recover(j);
    if (!scene_has_two_names(j) || any_opened(j))
        return;
    scene_said->by_other = true;
    scene_swap_names(j);
    scene_recover(j);
}

void
scene_protect(job *j)
{
    job_next_generation(j);
    job_run(j, protect_tapped);
}
