/* test_engine_uneven.c: ranks of one host that no set has room for (layout.h): the sets of the others protect those, and
 * what one that is left over has lost cannot be had: then no file is opened, and nothing is changed (P4, P11). */
#include "layout/layout.h"
#include "updates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The first three ranks on one host, two on hosts of their own: with two members at least there are two sets and rank 2 is
 * left over, with three one set, and ranks 1 and 2 are. */
static const char hosts[N][2] = {"a", "a", "a", "b", "c"};

/* Kinds of updates.h that sets are possible for. */
enum { FIRST_KIND = 1, KINDS_POSSIBLE = 4 };

static void
divide(rset_comm *comm, void *arg)
{
    job        *j = arg;
    job_rank   *k = &j->ranks[comm->rank];
    rset_wish   wish = {.scheme = k->desc.scheme,
                        .parity = k->desc.parity,
                        .set_size = 8,
                        .group = hosts[comm->rank],
                        .order = comm->rank};
    rset_layout layout;

    k->st = rset_layout_form(comm, &wish, "host", &layout, &k->err);
    if (k->st != RSET_OK)
        return;
    k->desc = layout.desc;
    free(k->members);
    k->members = layout.ranks;
    layout.ranks = NULL;
    rset_layout_free(&layout);
}

static void
uneven_open(world *w, int k)
{
    update_open(w, k);
    job_run(&w->job, divide);
    for (int r = 0; r < N; r++) {
        assert_int_equal(w->job.ranks[r].st, RSET_OK);
        w->job.ranks[r].host = hosts[r];
    }
    assert_int_equal(job_protect(&w->job), RSET_OK);
}

static bool
is_left_over(const world *w, int r)
{
    return rset_desc_is_left_over(&w->job.ranks[r].desc);
}

static bool
has_left_over(const world *w, const bool *lost)
{
    for (int r = 0; r < N; r++)
        if (lost[r] && is_left_over(w, r))
            return true;
    return false;
}

/* All are as in the image, and nothing was touched. */
static void
expect_refused(world *w, const char *why_one, const char *why_other)
{
    image before = image_take(w->base);
    char  why[1024];

    assert_int_equal(job_recover(&w->job), RSET_LOST);
    if (!image_same(&before, w->base, NULL, IMAGE_UNTOUCHED, why))
        fail_msg("%s: %s", w->what, why);
    if (strstr(job_text(&w->job), why_one) == NULL || strstr(job_text(&w->job), why_other) == NULL)
        fail_msg("%s: %s", w->what, job_text(&w->job));
    image_free(&before);
}

static void
the_division_is_as_it_should_be(void **state)
{
    (void)state;
    for (int k = FIRST_KIND; k <= KINDS_POSSIBLE; k++) {
        world w;

        uneven_open(&w, k);
        for (int r = 0; r < N; r++) {
            const rset_desc *d = &w.job.ranks[r].desc;

            assert_int_equal(is_left_over(&w, r),
                             r < 3 && r >= (update_kinds[k].parity > 1 ? 1 : 2));
            assert_true(exists(job_redundancy(&w.job, r)));
            assert_true(d->scheme ==
                        (is_left_over(&w, r) ? &rset_scheme_single : update_kinds[k].scheme));
        }
        assert_int_equal(job_recover(&w.job), RSET_OK);
        assert_true(w.job.ranks[0].out.protected_);
        update_close(&w);
    }
}

/* Every loss of whole directories: all come back, bit for bit, or nothing is changed; and where ranks that were left over
 * are all that cannot be had, one of them is named. */
static void
every_loss(void **state)
{
    (void)state;
    for (int k = FIRST_KIND; k <= KINDS_POSSIBLE; k++) {
        world w;
        image all;

        uneven_open(&w, k);
        all = image_take(w.base);
        for (unsigned mask = 1; mask < 1U << N; mask++) {
            bool lost[JOB_RANKS];
            char why[1024];

            job_mask(&w.job, mask, lost);
            job_lose(&w.job, lost);
            snprintf(w.what, sizeof w.what, "kind %d, losses %x", k, mask);
            if (job_survives(&w.job, lost)) {
                assert_false(has_left_over(&w, lost));
                if (job_recover(&w.job) != RSET_OK)
                    fail_msg("%s: %s", w.what, job_text(&w.job));
                if (!image_same(&all, w.base, NULL, IMAGE_CONTENT, why))
                    fail_msg("%s: %s", w.what, why);
                assert_true(w.job.ranks[0].out.protected_);
            } else if (mask != (1U << N) - 1) {
                expect_refused(&w, "", "");
            }
            image_put(&all, w.base, NULL);
        }
        image_free(&all);
        update_close(&w);
    }
}

/* Nothing of it is left, on its own and with one that could be rebuilt: it is named, and why. */
static void
a_lost_rank_that_was_left_over_is_named(void **state)
{
    (void)state;
    for (int k = FIRST_KIND; k <= KINDS_POSSIBLE; k++)
        for (unsigned more = 0; more < 2; more++) {
            bool  lost[JOB_RANKS];
            world w;

            uneven_open(&w, k);
            job_mask(&w.job, 1u << 2 | more << 4, lost);
            job_lose(&w.job, lost);
            expect_refused(&w, "the file of rank 2 is lost together with all",
                           "that rank was not protected");
            update_close(&w);
        }
}

/* A set that is lost altogether was protected: nobody says that it was not. */
static void
a_lost_set_was_protected(void **state)
{
    bool  lost[JOB_RANKS];
    world w;

    (void)state;
    uneven_open(&w, 3); /* XOR: ranks 0 and 3, 1 and 4 */
    job_mask(&w.job, 1u << 1 | 1u << 4, lost);
    job_lose(&w.job, lost);
    assert_int_equal(job_recover(&w.job), RSET_LOST);
    assert_null(strstr(job_text(&w.job), "not protected"));
    update_close(&w);
}

/* Its redundancy file is there, and says so. */
static void
a_damaged_rank_that_was_left_over_is_named(void **state)
{
    (void)state;
    for (int k = FIRST_KIND; k <= KINDS_POSSIBLE; k++) {
        world w;

        uneven_open(&w, k);
        flip_bit(job_data(&w.job, 2), 70000);
        expect_refused(&w, "of the file of rank 2", "that rank was not protected");
        unlink(job_data(&w.job, 2));
        expect_refused(&w, "of the file of rank 2", "that rank was not protected");
        update_close(&w);
    }
}

/* Its file is there, and what recorded it is not: as with SINGLE, it is opened, and is not protected content. */
static void
a_rank_left_over_without_record_is_opened(void **state)
{
    world w;

    (void)state;
    uneven_open(&w, 3);
    unlink(job_redundancy(&w.job, 2));
    unlink(job_descriptor(&w.job, 2));
    assert_int_equal(job_recover(&w.job), RSET_OK);
    assert_false(w.job.ranks[0].out.protected_);
    update_close(&w);
}

/* An update of redundancy is an encode: for sets, and for a rank that has one for itself. */
static void
an_update_is_an_encode(void **state)
{
    static const unsigned who[] = {0x1f, 1, 4, 0x0c};

    (void)state;
    for (int k = FIRST_KIND; k <= KINDS_POSSIBLE; k++) {
        world w;

        uneven_open(&w, k);
        for (size_t i = 0; i < sizeof who / sizeof *who; i++) {
            bool lost[JOB_RANKS];

            if (!write_and_protect(&w, who[i], (int)i + 2))
                fail_msg("%s: not by an update", w.what);
            assert_like_an_encode(&w);
            job_mask(&w.job, 1u << (i % 2 == 0 ? 0 : 4), lost);
            job_lose(&w.job, lost);
            assert_int_equal(job_recover(&w.job), RSET_OK);
        }
        update_close(&w);
    }
}

/* One process alone rebuilds what has a set, and cannot rebuild what has none. */
static void
one_process_alone(void **state)
{
    bool  lost[JOB_RANKS];
    image all;
    char  why[1024];
    world w;

    (void)state;
    uneven_open(&w, 3);
    all = image_take(w.base);
    job_mask(&w.job, 1u << 0 | 1u << 4, lost);
    job_lose(&w.job, lost);
    assert_int_equal(job_recover_serial(&w.job, 0), RSET_OK);
    assert_int_equal(job_recover_serial(&w.job, 4), RSET_OK);
    assert_int_equal(job_recover_serial(&w.job, 2), RSET_OK);
    if (!image_same(&all, w.base, NULL, IMAGE_CONTENT, why))
        fail_msg("%s", why);
    unlink(job_data(&w.job, 2));
    assert_int_equal(job_recover_serial(&w.job, 2), RSET_LOST);
    assert_non_null(strstr(w.job.ranks[2].err.text, "that rank was not protected"));
    image_free(&all);
    update_close(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_division_is_as_it_should_be),
        cmocka_unit_test(every_loss),
        cmocka_unit_test(a_lost_rank_that_was_left_over_is_named),
        cmocka_unit_test(a_lost_set_was_protected),
        cmocka_unit_test(a_damaged_rank_that_was_left_over_is_named),
        cmocka_unit_test(a_rank_left_over_without_record_is_opened),
        cmocka_unit_test(an_update_is_an_encode),
        cmocka_unit_test(one_process_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
