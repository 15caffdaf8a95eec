/* test_engine_mixture.c: rot, lost redundancy files and differing ranks must not leave one file new among old ones, or old
 * among new ones (P2), nor refuse where nothing is lost. */
#include "member/placeholder.h"
#include "twice.h"
#include "twice_change.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Of a journal that was just begun, so many bytes of its only head, which begins at HEAD: each EACHth. */
enum { HEAD = 512, EACH = 7, BYTES = 14 };

/* Rank 1's program died while it changed its file, the others closed theirs, and what leads rank 1 back has rotted. */
static void
rotten_journal_is_no_closed_one(twice *w, int byte)
{
    for (int r = 0; r < TWICE_RANKS; r++)
        update(w, r, r == 1 ? 2 : CHANGES, r == 1 ? END_KILLED : END_CLOSED);
    flip_bit(journal_of(w, 1), HEAD + EACH * (size_t)byte);
    if (w->kind.parity == 0)
        twice_assert_refused(w);
    else
        twice_assert_recovers_to(w, &w->new);
}

/* Rank 1's program died while it changed its file, whose redundancy file is lost too: the journal says so, though it has
 * rotted, and nothing else does. */
static void
rotten_journal_alone_says_that_it_changed(twice *w)
{
    update(w, 1, 2, END_KILLED);
    lose_redundancy(w, 1);
    flip_bit(journal_of(w, 1), HEAD);
    if (w->kind.parity == 0)
        twice_assert_refused(w);
    else
        twice_assert_recovers_to(w, &w->new);
}

/* A tool has changed the files of ranks 2 and 3; of rank 2 nothing is recorded any more, but that. Rank 3 is lost, and
 * could go back. */
static void
unknown_but_changed_is_not_left_among_old_ones(twice *w)
{
    change_label = one_process();
    update(w, 2, CHANGES, END_CLOSED);
    change_label = one_process();
    update(w, 3, CHANGES, END_CLOSED);
    change_label = step_of(1);
    hide(w, 2, true);
    assert_left_as_it_is(w);
    twice_lose_node(w, 3);
    twice_assert_refused(w);
}

/* Ranks 0 and 1 died in the middle, the others' were rewritten without us: not all is what a program wrote. */
static void
partially_written_is_not_what_was_written(twice *w)
{
    update(w, 0, 2, END_KILLED);
    update(w, 1, 2, END_KILLED);
    unlink(journal_of(w, 0));
    flip_bit(job_data(&w->job, 2), 5);
    write_file(job_data(&w->job, 3), "rewritten", 9);
    w->job.own_run = true;
    twice_assert_refused(w);
}

/* One rank died in the middle, the others have changed theirs without an undo journal. */
static void
partially_written_is_not_left_among_new_ones(twice *w)
{
    for (int r = 0; r < TWICE_RANKS; r++)
        update(w, r, r == 0 ? 2 : CHANGES, END_KILLED);
    for (int r = 1; r < TWICE_RANKS; r++)
        unlink(journal_of(w, r));
    if (w->kind.scheme == &rset_scheme_partner ||
        w->kind.scheme ==
            &rset_scheme_rs) /* the others have enough to do without an undo journal */
        twice_assert_recovers_to(w, &w->new);
    else
        twice_assert_refused(w);
}

/* A program died while it wrote one shadow file, the old ones are all there; of one nothing is recorded any more. */
static void
nothing_is_lost_by_a_shadow(void **state)
{
    (void)state;
    for (int who = 0; who < TWICE_RANKS; who += 2) {
        twice w;

        twice_open(&w, single);
        snprintf(w.what, sizeof w.what, "rank %d", who);
        write_shadow(&w, who, 3000);
        hide(&w, 2, true);
        assert_int_equal(job_recover(&w.job), RSET_OK);
        assert_data_as(&w, &w.new);
        twice_close(&w);
    }
}

/* A program creates its file where all of it was lost, and dies: what stands under its name is not good. */
static void
a_placeholder_is_a_lost_file(twice *w)
{
    change_of c;
    rset_err  err = RSET_ERR_NONE;

    hide(w, 2, true);
    unlink(job_data(&w->job, 2));
    twice_assert_refused(w);
    change_open(&c, w, 2);
    assert_int_equal(rset_placeholder_make(&c.local, &err), RSET_OK);
    change_close(&c, END_KILLED);
    write_shadow(w, 2, 3000);
    twice_assert_refused(w);
}

/* Rank 1's program died over its file, whose redundancy file is lost as well; all create theirs anew, and close them
 * without protection: they are the program's. */
static void
created_anew_by_all_stays(twice *w)
{
    update(w, 1, 2, END_KILLED);
    hide(w, 1, true);
    for (int r = 0; r < TWICE_RANKS; r++) {
        write_shadow(w, r, 3000);
        put_in_place(w, r);
    }
    assert_left_as_it_is(w);
}

/* Ranks that verify in different ways come to the same (P4). */
static void
verified_in_different_ways(void **state)
{
    (void)state;
    for (unsigned by_size = 1; by_size < 16; by_size += 2)
        for (int loss = 0; loss < 3; loss++) {
            twice w;

            twice_open(&w, twice_kinds[1]);
            snprintf(w.what, sizeof w.what, "ranks %x, loss %d", by_size, loss);
            w.job.by_size = by_size;
            if (loss == 0)
                flip_bit(job_data(&w.job, 1), 5);
            else
                hide(&w, 1, true);
            if (loss == 2)
                write_shadow(&w, 3, 1);
            assert_int_equal(job_recover(&w.job), RSET_OK);
            if (loss != 0 || (by_size & 2) == 0)
                twice_assert_image(&w, &w.new, "node1/ckpt_1.h5", IMAGE_CONTENT);
            twice_close(&w);
        }
}

/* Each rank's file is whole, but rank r's is of another step: all are rolled back. */
static void
closed_in_two_steps_is_rolled_back(twice *w, int r)
{
    for (int i = 0; i < TWICE_RANKS; i++) {
        change_label = step_of(i == r ? 2 : 1);
        update(w, i, CHANGES, END_CLOSED);
    }
    change_label = step_of(1);
    twice_assert_recovers_to(w, &w->new);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TWICE_TEST_FOR(rotten_journal_is_no_closed_one, EACH_KIND | KIND_SINGLE, 0, BYTES),
        TWICE_TEST(rotten_journal_alone_says_that_it_changed, EACH_KIND | KIND_SINGLE),
        TWICE_TEST(unknown_but_changed_is_not_left_among_old_ones, KIND_PARTNER),
        TWICE_TEST(partially_written_is_not_what_was_written, KIND_XOR),
        TWICE_TEST(partially_written_is_not_left_among_new_ones, EACH_KIND | KIND_SINGLE),
        cmocka_unit_test(nothing_is_lost_by_a_shadow),
        TWICE_TEST(a_placeholder_is_a_lost_file, KIND_SINGLE),
        TWICE_TEST(created_anew_by_all_stays, EACH_KIND | KIND_SINGLE),
        cmocka_unit_test(verified_in_different_ways),
        TWICE_TEST_FOR(closed_in_two_steps_is_rolled_back, EACH_KIND, 0, TWICE_RANKS),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
