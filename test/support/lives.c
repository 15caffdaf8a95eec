/* lives.c: see lives.h. */
#include "lives.h"

#include "commit/shadow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

unsigned
lives_draw(unsigned n)
{
    return (unsigned)rand() % n;
}

lives_content
lives_copy(lives_content c)
{
    lives_content k = {.data = malloc(c.size + 1), .size = c.size};

    assert_non_null(k.data);
    memcpy(k.data, c.data, c.size);
    return k;
}

static void
fill(uint8_t *data, size_t n)
{
    for (size_t i = 0; i < n; i++)
        data[i] = (uint8_t)rand();
}

/* ---- what programs do ---- */

static rset_status
write_over(job_rank *k, const lives_content *c, rset_local *local)
{
    rset_err    err = RSET_ERR_NONE;
    rset_status st = rset_shadow_begin(local, &k->evidence, &k->shadow, &err);

    if (st != RSET_OK)
        fail_msg("%s", err.text);
    local->shadow = k->shadow;
    write_file(path_of("%s/%s", k->dir, k->shadow), c->data, c->size);
    return st;
}

static rset_status
write_in_place(life *w, int r, rset_local *local)
{
    const job_rank *k = &w->job.ranks[r];
    rset_journal   *j = lives_journal(w, r, local);
    rset_err        err = RSET_ERR_NONE;
    rset_status     st = rset_journal_save(j, w->at[r], w->len[r], &err);

    if (st == RSET_OK && w->next[r].size < w->now[r].size)
        st = rset_journal_save(j, w->next[r].size, w->now[r].size - w->next[r].size, &err);
    if (st != RSET_OK)
        fail_msg("%s", err.text);
    write_file(path_of("%s/%s", k->dir, k->names[0]), w->next[r].data, w->next[r].size);
    return RSET_OK;
}

static rset_status
change(job *j, int rank, rset_local *local)
{
    life       *w = j->arg;
    rset_err    err = RSET_ERR_NONE;
    rset_status st = RSET_OK;

    if (w->how[rank] == LIVES_IN_PLACE)
        st = write_in_place(w, rank, local);
    if (w->how[rank] == LIVES_OVER || w->hold == LIVES_CLOSED)
        lives_close(w, rank, local);
    if (w->how[rank] == LIVES_OVER)
        st = write_over(&j->ranks[rank], &w->next[rank], local);
    else
        st = rset_survey_local(local, &j->ranks[rank].evidence, &err);
    if (st == RSET_OK && w->hold == LIVES_BEHIND)
        lives_write_on(w, rank, local);
    return st;
}

void
lives_plan(life *w, int r, lives_way how)
{
    const lives_content was = w->now[r];
    lives_content       c = {0};

    w->how[r] = how;
    if (how == LIVES_LEAVE) {
        w->next[r] = lives_copy(was);
        return;
    }
    if (how == LIVES_OVER) {
        c.size = lives_draw(LIVES_SIZE);
        c.data = malloc(c.size + 1);
        assert_non_null(c.data);
        fill(c.data, c.size);
        w->next[r] = c;
        return;
    }
    w->at[r] = was.size > 0 ? lives_draw((unsigned)was.size) : 0;
    w->len[r] = 1 + lives_draw(lives_draw(2) ? 2000 : LIVES_SIZE / 4);
    if (w->stays && w->at[r] + w->len[r] > was.size)
        w->len[r] = was.size - w->at[r];
    c.size = w->at[r] + w->len[r] > was.size ? w->at[r] + w->len[r] : was.size;
    c.data = calloc(1, c.size + 1);
    assert_non_null(c.data);
    memcpy(c.data, was.data, was.size);
    fill(c.data + w->at[r], w->len[r]);
    if (!w->stays && lives_draw(6) == 0)
        c.size = lives_draw((unsigned)c.size + 1);
    w->next[r] = c;
}

/* After a commit: the one before, and so many before that. */
static void
expect_kept(life *w)
{
    int n = w->commits - 1;

    if (n > 0)
        w->kept[n - 1] = true;
    for (int kept = 1; n-- > 0; kept += w->kept[n])
        w->kept[n] = w->kept[n] && kept < w->job.keep;
}

void
lives_plan_all(life *w, lives_way how)
{
    for (int r = 0; r < LIVES_RANKS; r++)
        lives_plan(w, r, how);
}

/* The first files are written before anything protects them. */
static void
write_first(life *w)
{
    for (int r = 0; r < LIVES_RANKS; r++) {
        w->how[r] = LIVES_LEAVE;
        write_file(job_data(&w->job, r), w->next[r].data, w->next[r].size);
    }
}

void
lives_commit(life *w)
{
    if (w->commits == 0)
        write_first(w);
    for (int r = 0; w->hold != LIVES_CLOSED && r < LIVES_RANKS; r++)
        lives_plan_on(w, r);
    w->job.change = change;
    w->job.settle = lives_settle;
    w->job.arg = w;
    w->job.update = w->update;
    if (job_protect(&w->job) != RSET_OK)
        fail_msg("%s: commit %d: %s", w->what, w->commits, job_text(&w->job));
    w->job.change = NULL;
    w->job.settle = NULL;
    w->dirty = false;
    for (int r = 0; r < LIVES_RANKS; r++) {
        free(w->now[r].data);
        w->was[w->commits][r] = lives_copy(w->next[r]);
        w->now[r] = w->on[r].data != NULL ? w->on[r] : w->next[r];
        if (w->on[r].data != NULL)
            free(w->next[r].data);
        w->on[r] = w->next[r] = (lives_content){0};
        free(w->job.ranks[r].shadow);
        w->job.ranks[r].shadow = NULL;
    }
    w->generation[w->commits++] = w->job.ranks[0].desc.generation;
    expect_kept(w);
}

/* ---- the judge ---- */

rset_dir *
lives_files(const life *w, int r, const char **names, rset_local *out)
{
    const job_rank *k = &w->job.ranks[r];
    rset_dir       *dir = NULL;
    rset_err        err = RSET_ERR_NONE;

    names[0] = k->names[0];
    assert_int_equal(rset_dir_open(k->dir, true, &dir, &err), RSET_OK);
    *out =
        (rset_local){.dir = dir, .prefix = k->prefix, .nfiles = 1, .names = names, .paths = names};
    return dir;
}

void
lives_make_whole(const life *w, int r, int n)
{
    const char *names[1];
    rset_local  local;
    rset_dir   *dir = lives_files(w, r, names, &local);
    rset_err    err = RSET_ERR_NONE;

    if (rset_kept_make_ready(&local, w->generation[n], false, &err) != RSET_OK)
        fail_msg("%s: generation %d of %d, rank %d: %s", w->what, n, w->commits, r, err.text);
    rset_dir_close(dir);
}

/* The same ranks, opening that generation instead of the newest; those in `come` (bits) do. */
static void
open_generation(life *w, int n, job *out, unsigned come)
{
    job_init(out, w->base, LIVES_RANKS, w->job.ranks[0].desc.scheme, w->job.ranks[0].desc.parity,
             LIVES_RANKS);
    out->copies = w->job.copies;
    for (int r = 0; r < LIVES_RANKS; r++) {
        job_rank *k = &out->ranks[r];

        if (n != w->commits - 1 && (come >> r & 1))
            lives_make_whole(w, r, n);
        free(k->names[0]);
        free(k->prefix);
        k->names[0] = n != w->commits - 1
                          ? rset_name_of(RSET_NAME_DATA, w->job.ranks[r].prefix, w->generation[n])
                          : strdup(w->job.ranks[r].names[0]);
        assert_non_null(k->names[0]);
        assert_true(asprintf(&k->prefix, "%s.", k->names[0]) > 0);
    }
}

/* One process without the others gets the same back, where it can see all directories. */
void
lives_assert_alone(life *w, int n, unsigned lost)
{
    job j;

    open_generation(w, n, &j, lost);
    for (int r = 0; r < LIVES_RANKS; r++)
        if (lost >> r & 1) {
            size_t   size = 0;
            uint8_t *data;

            if (job_recover_serial(&j, r) != RSET_OK)
                fail_msg("%s: generation %d of %d, rank %d alone: %s", w->what, n, w->commits, r,
                         j.ranks[r].err.text);
            data = read_file(job_data(&j, r), &size);
            if (size != w->was[n][r].size || memcmp(data, w->was[n][r].data, size) != 0)
                fail_msg("%s: generation %d of %d, rank %d alone: other content", w->what, n,
                         w->commits, r);
            free(data);
        }
    job_free(&j);
}

void
lives_name(life *w, int n, job *out)
{
    open_generation(w, n, out, (1u << LIVES_RANKS) - 1);
}

rset_status
lives_open(life *w, int n, job *out)
{
    lives_name(w, n, out);
    out->by_size = w->by_size ? (1u << LIVES_RANKS) - 1 : 0;
    return job_recover(out);
}

void
lives_assert_is(life *w, int n, unsigned lost)
{
    job j;

    if (lives_open(w, n, &j) != RSET_OK)
        fail_msg("%s: generation %d of %d, lost %x: %s", w->what, n, w->commits, lost,
                 job_text(&j));
    for (int r = 0; r < LIVES_RANKS; r++) {
        size_t   size = 0;
        uint8_t *data = read_file(job_data(&j, r), &size);

        if (size != w->was[n][r].size || memcmp(data, w->was[n][r].data, size) != 0)
            fail_msg("%s: generation %d of %d, lost %x: rank %d has other content", w->what, n,
                     w->commits, lost, r);
        free(data);
    }
    job_free(&j);
}

bool
lives_is_kept(const life *w, int r, int n)
{
    const job_rank *k = &w->job.ranks[r];
    char           *whole = rset_name_of(RSET_NAME_DATA, k->prefix, w->generation[n]);
    char           *back = rset_name_of(RSET_NAME_UNDO, k->prefix, w->generation[n]);
    const bool      is =
        exists(path_of("%s/%s", k->dir, whole)) || exists(path_of("%s/%s", k->dir, back));

    free(whole);
    free(back);
    return is;
}

void
lives_assert_kept(life *w)
{
    for (int r = 0; r < LIVES_RANKS; r++)
        for (int n = 0; n < w->commits - 1; n++) {
            const bool there = lives_is_kept(w, r, n);

            if (there != w->kept[n])
                fail_msg("%s: rank %d, generation %d of %d: %s", w->what, r, n, w->commits,
                         there ? "is still there" : "was not kept");
        }
}

void
lives_assert_all(life *w, unsigned lost)
{
    bool  flags[JOB_RANKS];
    image before;

    lives_die(w);
    before = image_take(w->base);

    for (int n = w->commits - 1; n >= 0; n--) {
        if (n == w->commits - 1 ? w->dirty : !w->kept[n])
            continue;
        (void)job_mask(&w->job, (1u << LIVES_RANKS) - 1, flags);
        job_lose(&w->job, flags);
        image_put(&before, w->base, NULL);
        (void)job_mask(&w->job, lost, flags);
        job_lose(&w->job, flags);
        if (n % 2 == 0 && !(n == w->commits - 1 && w->died))
            lives_assert_alone(w, n, lost);
        else
            lives_assert_is(w, n, lost);
    }
    image_free(&before);
}

void
lives_leave_unprotected(life *w)
{
    for (int r = 0; r < LIVES_RANKS; r++) {
        const char *names[1];
        rset_err    err = RSET_ERR_NONE;
        rset_local  local;
        rset_dir   *dir = lives_files(w, r, names, &local);

        free(w->next[r].data);
        lives_plan(w, r, LIVES_IN_PLACE);
        assert_int_equal(rset_survey_local(&local, &w->job.ranks[r].evidence, &err), RSET_OK);
        assert_int_equal(write_in_place(w, r, &local), RSET_OK);
        lives_close(w, r, &local);
        rset_dir_close(dir);
        free(w->now[r].data);
        w->now[r] = w->next[r];
        w->next[r] = (lives_content){0};
    }
    w->dirty = true;
}

/* ---- begin and end ---- */

void
lives_begin(life *w, const rset_scheme *scheme, int parity, int keep)
{
    *w = (life){.base = scratch_make()};
    snprintf(w->what, sizeof w->what, "%s, keep=%d", scheme->name, keep);
    job_init(&w->job, w->base, LIVES_RANKS, scheme, parity, LIVES_RANKS);
    w->job.keep = keep;
}

void
lives_change_in_place(life *w, int commits)
{
    w->update = w->stays = true;
    for (int i = 0; i < commits; i++) {
        lives_plan_all(w, LIVES_IN_PLACE);
        lives_commit(w);
    }
}

void
lives_begin_in_place(life *w, const rset_scheme *scheme, int parity, int keep, int commits)
{
    srand(7);
    lives_begin(w, scheme, parity, keep);
    lives_plan_all(w, LIVES_OVER);
    lives_commit(w);
    lives_change_in_place(w, commits);
}

void
lives_exchange(const life *w)
{
    const char *a = w->job.ranks[0].dir, *b = w->job.ranks[1].dir;
    char       *aside = strdup(path_of("%s/aside", w->base));

    assert_int_equal(rename(a, aside), 0);
    assert_int_equal(rename(b, a), 0);
    assert_int_equal(rename(aside, b), 0);
    free(aside);
}

void
lives_put_back(const life *w, const image *was)
{
    bool flags[JOB_RANKS];

    (void)job_mask(&w->job, (1u << LIVES_RANKS) - 1, flags);
    job_lose(&w->job, flags);
    image_put(was, w->base, NULL);
}

void
lives_call_all_the_same(life *w)
{
    for (int r = 0; r < LIVES_RANKS; r++) {
        job_rank *k = &w->job.ranks[r];

        free(k->names[0]);
        free(k->prefix);
        k->names[0] = strdup("ckpt_7.h5");
        k->prefix = strdup("ckpt_7.h5.");
    }
}

void
lives_end(life *w)
{
    lives_die(w);
    for (int r = 0; r < LIVES_RANKS; r++) {
        free(w->now[r].data);
        free(w->next[r].data);
        free(w->on[r].data);
        for (int n = 0; n < w->commits; n++)
            free(w->was[n][r].data);
    }
    job_free(&w->job);
    remove_tree(w->base);
    free(w->base);
}
