/* test_kept.c: older generations that are kept (keep=N): any of them is what it was, with any loss that its scheme covers, and
 * none lives longer than it should. Random lives of files, which are created over, changed in place, grow and shrink, or are left as
 * they are; meanwhile older generations are read and dropped. Saved copies are the judge. REDSET_KEPT_LIVES: how many (default 40), REDSET_KEPT_SEED: the first. */
#include "image.h"
#include "job.h"
#include "member/journal.h"
#include "member/kept.h"
#include "member/shadow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 4, GENERATIONS = 12, SIZE_MAX_ = 200000 };

/* What a rank does to its file before a commit. */
typedef enum { LEAVE, OVER, IN_PLACE, WAYS } way;

typedef struct content {
    uint8_t *data;
    size_t   size;
} content;

typedef struct life {
    char    *base;
    job      job;
    int      commits;
    uint64_t generation[GENERATIONS];
    content  was[GENERATIONS][RANKS]; /* the saved copies */
    content  now[RANKS];
    way      how[RANKS];
    content  next[RANKS]; /* what each rank makes of its file */
    uint64_t at[RANKS];   /* in place: where, and how much */
    size_t   len[RANKS];
    bool     kept[GENERATIONS]; /* what is to be had but for the newest */
    bool     update;
    bool     dirty; /* the newest has changed since */
    bool     blind; /* what changes in place is not kept in the journal (atomic=no) */
    char     what[128];
} life;

static unsigned
draw(unsigned n)
{
    return (unsigned)rand() % n;
}

static content
copy_of(content c)
{
    content k = {.data = malloc(c.size + 1), .size = c.size};

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
write_over(job_rank *k, const content *c, rset_local *local)
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
write_in_place(const life *w, int r, rset_local *local)
{
    job_rank     *k = (job_rank *)(uintptr_t)&w->job.ranks[r];
    rset_journal *j = NULL;
    rset_err      err = RSET_ERR_NONE;
    rset_label    label = {.job = 1, .step = (uint64_t)w->commits + 1, .ranks = RANKS};
    rset_status   st = rset_journal_begin(local, &k->evidence, !w->blind, &j, &err);

    if (st == RSET_OK)
        st = rset_journal_save(j, w->at[r], w->len[r], &err);
    if (st == RSET_OK && w->next[r].size < w->now[r].size)
        st = rset_journal_save(j, w->next[r].size, w->now[r].size - w->next[r].size, &err);
    if (st != RSET_OK)
        fail_msg("%s", err.text);
    write_file(path_of("%s/%s", k->dir, k->names[0]), w->next[r].data, w->next[r].size);
    st = rset_journal_close(j, &label, &err);
    return st == RSET_OK ? rset_survey_local(local, &k->evidence, &err) : st;
}

static rset_status
change(job *j, int rank, rset_local *local)
{
    const life *w = j->arg;

    switch (w->how[rank]) {
    case OVER: return write_over(&j->ranks[rank], &w->next[rank], local);
    case IN_PLACE: return write_in_place(w, rank, local);
    default: return RSET_OK;
    }
}

/* What rank r is going to do, and what comes out of it. */
static void
plan(life *w, int r, way how)
{
    const content was = w->now[r];
    content       c = {0};

    w->how[r] = how;
    if (how == LEAVE) {
        w->next[r] = copy_of(was);
        return;
    }
    if (how == OVER) {
        c.size = draw(SIZE_MAX_);
        c.data = malloc(c.size + 1);
        assert_non_null(c.data);
        fill(c.data, c.size);
        w->next[r] = c;
        return;
    }
    w->at[r] = was.size > 0 ? draw((unsigned)was.size) : 0;
    w->len[r] = 1 + draw(draw(2) ? 2000 : SIZE_MAX_ / 4);
    c.size = w->at[r] + w->len[r] > was.size ? w->at[r] + w->len[r] : was.size;
    c.data = calloc(1, c.size + 1);
    assert_non_null(c.data);
    memcpy(c.data, was.data, was.size);
    fill(c.data + w->at[r], w->len[r]);
    if (draw(6) == 0)
        c.size = draw((unsigned)c.size + 1);
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

static void
commit(life *w)
{
    w->job.change = change;
    w->job.arg = w;
    w->job.update = w->update;
    if (job_protect(&w->job) != RSET_OK)
        fail_msg("%s: commit %d: %s", w->what, w->commits, job_text(&w->job));
    w->job.change = NULL;
    for (int r = 0; r < RANKS; r++) {
        free(w->now[r].data);
        w->now[r] = w->next[r];
        w->was[w->commits][r] = copy_of(w->now[r]);
        free(w->job.ranks[r].shadow);
        w->job.ranks[r].shadow = NULL;
    }
    w->generation[w->commits++] = w->job.ranks[0].desc.generation;
    expect_kept(w);
}

/* ---- the judge ---- */

/* The files of rank r, whose directory is opened. */
static rset_dir *
files_of(const life *w, int r, const char *const *names, rset_local *out)
{
    const job_rank *k = &w->job.ranks[r];
    rset_dir       *dir = NULL;
    rset_err        err = RSET_ERR_NONE;

    assert_int_equal(rset_dir_open(k->dir, true, &dir, &err), RSET_OK);
    *out =
        (rset_local){.dir = dir, .prefix = k->prefix, .nfiles = 1, .names = names, .paths = names};
    return dir;
}

/* As the driver does before it opens one. */
static void
make_whole(const life *w, int r, int n)
{
    const char *const names[] = {w->job.ranks[r].names[0]};
    rset_local        local;
    rset_dir         *dir = files_of(w, r, names, &local);
    rset_err          err = RSET_ERR_NONE;

    if (rset_kept_make_ready(&local, w->generation[n], false, &err) != RSET_OK)
        fail_msg("%s: generation %d of %d, rank %d: %s", w->what, n, w->commits, r, err.text);
    rset_dir_close(dir);
}

/* The same ranks, opening that generation instead of the newest; those in `come` (bits) do. */
static void
open_generation(life *w, int n, job *out, unsigned come)
{
    job_init(out, w->base, RANKS, w->job.ranks[0].desc.scheme, w->job.ranks[0].desc.parity, RANKS);
    for (int r = 0; n != w->commits - 1 && r < RANKS; r++) {
        job_rank *k = &out->ranks[r];
        char     *name = rset_kept_name(k->prefix, w->generation[n]);

        assert_non_null(name);
        if (come >> r & 1)
            make_whole(w, r, n);
        free(k->names[0]);
        free(k->prefix);
        k->names[0] = name;
        assert_true(asprintf(&k->prefix, "%s.", name) > 0);
    }
}

/* One process without the others gets the same back, where it can see all directories. */
static void
assert_is_alone(life *w, int n, unsigned lost)
{
    job j;

    open_generation(w, n, &j, lost);
    for (int r = 0; r < RANKS; r++)
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

static void
assert_is(life *w, int n, unsigned lost)
{
    job j;

    open_generation(w, n, &j, (1u << RANKS) - 1);
    if (job_recover(&j) != RSET_OK)
        fail_msg("%s: generation %d of %d, lost %x: %s", w->what, n, w->commits, lost,
                 job_text(&j));
    for (int r = 0; r < RANKS; r++) {
        size_t   size = 0;
        uint8_t *data = read_file(job_data(&j, r), &size);

        if (size != w->was[n][r].size || memcmp(data, w->was[n][r].data, size) != 0)
            fail_msg("%s: generation %d of %d, lost %x: rank %d has other content", w->what, n,
                     w->commits, lost, r);
        free(data);
    }
    job_free(&j);
}

/* In either form. */
static bool
is_kept(const life *w, int r, int n)
{
    const job_rank *k = &w->job.ranks[r];
    char           *whole = rset_kept_name(k->prefix, w->generation[n]);
    char           *back = rset_back_name(k->prefix, w->generation[n]);
    const bool      is =
        exists(path_of("%s/%s", k->dir, whole)) || exists(path_of("%s/%s", k->dir, back));

    free(whole);
    free(back);
    return is;
}

/* No more of them are there than are kept, and no less. */
static void
assert_kept(life *w)
{
    for (int r = 0; r < RANKS; r++)
        for (int n = 0; n < w->commits - 1; n++) {
            const bool there = is_kept(w, r, n);

            if (there != w->kept[n])
                fail_msg("%s: rank %d, generation %d of %d: %s", w->what, r, n, w->commits,
                         there ? "is still there" : "was not kept");
        }
}

static void
assert_all(life *w, unsigned lost)
{
    bool  flags[JOB_RANKS];
    image before = image_take(w->base);

    for (int n = w->commits - 1; n >= 0; n--) {
        if (n == w->commits - 1 ? w->dirty : !w->kept[n])
            continue;
        (void)job_mask(&w->job, (1u << RANKS) - 1, flags);
        job_lose(&w->job, flags);
        image_put(&before, w->base, NULL);
        (void)job_mask(&w->job, lost, flags);
        job_lose(&w->job, flags);
        if (n % 2 == 0)
            assert_is_alone(w, n, lost);
        else
            assert_is(w, n, lost);
    }
    image_free(&before);
}

/* ---- meanwhile ---- */

/* Some rank has read one, so that it is whole now; or all have dropped one. */
static void
read_or_drop(life *w)
{
    const int  n = (int)draw((unsigned)w->commits), by = (int)draw(RANKS);
    const bool drops = draw(3) == 0;

    if (!w->kept[n] || draw(2))
        return;
    for (int r = 0; r < RANKS; r++) {
        const char *const names[] = {w->job.ranks[r].names[0]};
        rset_local        local;
        rset_dir         *dir = files_of(w, r, names, &local);
        rset_err          err = RSET_ERR_NONE;

        if (drops && rset_kept_drop(&local, w->generation[n], &err) != RSET_OK)
            fail_msg("%s: generation %d: %s", w->what, n, err.text);
        rset_dir_close(dir);
        if (!drops && r == by)
            make_whole(w, r, n);
    }
    w->kept[n] = !drops;
}

/* The newest changes once more and is not protected: what older ones rest on is in its journal then. */
static void
leave_unprotected(life *w)
{
    for (int r = 0; r < RANKS; r++) {
        const char *const names[] = {w->job.ranks[r].names[0]};
        rset_err          err = RSET_ERR_NONE;
        rset_local        local;
        rset_dir         *dir = files_of(w, r, names, &local);

        free(w->next[r].data);
        plan(w, r, IN_PLACE);
        assert_int_equal(rset_survey_local(&local, &w->job.ranks[r].evidence, &err), RSET_OK);
        assert_int_equal(write_in_place(w, r, &local), RSET_OK);
        rset_dir_close(dir);
    }
    w->dirty = true;
}

/* ---- lives ---- */

static void
live(unsigned seed, const rset_scheme *scheme, int parity, int keep)
{
    static const unsigned losses[] = {0, 1, 2, 4, 8};
    life                  w = {.base = scratch_make()};
    int                   commits;

    srand(seed);
    commits = 3 + (int)draw(GENERATIONS - 3);
    snprintf(w.what, sizeof w.what, "seed %u, %s, keep=%d", seed, scheme->name, keep);
    job_init(&w.job, w.base, RANKS, scheme, parity, RANKS);
    w.job.keep = keep;
    for (int i = 0; i < commits; i++) {
        const unsigned all = draw(4); /* mostly all ranks do the same */

        w.update = draw(2);
        for (int r = 0; r < RANKS; r++)
            plan(&w, r, i == 0 ? OVER : all == 0 ? (way)draw(WAYS) : all == 1 ? IN_PLACE : OVER);
        if (i == 0)
            for (int r = 0; r < RANKS; r++) {
                w.how[r] = LEAVE;
                write_file(job_data(&w.job, r), w.next[r].data, w.next[r].size);
            }
        commit(&w);
        assert_kept(&w);
        read_or_drop(&w);
    }
    for (int r = 0; r < RANKS; r++)
        w.next[r] = (content){0};
    if (draw(3) == 0)
        leave_unprotected(&w);
    assert_all(&w, scheme == &rset_scheme_single ? 0 : losses[draw(5)]);
    for (int r = 0; r < RANKS; r++) {
        free(w.now[r].data);
        free(w.next[r].data);
        for (int n = 0; n < w.commits; n++)
            free(w.was[n][r].data);
    }
    job_free(&w.job);
    remove_tree(w.base);
    free(w.base);
}

static void
random_lives(void **state)
{
    static const struct {
        const rset_scheme *scheme;
        int                parity;
    } kinds[] = {{&rset_scheme_xor, 1},
                 {&rset_scheme_rs, 2},
                 {&rset_scheme_partner, 1},
                 {&rset_scheme_single, 0}};
    const char    *lives = getenv("REDSET_KEPT_LIVES"), *first = getenv("REDSET_KEPT_SEED");
    const unsigned n = lives != NULL ? (unsigned)atoi(lives) : 40;
    const unsigned from = first != NULL ? (unsigned)atoi(first) : 1;

    (void)state;
    for (unsigned i = 0; i < n; i++) {
        const unsigned k = (from + i) % 4;

        live(from + i, kinds[k].scheme, kinds[k].parity, 1 + (int)((from + i) / 4 % 4));
    }
}

/* As a commit that did not come to be leaves it: what is there has a second name. */
static void
name_current(const life *w, int r)
{
    const char *const names[] = {w->job.ranks[r].names[0]};
    rset_err          err = RSET_ERR_NONE;
    uint64_t          generation = 0;
    rset_local        local;
    rset_dir         *dir = files_of(w, r, names, &local);

    local.shadow = "none";
    assert_int_equal(rset_kept_add(&local, NULL, &generation, &err), RSET_OK);
    assert_true(generation == w->generation[w->commits - 1]);
    rset_dir_close(dir);
}

/* Then the file changes in place, and nothing can be kept of it: there is no older generation, and not one that is another (M6). */
static void
left_by_a_commit_that_did_not_come_to_be(void **state)
{
    life w = {.base = scratch_make(), .what = "left by a commit"};

    (void)state;
    job_init(&w.job, w.base, RANKS, &rset_scheme_xor, 1, RANKS);
    w.job.keep = 2;
    for (int i = 0; i < 2; i++) {
        for (int r = 0; r < RANKS; r++) {
            plan(&w, r, i == 0 ? OVER : IN_PLACE);
            if (i == 0) {
                w.how[r] = LEAVE;
                write_file(job_data(&w.job, r), w.next[r].data, w.next[r].size);
            } else {
                name_current(&w, r);
            }
        }
        w.blind = true;
        commit(&w);
    }
    for (int r = 0; r < RANKS; r++) {
        assert_false(is_kept(&w, r, 0));
        free(w.now[r].data);
        free(w.was[0][r].data);
        free(w.was[1][r].data);
    }
    job_free(&w.job);
    remove_tree(w.base);
    free(w.base);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_lives),
                                       cmocka_unit_test(left_by_a_commit_that_did_not_come_to_be)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
