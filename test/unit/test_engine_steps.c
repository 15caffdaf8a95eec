/* test_engine_steps.c: how often ranks wait for each other in a close, and in an open after a loss, and that what they do in the last step
 * of that is done by all or by none (docs/recovery.md). */
#include "image.h"
#include "job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 6, LOST = 2 };

typedef struct world {
    char *base;
    job   job;
    image image;
} world;

/* A job of one set. */
static void
protect_world(world *w, const rset_scheme *scheme, int parity)
{
    static const size_t sizes[] = {3001, 0, 2999, 1500, 700, 2};

    *w = (world){.base = scratch_make()};
    job_init(&w->job, w->base, N, scheme, parity, N);
    job_write_data(&w->job, sizes, N, 1);
    if (job_protect(&w->job) != RSET_OK)
        fail_msg("%s: %s", scheme->name, job_text(&w->job));
}

/* One rank of it has lost all. */
static void
open_world(world *w, const rset_scheme *scheme)
{
    bool lost[JOB_RANKS];

    protect_world(w, scheme, 1);
    w->image = image_take(w->base);
    job_mask(&w->job, 1U << LOST, lost);
    job_lose(&w->job, lost);
}

static void
close_world(world *w)
{
    remove_tree(w->base);
    free(w->base);
    image_free(&w->image);
    job_free(&w->job);
}

static void
assert_whole(const world *w)
{
    char why[1024];

    if (!image_same(&w->image, w->base, NULL, IMAGE_CONTENT, why))
        fail_msg("%s", why);
}

static rset_status
use(job *j, int rank, rset_err *err)
{
    (void)j;
    (void)rank;
    (void)err;
    return RSET_OK;
}

/* The last rank has nobody below it in the tree: it sends one message where all say that they are prepared, what each can do, that buffers
 * are there, that all is written, and that it has its name. Of redundancy it sends one message for each power of two below the number of
 * ranks (PARTNER: its copy), and it sends what it recorded to each rank that keeps that. */
static void
a_close_has_few_steps(void **state)
{
    enum { STEPS = 5, LEVELS = 3 };
    static const struct {
        const rset_scheme *scheme;
        int                parity, messages;
    } kinds[] = {{&rset_scheme_partner, 1, STEPS + 1 + 1},
                 {&rset_scheme_xor, 1, STEPS + LEVELS + 1},
                 {&rset_scheme_rs, 2, STEPS + LEVELS + 2}};

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        world w;

        protect_world(&w, kinds[k].scheme, kinds[k].parity);
        assert_int_equal(w.job.ranks[N - 1].messages, kinds[k].messages);
        close_world(&w);
    }
}

/* The last rank has nobody below it in the tree, and with PARTNER no part in what the lost one misses: it sends one message in a step, and
 * where records are routed one for each power of two below the number of ranks. Readers ask in the search whether it matters which
 * names they open. */
static void
assert_steps(bool reads)
{
    enum { STEPS = 12, ROUTES = 4, LEVELS = 3 };
    world w;

    open_world(&w, &rset_scheme_partner);
    w.job.use = use;
    w.job.reads = reads;
    assert_int_equal(job_recover(&w.job), RSET_OK);
    assert_int_equal(w.job.ranks[N - 1].messages, STEPS - ROUTES + ROUTES * LEVELS);
    assert_whole(&w);
    close_world(&w);
}

static void
ranks_wait_for_each_other_in_twelve_steps(void **state)
{
    (void)state;
    assert_steps(false);
}

static void
readers_wait_for_each_other_in_twelve_steps(void **state)
{
    (void)state;
    assert_steps(true);
}

static void
all_use_their_files_in_the_last_step(void **state)
{
    world w;

    (void)state;
    open_world(&w, &rset_scheme_xor);
    w.job.use = use;
    assert_int_equal(job_recover(&w.job), RSET_OK);
    for (int r = 0; r < N; r++) {
        assert_true(w.job.ranks[r].out.in_use);
        assert_int_equal(w.job.ranks[r].used, N);
        assert_int_equal(w.job.ranks[r].out.replaced, r == LOST);
    }
    assert_whole(&w);
    close_world(&w);
}

static rset_status
use_unless_first(job *j, int rank, rset_err *err)
{
    (void)j;
    return rank == 0 ? rset_fail(err, RSET_IO, "rank 0 cannot open its file") : RSET_OK;
}

/* P4; and what came back stays. */
static void
one_that_cannot_use_its_file_fails_all(void **state)
{
    world w;

    (void)state;
    open_world(&w, &rset_scheme_xor);
    w.job.use = use_unless_first;
    assert_int_equal(job_recover(&w.job), RSET_IO);
    for (int r = 0; r < N; r++) {
        assert_false(w.job.ranks[r].out.in_use);
        assert_string_equal(w.job.ranks[r].err.text, "rank 0 cannot open its file");
    }
    assert_whole(&w);
    w.job.use = NULL;
    assert_int_equal(job_recover(&w.job), RSET_OK);
    assert_int_equal(w.job.ranks[LOST].out.reason, RSET_REASON_HEALTHY);
    close_world(&w);
}

static rset_status
busy_on_first(job *j, int rank, rset_err *err)
{
    (void)j;
    return rank == 0 ? rset_fail(err, RSET_BUSY, "rank 0 finds another file there") : RSET_OK;
}

/* Whoever has replaced a file that came back is at work there: that is said, and not taken for damage. */
static void
a_file_that_was_replaced_meanwhile_is_final(void **state)
{
    world w;

    (void)state;
    open_world(&w, &rset_scheme_xor);
    w.job.use = busy_on_first;
    assert_int_equal(job_recover(&w.job), RSET_BUSY);
    for (int r = 0; r < N; r++) {
        assert_int_equal(w.job.ranks[r].out.replaced, r == LOST);
        assert_int_equal(rset_outcome_action(&w.job.ranks[r].out),
                         r == LOST ? RSET_ACTION_REBUILD : RSET_ACTION_NOTHING);
        assert_string_equal(w.job.ranks[r].err.text, "rank 0 finds another file there");
    }
    close_world(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_close_has_few_steps),
        cmocka_unit_test(ranks_wait_for_each_other_in_twelve_steps),
        cmocka_unit_test(readers_wait_for_each_other_in_twelve_steps),
        cmocka_unit_test(all_use_their_files_in_the_last_step),
        cmocka_unit_test(one_that_cannot_use_its_file_fails_all),
        cmocka_unit_test(a_file_that_was_replaced_meanwhile_is_final),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
