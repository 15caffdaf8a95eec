/* scene_changes.c: see scene_changes.h. */
#include "scene_changes.h"

#include "change.h"
#include "names/names.h"
#include "scene_past.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

void
scene_will_change(scene *s, bool rewrite)
{
    for (int r = 0; r < SCENE_RANKS; r++) {
        s->new.data[r] = rewrite
                             ? change_rewritten(r, s->old.size[r], &s->new.size[r])
                             : change_updated(r, s->old.data[r], s->old.size[r], &s->new.size[r]);
        s->attrs[r].size = s->new.size[r];
        change_from(r, s->old.size[r], s->new.data[r], s->new.size[r]);
    }
    s->job.settle = change_settle;
}

/* Version 1 is protected. */
static void
about_to_change(scene *s, bool rewrite)
{
    scene_protect_version(s, 1);
    s->old = scene_now(s);
    scene_will_change(s, rewrite);
}

bool
scene_about_to_rewrite(scene *s)
{
    about_to_change(s, true);
    s->job.change = change_rewrite;
    return true;
}

bool
scene_about_to_rewrite_aside(scene *s)
{
    scene_about_to_rewrite(s);
    s->job.keep = 1;
    s->job.aside = true;
    return true;
}

/* A job died in the commit of what it had written beside when these ranks had published; and files are created once
 * more, without having been opened. */
static bool
about_to_rewrite_over_a_commit(scene *s, unsigned published)
{
    scene_about_to_rewrite(s);
    s->job.settle = change_die;
    job_die_publishing(&s->job, published);
    if (published == 0) /* one was not ready: with all of them it would be decided on */
        unlink(path_of("%s" RSET_SUFFIX_NEW, job_redundancy(&s->job, 3)));
    for (int r = 0; published != 0 && r < SCENE_RANKS; r++) {
        free(s->old.data[r]);
        s->old.data[r] = s->new.data[r];
        s->old.size[r] = s->new.size[r];
    }
    for (int r = 0; published == 0 && r < SCENE_RANKS; r++)
        free(s->new.data[r]);
    scene_will_change(s, true);
    for (int r = 0; r < SCENE_RANKS; r++)
        s->new.data[r][0] ^= 1;
    s->job.finish = true;
    return true;
}

bool
scene_about_to_rewrite_over_a_decided_commit(scene *s)
{
    return about_to_rewrite_over_a_commit(
        s, 1U << 1 | 1U << 3); /* with either lost it is decided on still */
}

bool
scene_about_to_rewrite_over_a_vain_commit(scene *s)
{
    return about_to_rewrite_over_a_commit(s, 0);
}

/* The same with the very first commit of these files. */
bool
scene_about_to_rewrite_over_a_first_commit(scene *s)
{
    scene_write(s, 1);
    s->old = scene_now(s);
    s->job.finish = true;
    job_die_publishing(&s->job, 1U << 1 | 1U << 3);
    scene_will_change(s, true);
    s->job.change = change_rewrite;
    return true;
}

/* Node 1 was lost, and the program creates its files without having opened them. */
bool
scene_about_to_rewrite_without_a_node(scene *s)
{
    scene_about_to_rewrite(s);
    scene_lose_node(s, 1);
    return scene_tolerates(s, 1);
}

bool
scene_about_to_update(scene *s)
{
    about_to_change(s, false);
    s->job.change = change_update;
    return true;
}

bool
scene_about_to_write_on_anew(scene *s)
{
    about_to_change(s, true);
    s->job.change = change_rewrite_and_on;
    s->job.settle = change_settle_on;
    return true;
}

bool
scene_about_to_write_on(scene *s)
{
    about_to_change(s, false);
    s->job.change = change_update_and_on;
    s->job.settle = change_settle_on;
    return true;
}

bool
scene_about_to_rewrite_unmet(scene *s)
{
    about_to_change(s, true);
    s->job.change = change_rewrite_unmet;
    return true;
}

bool
scene_about_to_update_unmet(scene *s)
{
    about_to_change(s, false);
    s->job.change = change_update_unmet;
    return true;
}

/* All ranks changed their files in place and closed them, but could not protect them. Now they are changed
 * once more. */
bool
scene_about_to_update_again(scene *s)
{
    about_to_change(s, false);
    s->job.change = change_update_unmet;
    job_next_generation(&s->job);
    job_run(&s->job, job_body_protect);
    s->job.change = change_update;
    return true;
}

/* Little will change, and only that is encoded. */
bool
scene_about_to_update_little(scene *s)
{
    change_little(true);
    about_to_change(s, false);
    change_little(false);
    s->job.change = change_update;
    s->job.update = true;
    return true;
}

/* The same of files that stay open: when that is protected they change once more, and then the job dies. */
bool
scene_about_to_commit_open(scene *s)
{
    scene_about_to_update_little(s);
    s->job.settle = change_go_on;
    return true;
}

bool
scene_about_to_write_on_little(scene *s)
{
    scene_about_to_update_little(s);
    s->job.change = change_update_and_on;
    s->job.settle = change_settle_on;
    return true;
}

/* The same, and the job died when all ranks had it complete; those in `decided` had gone on to put it into
 * their redundancy files. */
static void
update_decided(scene *s, unsigned decided)
{
    scene_about_to_update_little(s);
    s->job.settle = change_die;
    job_die_decided(&s->job, decided);
    s->job.change = NULL;
    s->job.settle = NULL;
    s->job.update = false;
}

bool
scene_update_decided_by_one(scene *s)
{
    update_decided(s, 1U << 1);
    return true;
}

bool
scene_update_decided_and_a_node_lost(scene *s)
{
    update_decided(s, 1U << 1 | 1U << 3);
    scene_lose_node(s, 2);
    return scene_tolerates(s, 1);
}

/* The job died when ranks 1 and 3 were about to protect what they had changed; the others had not begun. */
bool
scene_update_cut_short(scene *s)
{
    about_to_change(s, false);
    s->job.change = change_update_of_some;
    s->job.settle = change_die;
    job_next_generation(&s->job);
    job_run(&s->job, job_body_protect);
    s->job.change = NULL;
    s->job.settle = NULL;
    for (int r = 0; r < SCENE_RANKS; r++) { /* that is how it shall come out */
        s->attrs[r].size = s->new.size[r] = s->old.size[r];
        s->new.data[r] = realloc(s->new.data[r], s->old.size[r]);
        assert_non_null(s->new.data[r]);
        memcpy(s->new.data[r], s->old.data[r], s->old.size[r]);
    }
    return true;
}

/* Rank 3 has closed its file in another step than the others: all go back. */
bool
scene_closed_in_two_steps(scene *s)
{
    scene_last_step = 2;
    scene_changed(s);
    scene_last_step = 1;
    for (int r = 0; r < SCENE_RANKS; r++) {
        free(s->new.data[r]);
        s->new.size[r] = s->attrs[r].size = s->old.size[r];
        s->new.data[r] = malloc(s->old.size[r]);
        assert_non_null(s->new.data[r]);
        memcpy(s->new.data[r], s->old.data[r], s->old.size[r]);
    }
    return true;
}
