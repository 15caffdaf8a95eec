/* scene_rename.c: see scene_rename.h. Where files have two names, the one that the job goes by is the new one. */
#include "scene_rename.h"

#include "change.h"
#include "names/names.h"
#include "scene_kept.h"
#include "scene_past.h"
#include "tap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- by hand ---- */

bool
scene_renamed_by_hand(scene *s)
{
    scene_protected_once(s);
    for (int r = 0; r < SCENE_RANKS; r++) {
        const job_rank *one = &s->job.ranks[r];
        const char     *red = strdup(job_redundancy(&s->job, r));
        const char     *desc = strdup(job_descriptor(&s->job, r));
        const size_t    n = strlen(one->dir) + 1 + strlen(one->prefix);

        assert_int_equal(rename(red, path_of("%s/written_%d.h5.%s", one->dir, r, red + n)), 0);
        assert_int_equal(rename(desc, path_of("%s/written_%d.h5.%s", one->dir, r, desc + n)), 0);
        unlink(path_of("%s/%sredset.names", one->dir, one->prefix));
        free((char *)red);
        free((char *)desc);
    }
    return true;
}

bool
scene_renamed_by_hand_and_a_node_lost(scene *s)
{
    scene_renamed_by_hand(s);
    scene_lose_node(s, 1);
    return scene_tolerates(s, 1);
}

/* ---- two names ---- */

bool
scene_has_two_names(const job *j)
{
    return j->ranks[0].other_name != NULL;
}

void
scene_swap_names(job *j)
{
    for (int r = 0; r < SCENE_RANKS; r++) {
        job_rank *k = &j->ranks[r];
        char     *name = k->names[0], *prefix = k->prefix;

        k->names[0] = k->other_name;
        k->prefix = k->other_prefix;
        k->other_name = name;
        k->other_prefix = prefix;
    }
}

static void
have_two_names(scene *s)
{
    for (int r = 0; r < SCENE_RANKS; r++) {
        job_rank *k = &s->job.ranks[r];

        assert_true(asprintf(&k->other_name, "final_%d.h5", r) > 0);
        assert_true(asprintf(&k->other_prefix, "final_%d.h5.", r) > 0);
    }
}

bool
scene_about_to_rename(scene *s)
{
    have_two_names(s);
    scene_protected_once(s);
    scene_swap_names(&s->job);
    return true;
}

bool
scene_about_to_rename_without_a_node(scene *s)
{
    scene_about_to_rename(s);
    scene_lose_node(s, 1);
    return scene_tolerates(s, 1);
}

bool
scene_about_to_rename_over(scene *s)
{
    have_two_names(s);
    scene_swap_names(&s->job);
    scene_protect_version(s, 1);
    s->old = scene_now(s);
    scene_swap_names(&s->job);
    scene_protect_version(s, 2);
    s->new = scene_now(s);
    scene_swap_names(&s->job);
    return true;
}

/* ---- an older generation ---- */

/* All ranks' redundancy of version 2, while the journals lead back to version 1, which is kept. */
static void
protect_keeping(scene *s)
{
    s->job.keep = 2;
    if (job_protect(&s->job) != RSET_OK)
        fail_msg("%s: %s", scene_name(s), job_text(&s->job));
    s->job.keep = 0;
}

/* As for whoever is going to open it. */
static void
make_whole(const job_rank *k, uint64_t generation)
{
    rset_dir   *dir = NULL;
    rset_err    err = RSET_ERR_NONE;
    rset_status st = rset_dir_open(k->dir, false, &dir, &err);
    rset_local  local = {.dir = dir,
                         .prefix = k->prefix,
                         .nfiles = 1,
                         .names = (const char *const *)k->names,
                         .paths = (const char *const *)k->names};

    if (st == RSET_OK)
        st = rset_kept_make_ready(&local, generation, false, &err);
    if (st != RSET_OK)
        fail_msg("%s", err.text);
    rset_dir_close(dir);
}

static void
call_by_generation(job_rank *k)
{
    k->other_name = rset_name_of(RSET_NAME_DATA, k->prefix, k->desc.generation);
    assert_non_null(k->other_name);
    assert_true(asprintf(&k->other_prefix, "%s.", k->other_name) > 0);
}

bool
scene_about_to_restore(scene *s)
{
    uint64_t generation;

    scene_protect_version(s, 1);
    s->new = scene_now(s);
    for (int r = 0; r < SCENE_RANKS; r++)
        call_by_generation(&s->job.ranks[r]);
    generation = s->job.ranks[0].desc.generation;
    scene_write_in_place(s, 2, protect_keeping, false);
    s->old = scene_now(s);
    for (int r = 0; r < SCENE_RANKS; r++)
        make_whole(&s->job.ranks[r], generation);
    return true;
}

/* Of three the one in the middle is restored: what is older rests on it, and is the one that this does not concern. */
bool
scene_about_to_restore_kept(scene *s)
{
    contents oldest, again;
    uint64_t generation;

    s->job.update = true;
    change_little(true);
    scene_keep(s);
    scene_keep_commit(s, false);
    for (int r = 0; r < SCENE_RANKS; r++)
        call_by_generation(&s->job.ranks[r]);
    generation = s->job.ranks[0].desc.generation;
    again = scene_now(s);
    scene_keep_commit(s, false);
    change_little(false);
    s->new = again;
    oldest = s->older[0];
    s->older[0] = s->older[1];
    s->older[1] = oldest;
    s->job.change = NULL;
    s->job.settle = NULL;
    for (int r = 0; r < SCENE_RANKS; r++)
        make_whole(&s->job.ranks[r], generation);
    return true;
}

/* Of the newest, and of nothing else. */
static void
lose_newest(const scene *s, int r)
{
    assert_int_equal(unlink(job_data(&s->job, r)), 0);
    assert_int_equal(unlink(job_redundancy(&s->job, r)), 0);
    assert_int_equal(unlink(job_descriptor(&s->job, r)), 0);
}

bool
scene_about_to_fall_back(scene *s)
{
    scene_about_to_restore(s);
    for (int r = 0; r <= scene_tolerance(s); r++)
        lose_newest(s, r);
    return true;
}

bool
scene_about_to_fall_back_without_a_node(scene *s)
{
    scene_about_to_fall_back(s);
    scene_lose_node(s, 0);
    return scene_tolerates(s, 1);
}

/* ---- renaming ---- */

/* One rank's part in it. */
typedef struct part {
    rset_dir     *dir;
    rset_comm     set;
    rset_local    from, to;
    rset_evidence of_old, of_new;
    bool          lost; /* what has the new name cannot be had */
} part;

static rset_local
local_of(rset_dir *dir, const job_rank *k, const char *prefix, char *const *name)
{
    return (rset_local){.dir = dir,
                        .prefix = prefix,
                        .nfiles = 1,
                        .names = (const char *const *)name,
                        .paths = (const char *const *)name,
                        .attrs = k->attrs};
}

static rset_status
begin(part *p, job_rank *k)
{
    rset_status st = rset_dir_open(k->dir, true, &p->dir, &k->err);

    p->from = local_of(p->dir, k, k->other_prefix, &k->other_name);
    p->to = local_of(p->dir, k, k->prefix, k->names);
    if (st == RSET_OK)
        st = rset_survey_local(&p->from, &p->of_old, &k->err);
    return st == RSET_OK ? rset_survey_local(&p->to, &p->of_new, &k->err) : st;
}

/* All files of that name are in order, as protected. */
static rset_status
recover(rset_comm *world, const rset_local *local, rset_evidence *ev, job_rank *k,
        rset_status before)
{
    const rset_recover_args args = {.world = world,
                                    .local = local,
                                    .evidence = ev,
                                    .content = RSET_CONTENT_ALL,
                                    .required = true,
                                    .tidy = true,
                                    .host = "host",
                                    .before = before};
    rset_status             st = rset_recover(&args, &k->out, &k->err);

    if (st == RSET_OK && !k->out.protected_ && !k->out.reprotect)
        st = rset_fail(&k->err, RSET_DAMAGED, "not protected: %.400s", k->out.note);
    return st;
}

/* An older generation gets the name of the newest one, which stays as well: it is kept, or put aside. */
static rset_status
take_name(rset_protect_args *args, part *p, job_rank *k)
{
    rset_generations all;
    rset_status      st = args->before;

    if (rset_name_kept(k->other_name) == 0)
        return rset_protect_renamed(args, &p->from, &k->err);
    rset_generations_of(&p->of_new, &all);
    st = rset_agree(args->world, st, "host", &k->err);
    if (st == RSET_OK)
        st = rset_generations_of_all(args->world, "host", &all, &k->err);
    args->keep = p->lost ? 0 : RSET_KEEP_ALL;
    return st == RSET_OK ? rset_protect_restored(args, &p->from, p->lost ? all.at[0] : 0, &k->err)
                         : st;
}

static rset_status
rename_all(rset_comm *world, part *p, job_rank *k)
{
    rset_protect_args args = {.world = world,
                              .set = &p->set,
                              .ranks = k->members,
                              .local = &p->to,
                              .desc = k->desc,
                              .extra = true,
                              .host = "host"};
    rset_recover_args finish = {
        .world = world, .local = &p->to, .evidence = &p->of_new, .host = "host"};
    rset_status st = rset_finish_commit(&finish, &k->err);

    if (st != RSET_OK)
        return st;
    args.before = rset_comm_subset(world, k->members, k->desc.members, &p->set, &k->err);
    st = take_name(&args, p, k);
    k->out = (rset_outcome){.protected_ = st == RSET_OK};
    return st;
}

/* Where nothing can be had under the old name, the files have been renamed before. */
static bool
may_be_done(rset_status st)
{
    return st == RSET_ABSENT || st == RSET_LOST || st == RSET_DAMAGED;
}

static void
rename_files(rset_comm *world, part *p, job_rank *k)
{
    k->st = recover(world, &p->from, &p->of_old, k, begin(p, k));
    if (k->st == RSET_OK)
        k->st = rename_all(world, p, k);
    else if (may_be_done(k->st))
        k->st = recover(world, &p->to, &p->of_new, k, RSET_OK);
}

/* As an open with fallback=yes. */
static void
fall_back(rset_comm *world, part *p, job_rank *k)
{
    k->st = recover(world, &p->to, &p->of_new, k, begin(p, k));
    p->lost = k->st == RSET_LOST;
    if (!p->lost)
        return;
    k->err = RSET_ERR_NONE;
    k->st = recover(world, &p->from, &p->of_old, k, RSET_OK);
    if (k->st == RSET_OK)
        k->st = rename_all(world, p, k);
}

static void
run_rank(rset_comm *world, job *j, void (*act)(rset_comm *world, part *p, job_rank *k))
{
    job_rank *k = &j->ranks[world->rank];
    part      p = {0};

    tap_transport(world);
    k->err = RSET_ERR_NONE;
    if (j->before != NULL)
        j->before(world->rank, j->arg);
    act(world, &p, k);
    rset_comm_free(&p.set);
    rset_evidence_free(&p.of_old);
    rset_evidence_free(&p.of_new);
    rset_dir_close(p.dir);
    if (j->after != NULL)
        j->after(world->rank, j->arg);
}

static void
rename_rank(rset_comm *world, void *arg)
{
    run_rank(world, arg, rename_files);
}

static void
fall_back_rank(rset_comm *world, void *arg)
{
    run_rank(world, arg, fall_back);
}

static void
run(job *j, void (*body)(rset_comm *world, void *arg))
{
    uint64_t generation;

    job_next_generation(j);
    generation = j->ranks[0].desc.generation;
    scene_swap_names(j);
    job_next_generation(j);
    scene_swap_names(j);
    if (rset_generation_newer(j->ranks[0].desc.generation, generation))
        generation = j->ranks[0].desc.generation;
    for (int r = 0; r < SCENE_RANKS; r++)
        j->ranks[r].desc.generation = generation;
    job_run(j, body);
}

void
scene_rename(job *j)
{
    run(j, rename_rank);
}

void
scene_fall_back(job *j)
{
    run(j, fall_back_rank);
}
