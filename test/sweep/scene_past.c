/* scene_past.c: see scene_past.h. */
#include "scene_past.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void
scene_one_name(scene *s)
{
    for (int r = 0; r < SCENE_RANKS; r++) {
        job_rank *k = &s->job.ranks[r];

        free(k->names[0]);
        free(k->prefix);
        k->names[0] = strdup("ckpt.h5");
        k->prefix = strdup("ckpt.h5.");
        assert_true(k->names[0] != NULL && k->prefix != NULL);
    }
}

void
scene_turn(const scene *s)
{
    char from[SCENE_RANKS][256], aside[256];

    for (int r = 0; r < SCENE_RANKS; r++)
        snprintf(from[r], sizeof from[r], "%s", s->job.ranks[r].dir);
    snprintf(aside, sizeof aside, "%s/aside", s->base);
    assert_int_equal(rename(from[SCENE_RANKS - 1], aside), 0);
    for (int r = SCENE_RANKS - 1; r > 0; r--)
        assert_int_equal(rename(from[r - 1], from[r]), 0);
    assert_int_equal(rename(aside, from[0]), 0);
}

contents
scene_now(const scene *s)
{
    contents c = {0};

    for (int r = 0; r < SCENE_RANKS; r++)
        c.data[r] = read_file(job_data(&s->job, r), &c.size[r]);
    return c;
}

void
scene_protect_version(scene *s, int version)
{
    scene_write(s, version);
    if (job_protect(&s->job) != RSET_OK)
        fail_msg("%s: %s", scene_name(s), job_text(&s->job));
}

void
scene_protected_once(scene *s)
{
    scene_protect_version(s, 1);
    s->old = scene_now(s);
    s->new = scene_now(s);
}

program
program_begin(const scene *s, int r, bool keep)
{
    const job_rank *k = &s->job.ranks[r];
    const char     *names[] = {k->names[0]};
    rset_local      local = {.prefix = k->prefix, .nfiles = 1, .names = names, .paths = names};
    rset_err        err = RSET_ERR_NONE;
    program         p = {0};

    assert_int_equal(rset_dir_open(k->dir, false, &p.dir, &err), RSET_OK);
    assert_int_equal(rset_survey(p.dir, k->prefix, names[0], &p.ev, &err), RSET_OK);
    local.dir = p.dir;
    assert_int_equal(rset_change_begin(&local, &p.ev, keep, &p.journal, &err), RSET_OK);
    if (keep)
        assert_int_equal(rset_journal_save(p.journal, 0, UINT64_MAX, &err), RSET_OK);
    return p;
}

void
program_end(program *p, uint64_t step)
{
    const rset_label label = {.job = 1, .step = step, .ranks = SCENE_RANKS};
    rset_err         err = RSET_ERR_NONE;

    if (step > 0)
        assert_int_equal(rset_journal_close(p->journal, &label, &err), RSET_OK);
    else
        rset_journal_leave(p->journal);
    rset_evidence_free(&p->ev);
    rset_dir_close(p->dir);
}

uint64_t scene_last_step = 1;

void
scene_write_in_place(scene *s, int version, void (*then)(scene *s), bool closes)
{
    program p[SCENE_RANKS];

    for (int r = 0; r < SCENE_RANKS; r++)
        p[r] = program_begin(s, r, true);
    scene_write(s, version);
    if (then != NULL)
        then(s);
    for (int r = 0; r < SCENE_RANKS; r++)
        program_end(&p[r], !closes ? 0 : r == 3 ? scene_last_step : 1);
}

void
scene_changed(scene *s)
{
    scene_protect_version(s, 1);
    s->old = scene_now(s);
    scene_write_in_place(s, 2, NULL, true);
    s->new = scene_now(s);
}

static unsigned publish; /* these ranks do */

static void
die_publishing(scene *s)
{
    job_die_publishing(&s->job, publish);
}

void
scene_commit_begun(scene *s, unsigned published)
{
    scene_protect_version(s, 1);
    s->old = scene_now(s);
    publish = published;
    scene_write_in_place(s, 2, die_publishing, false);
    s->new = scene_now(s);
}

void
scene_lose_node(scene *s, int r)
{
    scene_lose(s, r);
    s->lost |= 1U << r;
}

bool
scene_tolerates(const scene *s, int losses)
{
    return scene_tolerance(s) >= losses;
}
