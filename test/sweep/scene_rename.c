/* scene_rename.c: see scene_rename.h. Where files have two names, the one that the job goes by is the new one. */
#include "scene_rename.h"

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

/* ---- renaming ---- */

/* One rank's part in it. */
typedef struct part {
    rset_dir     *dir;
    rset_comm     set;
    rset_local    from, to;
    rset_evidence of_old, of_new;
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
    st = rset_protect_renamed(&args, &p->from, &k->err);
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
rename_rank(rset_comm *world, void *arg)
{
    job      *j = arg;
    job_rank *k = &j->ranks[world->rank];
    part      p = {0};

    tap_transport(world);
    k->err = RSET_ERR_NONE;
    if (j->before != NULL)
        j->before(world->rank, j->arg);
    k->st = recover(world, &p.from, &p.of_old, k, begin(&p, k));
    if (k->st == RSET_OK)
        k->st = rename_all(world, &p, k);
    else if (may_be_done(k->st))
        k->st = recover(world, &p.to, &p.of_new, k, RSET_OK);
    rset_comm_free(&p.set);
    rset_evidence_free(&p.of_old);
    rset_evidence_free(&p.of_new);
    rset_dir_close(p.dir);
    if (j->after != NULL)
        j->after(world->rank, j->arg);
}

void
scene_rename(job *j)
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
    job_run(j, rename_rank);
}
