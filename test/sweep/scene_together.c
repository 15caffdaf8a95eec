/* scene_together.c: see scene_together.h. */
#include "scene_together.h"

#include "change.h"
#include "scene_past.h"
#include "tap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sweep.h"

/* ---- all open both ---- */

/* What this rank came to with the second file is added to what it came to with the first. */
static void
add_outcome(job_rank *k, const job_rank *second)
{
    if (second->st != RSET_OK) {
        k->st = second->st;
        k->err = second->err;
    }
    k->any = k->any || second->any;
    k->asks = k->asks && second->asks;
    k->out.protected_ = k->out.protected_ && second->out.protected_;
    k->out.reprotect = k->out.reprotect || second->out.reprotect;
    if (k->out.note[0] == '\0')
        memcpy(k->out.note, second->out.note, sizeof k->out.note);
}

/* Where the first is refused, the program ends. */
static void
open_in_order(rset_comm *world, job *j, job *first, job *then)
{
    tap_transport(world);
    if (j->before != NULL)
        j->before(world->rank, j->arg);
    job_recover_rank(world, first);
    if (first->ranks[world->rank].st == RSET_OK) {
        scene_said->first_opened = true;
        job_recover_rank(world, then);
        add_outcome(&first->ranks[world->rank], &then->ranks[world->rank]);
    }
    if (first != j) {
        job_rank  *k = &j->ranks[world->rank];
        const bool replaced = first->ranks[world->rank].st == RSET_OK && k->out.replaced;

        k->st = first->ranks[world->rank].st;
        k->err = first->ranks[world->rank].err;
        k->any = first->ranks[world->rank].any;
        k->asks = first->ranks[world->rank].asks;
        k->out = first->ranks[world->rank].out;
        k->out.replaced = replaced; /* this one is asked of the files of the job itself */
    }
    if (j->after != NULL)
        j->after(world->rank, j->arg);
}

static void
first_first(rset_comm *world, void *arg)
{
    job *j = arg;

    open_in_order(world, j, j, j->with);
}

static void
second_first(rset_comm *world, void *arg)
{
    job *j = arg;

    open_in_order(world, j, j->with, j);
}

static void
open_both(job *j)
{
    j->with->timeout = j->timeout;
    job_run(j, first_first);
}

static void
open_both_second_first(job *j)
{
    j->with->timeout = j->timeout;
    job_run(j, second_first);
}

/* ---- how operations begin ---- */

static void
have_two(scene *s)
{
    job_init(&s->with, s->base, SCENE_RANKS, s->kind->scheme, s->kind->parity, SCENE_RANKS);
    for (int r = 0; r < SCENE_RANKS; r++) {
        job_rank *k = &s->with.ranks[r];

        free(k->names[0]);
        free(k->prefix);
        assert_true(asprintf(&k->names[0], "parts_%d.h5", r) > 0);
        assert_true(asprintf(&k->prefix, "parts_%d.h5.", r) > 0);
    }
    s->with.second = true;
    s->job.with = &s->with;
    s->reopen = open_both;
}

static contents
second_now(const scene *s)
{
    contents c = {0};

    for (int r = 0; r < SCENE_RANKS; r++)
        c.data[r] = read_file(job_data(&s->with, r), &c.size[r]);
    return c;
}

static void
protect_both(scene *s, bool protects)
{
    scene_write(s, 1);
    job_write_data(&s->with, s->size->bytes, SCENE_RANKS, 7);
    for (int r = 0; r < SCENE_RANKS; r++) {
        s->with_attrs[r] = s->attrs[r];
        s->with.ranks[r].attrs = &s->with_attrs[r];
    }
    if (protects && job_protect(&s->job) != RSET_OK)
        fail_msg("%s: %s", scene_name(s), job_text(&s->job));
    s->old = scene_now(s);
    s->with_old = second_now(s);
}

/* How one of the two files of each rank changes. */
typedef enum way { REWRITE, UPDATE } way;

static void
will_change(job *j, way how, const contents *old, contents *new, rset_attrs *attrs)
{
    for (int r = 0; r < SCENE_RANKS; r++) {
        const int i = r + (j->second ? CHANGE_SECOND : 0);

        new->data[r] = how == REWRITE
                           ? change_rewritten(i, old->size[r], &new->size[r])
                           : change_updated(i, old->data[r], old->size[r], &new->size[r]);
        attrs[r].size = new->size[r];
        change_from(i, old->size[r], new->data[r], new->size[r]);
    }
    j->change = how == REWRITE ? change_rewrite : change_update;
    j->settle = change_settle;
}

static void
will_change_both(scene *s, way first, way second)
{
    will_change(&s->job, first, &s->old, &s->new, s->attrs);
    will_change(&s->with, second, &s->with_old, &s->with_new, s->with_attrs);
}

bool
scene_about_to_rewrite_and_update(scene *s)
{
    have_two(s);
    protect_both(s, true);
    will_change_both(s, REWRITE, UPDATE);
    return true;
}

/* What both were is an older generation from now on. */
static void
commit_both(scene *s, way first, way second)
{
    will_change_both(s, first, second);
    if (job_protect(&s->job) != RSET_OK)
        fail_msg("%s: %s", scene_name(s), job_text(&s->job));
    s->with_older[s->nolder] = s->with_old;
    s->older[s->nolder++] = s->old;
    s->old = s->new;
    s->with_old = s->with_new;
    s->new = s->with_new = (contents){0};
}

bool
scene_about_to_rewrite_and_update_kept(scene *s)
{
    have_two(s);
    s->job.keep = s->with.keep = SCENE_OLDER + 1;
    protect_both(s, true);
    commit_both(s, UPDATE, UPDATE);
    commit_both(s, REWRITE, UPDATE);
    will_change_both(s, REWRITE, UPDATE);
    return true;
}

bool
scene_about_to_update_and_rewrite(scene *s)
{
    have_two(s);
    protect_both(s, true);
    change_little(true);
    will_change(&s->job, UPDATE, &s->old, &s->new, s->attrs);
    change_little(false);
    s->job.update = true;
    will_change(&s->with, REWRITE, &s->with_old, &s->with_new, s->with_attrs);
    s->reopen = open_both_second_first;
    return true;
}

bool
scene_about_to_write_two_first(scene *s)
{
    have_two(s);
    protect_both(s, false);
    s->new = scene_now(s);
    s->with_new = second_now(s);
    s->unsynced = true;
    return true;
}
