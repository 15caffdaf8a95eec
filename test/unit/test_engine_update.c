/* test_engine_update.c: encoding only what has changed (update.c, delta.h): what comes of it is what encoding
 * the whole gives, under the same promises (P1, P2, P11). How it comes to its end: test_engine_update_ends.c. */
#include "every.h"
#include "member/journal.h"
#include "updates.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void
assert_heals(world *w)
{
    image all = image_take(w->base);
    char  why[1024];

    for (unsigned mask = (unsigned)every_skip(); mask < 1U << N; mask += (unsigned)every_step()) {
        bool lost[JOB_RANKS];

        job_mask(&w->job, mask, lost);
        if (!job_survives(&w->job, lost))
            continue;
        job_lose(&w->job, lost);
        if (job_recover(&w->job) != RSET_OK)
            fail_msg("%s, losses %x: %s", w->what, mask, job_text(&w->job));
        for (int r = 0; r < N; r++) {
            const char *name = path_of("node%d/%s", r, w->job.ranks[r].names[0]);

            if (!image_same(&all, w->base, name, IMAGE_CONTENT, why))
                fail_msg("%s, losses %x: %s", w->what, mask, why);
        }
    }
    image_put(&all, w->base, NULL);
    image_free(&all);
}

static void
an_update_is_an_encode(void **state)
{
    static const unsigned who[] = {0x1f, 1, 2, 0x14, 0};

    (void)state;
    for (int k = 0; k < KINDS; k++) {
        world w;

        update_open(&w, k);
        for (size_t i = 0; i < sizeof who / sizeof *who; i++) {
            if (!write_and_protect(&w, who[i], (int)i + 2))
                fail_msg("%s: not by an update", w.what);
            assert_like_an_encode(&w);
            if (i % 3 == 0)
                assert_heals(&w);
        }
        update_close(&w);
    }
}

/* Each step costs all ranks the time of the slowest message. The last rank has nobody below it in the tree: it sends one
 * message in a step, and to the members that carry its info one each. */
static void
ranks_wait_for_each_other_in_five_steps(void **state)
{
    enum { STEPS = 5 };

    (void)state;
    for (int k = 1; k < KINDS; k++) {
        const update_kind *kind = &update_kinds[k];
        world              w;

        update_open(&w, k);
        if (!write_and_protect(&w, 0, 2))
            fail_msg("%s: not by an update", w.what);
        assert_int_equal(w.job.ranks[N - 1].messages, STEPS + kind->scheme->left(kind->parity));
        update_close(&w);
    }
}

/* Of rank r, wherever a change of rank 0 arrives. */
static void
rot_redundancy(const world *w, int r)
{
    rset_evidence ev;

    evidence_of(w, r, &ev);
    for (size_t b = 0; b < ev.header.payload.nblocks; b++)
        flip_bit(job_redundancy(&w->job, r), (ev.payload_at + b * BLOCK + 2));
    rset_evidence_free(&ev);
}

/* What does not fit the redundancy that is there, or would cost more. */
static void
the_rest_is_encoded(void **state)
{
    static uint8_t much[10 * BLOCK];

    (void)state;
    for (int k = 1; k < KINDS; k++) {
        world w;

        update_open(&w, k);
        growing = 100;
        assert_false(write_and_protect(&w, 1, 2));
        growing = 0;
        assert_like_an_encode(&w);
        update_close(&w);
        update_open(&w, k); /* changed without a journal */
        fill_random(much, sizeof much, 5);
        assert_int_equal(
            rename(job_redundancy(&w.job, 1), path_of("%s.void", job_redundancy(&w.job, 1))), 0);
        write_file(job_data(&w.job, 1), much, update_sizes[1]);
        changing = 0;
        assert_int_equal(job_protect(&w.job), RSET_OK);
        assert_like_an_encode(&w);
        assert_heals(&w);
        update_close(&w);
    }
}

/* P2: the redundancy that would be built on is not what was recorded. Everything is encoded. */
static void
rot_is_not_built_on(void **state)
{
    (void)state;
    for (int k = 1; k < KINDS; k++) {
        world w;

        update_open(&w, k);
        rot_redundancy(&w, 1);
        assert_false(write_and_protect(&w, 1, 2));
        assert_like_an_encode(&w);
        assert_heals(&w);
        update_close(&w);
    }
}

/* Nothing is protected, and all go back to what was. */
static void
assert_goes_back(world *w, const image *before)
{
    char why[1024];

    if (job_recover(&w->job) != RSET_OK)
        fail_msg("%s: %s", w->what, job_text(&w->job));
    for (int r = 0; r < N; r++) {
        const char *name = path_of("node%d/%s", r, w->job.ranks[r].names[0]);

        if (!image_same(before, w->base, name, IMAGE_CONTENT, why))
            fail_msg("%s: %s", w->what, why);
    }
}

/* P2: a block that nobody has written is not what was recorded: in a block of its own, and beside changes in one block. It is
 * noticed where an update reads the block, and else where everything is encoded: because not all was verified, or by SINGLE. */
static void
rot_is_not_protected(void **state)
{
    static const struct {
        bool   verified;
        size_t at;
    } cases[] = {{true, 2 * BLOCK + 9}, {false, 2 * BLOCK + 9}, {false, 5 * BLOCK + 7}, {false, 7}};

    (void)state;
    for (int k = 0; k < KINDS; k++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            world w;
            image before;

            update_open(&w, k);
            before = image_take(w.base);
            w.job.unverified = !cases[i].verified;
            changing = 1;
            version = 2;
            w.job.change = change;
            flip_bit(job_data(&w.job, 0), cases[i].at);
            if (job_protect(&w.job) != RSET_CHANGED)
                fail_msg("%s, rot at %zu: protected", w.what, cases[i].at);
            w.job.change = NULL;
            if (update_kinds[k].scheme->left(update_kinds[k].parity) > 0)
                assert_goes_back(&w, &before);
            image_free(&before);
            update_close(&w);
        }
}

/* P11: so does an encode that took the place of an update. */
static void
an_encode_after_all_goes_forward(void **state)
{
    (void)state;
    for (int k = 1; k < KINDS; k++) {
        world w;

        update_open(&w, k);
        rot_redundancy(&w, 1); /* what the update would build on */
        changing = 1;
        version = 2;
        w.job.change = change;
        job_die_publishing(&w.job, 1U << 0 | 1U << 1);
        w.job.change = NULL;
        assert_true(exists(job_redundancy(&w.job, 1)));
        if (job_recover(&w.job) != RSET_OK || !w.job.ranks[0].out.protected_)
            fail_msg("%s: %s", w.what, job_text(&w.job));
        assert_like_an_encode(&w);
        update_close(&w);
    }
}

/* P2: an entry of the journal cannot be read any more, and with it those that follow. What they say has
 * changed would be taken for unchanged, and later for damage. */
static void
rot_in_the_journal_hides_no_change(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++)
        for (rotten = 0, has_rotten = true; has_rotten; rotten++) {
            world w;

            update_open(&w, k);
            if (write_and_protect(&w, 1, 2) && has_rotten)
                fail_msg("%s: an update, without entry %d of the journal", w.what, rotten);
            assert_like_an_encode(&w);
            if (!has_rotten)
                assert_true(rotten >= 2);
            update_close(&w);
        }
    rotten = -1;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_update_is_an_encode),
        cmocka_unit_test(ranks_wait_for_each_other_in_five_steps),
        cmocka_unit_test(the_rest_is_encoded),
        cmocka_unit_test(rot_is_not_built_on),
        cmocka_unit_test(rot_is_not_protected),
        cmocka_unit_test(an_encode_after_all_goes_forward),
        cmocka_unit_test(rot_in_the_journal_hides_no_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
