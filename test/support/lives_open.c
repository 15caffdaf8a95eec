/* lives_open.c: files that stay open when they are committed, as the driver holds them (vfd/session_commit.c, session_behind.c).
 * See lives.h. */
#include "lives.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
check(const life *w, int r, rset_status st, const rset_err *err)
{
    if (st != RSET_OK)
        fail_msg("%s: commit %d, rank %d: %s", w->what, w->commits, r, err->text);
}

/* The same files by a directory that stays open as long as they do. */
static rset_local
held_files(life *w, int r, const rset_local *local)
{
    rset_local held = *local;
    rset_err   err = RSET_ERR_NONE;

    if (w->held[r].dir == NULL)
        check(w, r, rset_dir_open(w->job.ranks[r].dir, true, &w->held[r].dir, &err), &err);
    held.dir = w->held[r].dir;
    return held;
}

rset_journal *
lives_journal(life *w, int r, const rset_local *local)
{
    const rset_local held = held_files(w, r, local);
    rset_err         err = RSET_ERR_NONE;

    if (w->held[r].journal == NULL)
        check(w, r,
              rset_change_begin(&held, &w->job.ranks[r].evidence, !w->blind, &w->held[r].journal,
                                &err),
              &err);
    return w->held[r].journal;
}

static void
let_go(lives_held *h)
{
    rset_journal_drop(h->next);
    rset_journal_leave(h->journal);
    rset_dir_close(h->dir);
    *h = (lives_held){0};
}

void
lives_close(life *w, int r, const rset_local *local)
{
    const rset_label label = {.job = 1, .step = (uint64_t)w->commits + 1, .ranks = LIVES_RANKS};
    rset_err         err = RSET_ERR_NONE;

    if (w->held[r].journal != NULL)
        check(w, r, rset_journal_close(w->held[r].journal, &label, &err), &err);
    w->held[r].journal = NULL;
    let_go(&w->held[r]);
    check(w, r, rset_survey_local(local, &w->job.ranks[r].evidence, &err), &err);
}

void
lives_plan_on(life *w, int r)
{
    const lives_content next = w->next[r];
    lives_content      *on = &w->on[r];

    w->on_at[r] = lives_draw((unsigned)next.size + 1);
    w->on_len[r] = 1 + lives_draw(2000);
    on->size = w->on_at[r] + w->on_len[r] > next.size ? w->on_at[r] + w->on_len[r] : next.size;
    on->data = calloc(1, on->size);
    assert_non_null(on->data);
    memcpy(on->data, next.data, next.size);
    for (size_t i = 0; i < w->on_len[r]; i++)
        on->data[w->on_at[r] + i] = (uint8_t)lives_draw(256);
}

/* A rank that changes nothing, and has not since the last commit, has nothing to go on with. */
static void
forget_on(life *w, int r)
{
    free(w->on[r].data);
    w->on[r] = (lives_content){0};
}

void
lives_write_on(life *w, int r, rset_local *local)
{
    const job_rank *k = &w->job.ranks[r];
    const char     *name = local->shadow != NULL ? local->shadow : local->names[0];
    rset_err        err = RSET_ERR_NONE;
    rset_local      held;

    if (w->how[r] == LIVES_LEAVE && w->held[r].journal == NULL) {
        forget_on(w, r);
        return;
    }
    held = held_files(w, r, local);
    check(w, r, rset_journal_begin_next(&held, &k->evidence, &w->held[r].next, &err), &err);
    check(w, r, rset_journal_save(w->held[r].next, w->on_at[r], w->on_len[r], &err), &err);
    check(w, r, rset_journal_save(w->held[r].journal, w->on_at[r], w->on_len[r], &err), &err);
    write_file(path_of("%s/%s", k->dir, name), w->on[r].data, w->on[r].size);
    local->next = w->held[r].next;
}

/* What changes from now on begins another journal. */
static void
go_on(life *w, int r, const rset_local *local)
{
    job_rank     *k = &w->job.ranks[r];
    rset_err      err = RSET_ERR_NONE;
    rset_local    plain = *local;
    rset_journal *j;

    plain.shadow = NULL;
    rset_journal_leave(w->held[r].journal);
    w->held[r].journal = NULL;
    check(w, r, rset_survey_again(local->dir, local->prefix, local->names[0], &k->evidence, &err),
          &err);
    j = lives_journal(w, r, &plain);
    check(w, r, rset_journal_save(j, w->on_at[r], w->on_len[r], &err), &err);
    write_file(path_of("%s/%s", k->dir, k->names[0]), w->on[r].data, w->on[r].size);
}

void
lives_settle(job *j, int r, rset_local *local, rset_status st)
{
    life       *w = j->arg;
    lives_held *h = &w->held[r];
    rset_err    err = RSET_ERR_NONE;

    if (st != RSET_OK || w->hold == LIVES_CLOSED) /* it fails the test */
        return;
    if (w->hold == LIVES_OPEN) {
        go_on(w, r, local);
    } else if (h->next != NULL) {
        check(w, r, rset_journal_succeed(h->next, local->names[0], &err), &err);
        rset_journal_leave(h->journal);
        h->journal = h->next;
        h->next = NULL;
    }
}

void
lives_die(life *w)
{
    for (int r = 0; r < LIVES_RANKS; r++) {
        w->died = w->died || w->held[r].journal != NULL;
        let_go(&w->held[r]);
    }
}

void
lives_go_back(life *w)
{
    lives_die(w);
    lives_assert_is(w, w->commits - 1, 0);
    for (int r = 0; r < LIVES_RANKS; r++) {
        free(w->now[r].data);
        w->now[r] = lives_copy(w->was[w->commits - 1][r]);
    }
    w->died = false;
}
