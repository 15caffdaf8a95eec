/* test_engine_alone.c: one process alone uses one rank's file, as h5ls does, or a rank whose peers did not come; then all
 * ranks open theirs. What it did must not leave that file old among new ones, nor remove what others need (P2, P11). */
#include "twice.h"
#include "twice_change.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* All have changed their files and closed them, not protected; rank 1's is lost, or its node, or the data and what says
 * that it was changed. Brought back alone it is what was protected last: all go there. */
static void
brought_back_alone_all_go_back(void **state)
{
    (void)state;
    for (int k = 0; k < TWICE_KINDS; k++)
        for (int lost = 0; lost < 3; lost++) {
            twice w;

            twice_open(&w, twice_kinds[k]);
            snprintf(w.what, sizeof w.what, "kind %d, loss %d", k, lost);
            update_all(&w, CHANGES, RSET_JOURNAL_CLOSED);
            if (lost == 1)
                twice_lose_node(&w, 1);
            else
                unlink(job_data(&w.job, 1));
            if (lost == 2)
                lose_redundancy(&w, 1);
            assert_int_equal(job_recover_alone(&w.job, 1), RSET_OK);
            twice_assert_image(&w, &w.new, "node1/ckpt_1.h5", IMAGE_CONTENT);
            twice_assert_recovers_to(&w, &w.new);
            twice_close(&w);
        }
}

/* ... also when those that have changed theirs are out of its sight. */
static void
out_of_sight_all_go_back(void **state)
{
    (void)state;
    for (int k = 0; k < TWICE_KINDS; k++) {
        twice w;

        twice_open(&w, twice_kinds[k]);
        update(&w, 3, CHANGES, RSET_JOURNAL_CLOSED);
        unlink(job_data(&w.job, 1));
        hide(&w, 3, true);
        if (job_recover_alone(&w.job, 1) == RSET_OK)
            twice_assert_image(&w, &w.new, "node1/ckpt_1.h5", IMAGE_CONTENT);
        hide(&w, 3, false);
        twice_assert_recovers_to(&w, &w.new);
        twice_close(&w);
    }
}

/* Rank 1 died while it changed its file, the others closed theirs; its redundancy file is lost on top. */
static void
taken_back_without_header_all_go_back(void **state)
{
    (void)state;
    for (int k = 0; k < TWICE_KINDS; k++) {
        twice w;

        twice_open(&w, twice_kinds[k]);
        for (int r = 0; r < TWICE_RANKS; r++)
            update(&w, r, r == 1 ? 2 : CHANGES, r == 1 ? RSET_JOURNAL_LEAVE : RSET_JOURNAL_CLOSED);
        lose_redundancy(&w, 1);
        assert_int_equal(job_recover_alone(&w.job, 1), RSET_OK);
        twice_assert_recovers_to(&w, &w.new);
        twice_close(&w);
    }
}

/* What was brought back alone is changed and closed, by a tool: one process has it as it is, all together go back. */
static void
changed_after_brought_back_all_go_back(void **state)
{
    (void)state;
    for (int k = 0; k < TWICE_KINDS; k++)
        for (int lost = 0; lost < 2; lost++) {
            twice w;
            image written;

            twice_open(&w, twice_kinds[k]);
            snprintf(w.what, sizeof w.what, "kind %d, loss %d", k, lost);
            update_all(&w, CHANGES, RSET_JOURNAL_CLOSED);
            if (lost == 1)
                twice_lose_node(&w, 1);
            else
                unlink(job_data(&w.job, 1));
            assert_int_equal(job_recover_alone(&w.job, 1), RSET_OK);
            update(&w, 1, 2, RSET_JOURNAL_CLOSED);
            update(&w, 1, 3, RSET_JOURNAL_CLOSED);
            written = image_take(w.base);
            assert_int_equal(job_recover_alone(&w.job, 1), RSET_OK);
            twice_assert_image(&w, &written, NULL, IMAGE_CONTENT);
            image_free(&written);
            twice_assert_recovers_to(&w, &w.new);
            twice_close(&w);
        }
}

/* ... but where nobody else has changed anything, what the tool wrote is kept, and the sign is over. */
static void
changed_after_brought_back_stays(void **state)
{
    (void)state;
    for (int k = 0; k < TWICE_KINDS; k++)
        for (int later = 0; later < 2; later++) {
            twice w;
            image written;

            twice_open(&w, twice_kinds[k]);
            snprintf(w.what, sizeof w.what, "kind %d, %d", k, later);
            unlink(job_data(&w.job, 1));
            lose_redundancy(&w, 3); /* so it does not see all */
            assert_int_equal(job_recover_alone(&w.job, 1), RSET_OK);
            update(&w, 1, 3, RSET_JOURNAL_CLOSED);
            if (later) { /* and its redundancy file is lost, and it is changed again */
                lose_redundancy(&w, 1);
                update(&w, 1, 2, RSET_JOURNAL_CLOSED);
            }
            w.job.leave_litter = true; /* opened to be read */
            written = image_take(w.base);
            assert_int_equal(job_recover(&w.job), RSET_OK);
            assert_data_as(&w, &written);
            image_free(&written);
            update(&w, 2, CHANGES, RSET_JOURNAL_CLOSED);
            assert_left_as_it_is(&w);
            twice_close(&w);
        }
}

static int         taken_back;
static const char *too_early;

static int
watch_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    const int  before = __atomic_load_n(&taken_back, __ATOMIC_SEQ_CST);
    const bool data = strstr(from, RSET_SUFFIX_FIX) != NULL && strstr(to, "redset") == NULL;

    if (data && strcmp(to, "ckpt_1.h5") == 0 && before < TWICE_RANKS - 1)
        too_early = to;
    if (data)
        __atomic_add_fetch(&taken_back, 1, __ATOMIC_SEQ_CST);
    return rset_sys_posix.renameat(from_dir, from, to_dir, to);
}

/* Should the job die while all go back, the next open has to see why: who has the sign is the last. */
static void
the_sign_is_the_last_to_go(void **state)
{
    rset_sys table = rset_sys_posix;

    (void)state;
    table.renameat = watch_renameat;
    for (int k = 0; k < TWICE_KINDS; k++) {
        twice w;

        twice_open(&w, twice_kinds[k]);
        update_all(&w, CHANGES, RSET_JOURNAL_CLOSED);
        unlink(job_data(&w.job, 1));
        assert_int_equal(job_recover_alone(&w.job, 1), RSET_OK);
        update(&w, 1, 2, RSET_JOURNAL_CLOSED);
        taken_back = 0;
        too_early = NULL;
        rset_sys_use(&table);
        assert_int_equal(job_recover(&w.job), RSET_OK);
        rset_sys_use(NULL);
        assert_null(too_early);
        assert_int_equal(taken_back, TWICE_RANKS);
        twice_close(&w);
    }
}

/* Nobody had changed anything when one was brought back out of sight of the others: what is lost then, or changed and
 * closed when all had opened theirs, is none of its business. */
static void
a_sign_is_not_for_ever(void **state)
{
    (void)state;
    for (int k = 0; k < TWICE_KINDS; k++)
        for (int then = 0; then < 2; then++) {
            twice w;

            twice_open(&w, twice_kinds[k]);
            unlink(job_data(&w.job, 1));
            lose_redundancy(&w, 3); /* so it does not see all */
            assert_int_equal(job_recover_alone(&w.job, 1), RSET_OK);
            assert_true(exists(beside_of(&w, 1, RSET_NAME_JOURNAL)));
            if (then == 0)
                lose_redundancy(&w, 2);
            w.job.leave_litter = true; /* opened to be read */
            assert_int_equal(job_recover(&w.job), RSET_OK);
            assert_data_as(&w, &w.new);
            if (then == 1) {
                for (int r = 2; r < TWICE_RANKS; r++)
                    update(&w, r, CHANGES, RSET_JOURNAL_CLOSED);
                assert_left_as_it_is(&w);
            }
            twice_close(&w);
        }
}

/* Only its redundancy file is lost of a file that was changed and closed: it is what the program wrote. */
static void
closed_without_header_is_left_alone(void **state)
{
    (void)state;
    for (int k = 0; k < TWICE_KINDS; k++) {
        twice w;
        image written;

        twice_open(&w, twice_kinds[k]);
        update_all(&w, CHANGES, RSET_JOURNAL_CLOSED);
        lose_redundancy(&w, 1);
        written = image_take(w.base);
        assert_int_equal(job_recover_alone(&w.job, 1), RSET_OK);
        twice_assert_image(&w, &written, NULL, IMAGE_CONTENT);
        assert_left_as_it_is(&w);
        image_free(&written);
        twice_close(&w);
    }
}

/* Nobody has changed anything, and it sees all: nothing is left behind. */
static void
brought_back_in_sight_of_all_is_as_before(void **state)
{
    (void)state;
    for (int k = 0; k < TWICE_KINDS; k++) {
        twice w;

        twice_open(&w, twice_kinds[k]);
        unlink(job_data(&w.job, 1));
        assert_int_equal(job_recover_alone(&w.job, 1), RSET_OK);
        twice_assert_image(&w, &w.new, NULL, IMAGE_CONTENT);
        twice_close(&w);
    }
}

/* A commit was decided on, rank 0 has published; rank 1's own redundancy file is lost. What it has complete is needed
 * when node 2 is lost as well. */
static void
a_commit_keeps_what_it_needs(void **state)
{
    (void)state;
    for (int k = 0; k < TWICE_KINDS; k++) {
        twice w;
        image written;

        twice_open(&w, twice_kinds[k]);
        update_all(&w, CHANGES, RSET_JOURNAL_LEAVE);
        job_die_publishing(&w.job, 1U << 0);
        written = image_take(w.base);
        lose_redundancy(&w, 1);
        assert_int_equal(job_recover_alone(&w.job, 1), RSET_OK);
        twice_assert_image(&w, &written, "node1/ckpt_1.h5", IMAGE_CONTENT);
        twice_lose_node(&w, 2);
        assert_int_equal(job_recover(&w.job), RSET_OK);
        assert_true(w.job.ranks[0].out.protected_);
        assert_data_as(&w, &written);
        image_free(&written);
        twice_close(&w);
    }
}

/* A commit in vain, and a later job that died over a change on top: what is half changed is not what the commit has. */
static void
half_changed_after_a_commit_is_not_opened(void **state)
{
    twice     w;
    change_of c;
    rset_err  err = RSET_ERR_NONE;

    (void)state;
    twice_open(&w, twice_kinds[1]);
    update_all(&w, CHANGES, RSET_JOURNAL_CLOSED);
    job_die_publishing(&w.job, 0);
    assert_int_equal(job_recover(&w.job), RSET_OK);
    change_open(&c, &w, 1);
    assert_int_equal(rset_journal_begin(&c.local, &c.ev, true, &c.journal, &err), RSET_OK);
    change_bytes(&c, &w, 1, 20000, 3000);
    change_close(&c, RSET_JOURNAL_LEAVE);
    assert_int_equal(job_recover_alone(&w.job, 1), RSET_LOST);
    twice_assert_recovers_to(&w, &w.new);
    twice_close(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(brought_back_alone_all_go_back),
        cmocka_unit_test(out_of_sight_all_go_back),
        cmocka_unit_test(taken_back_without_header_all_go_back),
        cmocka_unit_test(changed_after_brought_back_all_go_back),
        cmocka_unit_test(changed_after_brought_back_stays),
        cmocka_unit_test(the_sign_is_the_last_to_go),
        cmocka_unit_test(a_sign_is_not_for_ever),
        cmocka_unit_test(closed_without_header_is_left_alone),
        cmocka_unit_test(brought_back_in_sight_of_all_is_as_before),
        cmocka_unit_test(a_commit_keeps_what_it_needs),
        cmocka_unit_test(half_changed_after_a_commit_is_not_opened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
