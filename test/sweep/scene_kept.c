/* scene_kept.c: see scene_kept.h. */
#include "scene_kept.h"

#include "change.h"
#include "scene_changes.h"
#include "scene_past.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

void
scene_keep(scene *s)
{
    s->job.keep = SCENE_OLDER + 1;
    scene_protect_version(s, 1);
    s->old = scene_now(s);
}

void
scene_keep_commit(scene *s, bool rewrite)
{
    scene_will_change(s, rewrite);
    s->job.change = rewrite ? change_rewrite : change_update;
    if (job_protect(&s->job) != RSET_OK)
        fail_msg("%s: %s", scene_name(s), job_text(&s->job));
    s->older[s->nolder++] = s->old;
    s->old = s->new;
    s->new = (contents){0};
}

bool
scene_about_to_rewrite_kept(scene *s)
{
    scene_keep(s);
    scene_keep_commit(s, true);
    scene_keep_commit(s, false);
    scene_will_change(s, true);
    s->job.change = change_rewrite;
    return true;
}

bool
scene_about_to_update_kept(scene *s)
{
    s->job.update = true;
    scene_keep(s);
    change_little(true);
    scene_keep_commit(s, false);
    scene_keep_commit(s, true);
    scene_will_change(s, false);
    change_little(false);
    s->job.change = change_update;
    return true;
}

/* Both older ones are what leads back from the newest, data and redundancy. */
static void
about_to_change_a_chain(scene *s, bool rewrite)
{
    s->job.update = true;
    scene_keep(s);
    change_little(true);
    scene_keep_commit(s, false);
    scene_keep_commit(s, false);
    change_little(!rewrite);
    scene_will_change(s, rewrite);
    change_little(false);
}

bool
scene_about_to_commit_open_kept(scene *s)
{
    about_to_change_a_chain(s, false);
    s->job.change = change_update;
    s->job.settle = change_go_on;
    return true;
}

bool
scene_about_to_write_on_kept(scene *s)
{
    about_to_change_a_chain(s, false);
    s->job.change = change_update_and_on;
    s->job.settle = change_settle_on;
    return true;
}

bool
scene_about_to_write_on_anew_kept(scene *s)
{
    about_to_change_a_chain(s, true);
    s->job.change = change_rewrite_and_on;
    s->job.settle = change_settle_on;
    return true;
}
