/* test_engine_back.c: rolling back a file changed in place (journal.h; P2, P3, P4): an update that was
 * interrupted is rolled back, one that was closed stays as long as nothing is missing. Shadow files are in
 * test_engine_shadow.c. "new" below is what was protected last. */
#include "twice.h"
#include "twice_change.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void
interrupted_update_is_taken_back(twice *w, int number)
{
    const unsigned who = (unsigned)number;

    for (int n = 0; n <= CHANGES; n++) {
        snprintf(w->what, sizeof w->what, "%s, ranks %x, %d changes", w->kind.scheme->name, who, n);
        for (int r = 0; r < TWICE_RANKS; r++)
            if (who >> r & 1)
                update(w, r, n, END_KILLED);
        if (n % 2 == 1) /* and a node is lost on top */
            twice_lose_node(w, (int)(who % TWICE_RANKS));
        twice_assert_recovers_to(w, &w->new);
    }
}

/* Also with verify=size or read: the mark goes with the journal, and what rots later is damage. */
static void
rolled_back_is_protected_again(twice *w)
{
    update(w, 1, CHANGES, END_KILLED);
    w->job.content = RSET_CONTENT_NONE;
    twice_assert_recovers_to(w, &w->new);
    for (int r = 0; r < TWICE_RANKS; r++)
        assert_false(exists(path_of("%s" RSET_SUFFIX_VOID, job_redundancy(&w->job, r))));
    flip_bit(job_data(&w->job, 1), 5);
    w->job.content = RSET_CONTENT_ALL;
    twice_assert_recovers_to(w, &w->new);
}

/* P2: fewer ranks take the files back as all would, what is out of their reach counts as lost; and all can go on from there. */
static void
fewer_ranks_take_it_back(twice *w)
{
    char why[1024];

    update_all(w, CHANGES, END_KILLED);
    w->job.n = TWICE_RANKS - 1;
    assert_int_equal(job_recover(&w->job), RSET_OK);
    for (int r = 0; r < w->job.n; r++)
        if (!image_same_file(&w->new, path_of("node%d/ckpt_%d.h5", r, r), job_data(&w->job, r),
                             why))
            fail_msg("%s", why);
    w->job.n = TWICE_RANKS;
    assert_int_equal(job_recover(&w->job), RSET_OK);
    for (int r = 0; r < w->job.n; r++)
        if (!image_same_file(&w->new, path_of("node%d/ckpt_%d.h5", r, r), job_data(&w->job, r),
                             why))
            fail_msg("%s", why);
}

static void
shortened_file_is_taken_back(twice *w)
{
    change_of c;
    rset_err  err = RSET_ERR_NONE;

    change_open(&c, w, 0);
    assert_int_equal(rset_change_begin(&c.local, &c.ev, true, &c.journal, &err), RSET_OK);
    assert_int_equal(rset_journal_save(c.journal, 100, UINT64_MAX - 100, &err), RSET_OK);
    assert_int_equal(truncate(job_data(&w->job, 0), 100), 0);
    change_close(&c, END_KILLED);
    twice_lose_node(w, 2);
    twice_assert_recovers_to(w, &w->new);
}

/* Alone, too, and without any other member's files. */
static void
interrupted_update_is_rolled_back_serially(twice *w)
{
    update(w, 1, CHANGES, END_KILLED);
    for (int r = 0; r < TWICE_RANKS; r++)
        if (r != 1)
            twice_lose_node(w, r);
    assert_int_equal(job_recover_serial(&w->job, 1), RSET_OK);
    twice_assert_image(w, &w->new, job_data(&w->job, 1) + strlen(w->base) + 1, IMAGE_CONTENT);
}

/* P11: one process that takes a rank's file back, as h5ls does, leaves the sign that a program died over it: all others
 * go back as well then. */
static void
rolled_back_serially_all_go_back(twice *w)
{
    for (int r = 0; r < TWICE_RANKS; r++)
        update(w, r, CHANGES, r == 1 ? END_KILLED : END_CLOSED);
    for (int times = 0; times < 2; times++) {
        assert_int_equal(job_recover_serial(&w->job, 1), RSET_OK);
        twice_assert_image(w, &w->new, job_data(&w->job, 1) + strlen(w->base) + 1, IMAGE_CONTENT);
    }
    twice_assert_recovers_to(w, &w->new);
}

static void
die_after_first_published(twice *w)
{
    update_all(w, CHANGES, END_KILLED);
    job_die_publishing(&w->job, 1U << 0);
}

/* P11: nor does it roll back what may have been decided on already. */
static void
serial_leaves_a_commit_alone(twice *w)
{
    image written;

    die_after_first_published(w);
    written = image_take(w->base);
    for (int r = 1; r < TWICE_RANKS; r++)
        assert_int_equal(job_recover_serial(&w->job, r), RSET_OK);
    assert_int_equal(job_recover(&w->job), RSET_OK);
    assert_data_as(w, &written);
    image_free(&written);
}

/* P2: whose data was rolled back does not vote for what it would have published with it. The node of the only one that has
 * published was away meanwhile: what it has is named, and does not count once it is removed. */
static void
rolled_back_does_not_vote(twice *w)
{
    image cut;

    die_after_first_published(w);
    cut = image_take(w->base);
    twice_lose_node(w, 0);
    w->job.leave_orphans = true; /* as when files are opened for reading */
    assert_int_equal(job_recover(&w->job), RSET_OK);
    w->job.leave_orphans = false;
    twice_node_as(w, &cut, 0);
    twice_assert_refused(w);
    assert_non_null(strstr(job_text(&w->job), "the file of rank 0 has a newer commit"));
    twice_lose_node(w, 0);
    twice_assert_recovers_to(w, &w->new);
    image_free(&cut);
}

static void
closed_update_stays_while_nothing_is_missing(twice *w)
{
    update_all(w, CHANGES, END_CLOSED);
    assert_left_as_it_is(w);
    assert_int_equal(job_recover_serial(&w->job, 1), RSET_OK);
    update(w, 3, 2, END_CLOSED); /* once more, on top */
    assert_left_as_it_is(w);
    twice_lose_node(w, 2);
    twice_assert_recovers_to(w, &w->new);
}

static void
one_interrupted_update_takes_all_back(twice *w)
{
    update_all(w, CHANGES, END_CLOSED);
    update(w, 3, 1, END_KILLED); /* goes on after it was closed */
    twice_assert_recovers_to(w, &w->new);
}

/* P2: files are rolled back, and of another nobody knows any more what it was: it is not left, as it is, among
 * them. */
static void
unknown_file_is_not_left_among_old_ones(twice *w)
{
    const int last = w->kind.parity == 0 ? 2 : 3; /* whoever records what rank 2's file was */

    update_all(w, CHANGES, END_CLOSED);
    update(w, 0, 1, END_KILLED);
    for (int holder = 2; holder <= last; holder++)
        hide(w, holder, true);
    twice_assert_refused(w);
    assert_non_null(strstr(job_text(&w->job), "the file of rank 2"));
    for (int holder = 2; holder <= last; holder++)
        hide(w, holder, false);
    twice_assert_recovers_to(w, &w->new);
}

/* The redundancy file is lost on top, and with it what the journal leads to: whoever records it elsewhere brings it back,
 * else what is partially written is nobody's to open. What was closed is as good as any without redundancy file. */
static void
partially_written_without_header_is_not_good(twice *w, int closed)
{
    change_label = one_process();
    update(w, 1, 2, closed ? END_CLOSED : END_KILLED);
    change_label = step_of(1);
    assert_int_equal(unlink(path_of("%s" RSET_SUFFIX_VOID, job_redundancy(&w->job, 1))), 0);
    if (closed)
        assert_left_as_it_is(w);
    else if (w->kind.parity > 0)
        twice_assert_recovers_to(w, &w->new);
    else
        twice_assert_refused(w);
}

/* ... and it takes all others with it, where these have lost theirs as well, also if the next program creates it once
 * more and closes it without protection: then it is whole. */
static void
created_over_partially_written_is_whole(twice *w)
{
    for (int r = 0; r < TWICE_RANKS; r++) {
        update(w, r, 2, r == 1 ? END_KILLED : END_CLOSED);
        assert_int_equal(unlink(path_of("%s" RSET_SUFFIX_VOID, job_redundancy(&w->job, r))), 0);
    }
    twice_assert_refused(w);
    write_shadow(w, 1, 3000);
    put_in_place(w, 1);
    assert_left_as_it_is(w);
}

/* P2: what a torn or planted journal leads to is believed only with the recorded checksum. */
static void
damaged_journal_is_damage(void **state)
{
    (void)state;
    for (size_t at = 0; at < 13000; at += at < 64 ? 1 : 811) {
        twice w;

        twice_open(&w, twice_kinds[1]);
        snprintf(w.what, sizeof w.what, "byte %zu of the journal", at);
        update(&w, 0, CHANGES, END_KILLED);
        flip_bit(journal_of(&w, 0), at);
        twice_assert_recovers_to(&w, &w.new);
        twice_close(&w);
    }
}

/* What has changed without being kept cannot be rolled back, and says so by having none. */
static void
change_without_journal_ends_the_way_back(void **state)
{
    twice     w;
    change_of c;
    rset_err  err = RSET_ERR_NONE;

    (void)state;
    twice_open(&w, twice_kinds[1]);
    update(&w, 0, 2, END_CLOSED);
    change_open(&c, &w, 0);
    assert_int_equal(rset_change_begin(&c.local, &c.ev, false, &c.journal, &err), RSET_OK);
    assert_false(rset_journal_leads_back(c.journal));
    change_bytes(&c, &w, 0, 20000, 10);
    change_close(&c, END_KILLED);
    change_open(&c, &w, 0); /* nor does it get one later */
    assert_int_equal(rset_change_begin(&c.local, &c.ev, true, &c.journal, &err), RSET_OK);
    assert_false(rset_journal_leads_back(c.journal));
    change_close(&c, END_KILLED);
    change_open(&c, &w, 0);
    assert_int_equal(c.ev.undo.head.flags, 0);
    change_close(&c, END_KILLED);
    twice_lose_node(&w, 2);
    twice_assert_refused(&w);
    twice_close(&w);
    twice_open(&w, twice_kinds[1]); /* ... but it can be rebuilt */
    update(&w, 0, 2, END_BLIND);
    twice_assert_recovers_to(&w, &w.new);
    twice_close(&w);
}

/* Changes without a journal are what the user wanted: where they cannot be undone either, all ranks open the files as they are, and so
 * does one process alone. */
static void
changes_without_journal_stay(twice *w)
{
    image written;

    for (int r = 0; r < TWICE_RANKS; r++)
        update(w, r, 2, END_BLIND);
    written = image_take(w->base);
    assert_int_equal(job_recover_serial(&w->job, 1), RSET_OK);
    assert_data_as(w, &written);
    assert_int_equal(job_recover(&w->job), RSET_OK);
    assert_data_as(w, &written);
    image_free(&written);
}

/* What a program is changing now is nobody else's to roll back. */
static void
change_in_progress_is_refused(twice *w)
{
    change_of c;
    rset_err  err = RSET_ERR_NONE;
    image     before;

    change_open(&c, w, 0);
    assert_int_equal(rset_change_begin(&c.local, &c.ev, true, &c.journal, &err), RSET_OK);
    change_bytes(&c, w, 0, 5, 5);
    before = image_take(w->base);
    assert_int_equal(job_recover(&w->job), RSET_BUSY);
    assert_non_null(strstr(job_text(&w->job), "another process"));
    assert_int_equal(job_recover_serial(&w->job, 0), RSET_OK);
    twice_assert_image(w, &before, NULL, IMAGE_UNTOUCHED);
    image_free(&before);
    change_close(&c, END_KILLED);
    twice_assert_recovers_to(w, &w->new);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TWICE_TEST_FOR(interrupted_update_is_taken_back, EACH_KIND, 1, 16),
        TWICE_TEST(rolled_back_is_protected_again, KIND_XOR | KIND_RS),
        TWICE_TEST(rolled_back_serially_all_go_back, KIND_XOR),
        TWICE_TEST(serial_leaves_a_commit_alone, KIND_XOR),
        TWICE_TEST(rolled_back_does_not_vote, KIND_XOR),
        TWICE_TEST(fewer_ranks_take_it_back, KIND_XOR),
        TWICE_TEST(shortened_file_is_taken_back, KIND_XOR),
        TWICE_TEST(interrupted_update_is_rolled_back_serially, KIND_XOR),
        TWICE_TEST(closed_update_stays_while_nothing_is_missing, EACH_KIND),
        TWICE_TEST(one_interrupted_update_takes_all_back, KIND_XOR),
        TWICE_TEST(unknown_file_is_not_left_among_old_ones, KIND_SINGLE | KIND_PARTNER),
        TWICE_TEST_FOR(partially_written_without_header_is_not_good, EACH_KIND | KIND_SINGLE, 0, 2),
        TWICE_TEST(created_over_partially_written_is_whole, KIND_SINGLE),
        cmocka_unit_test(damaged_journal_is_damage),
        cmocka_unit_test(change_without_journal_ends_the_way_back),
        TWICE_TEST(changes_without_journal_stay, KIND_XOR),
        TWICE_TEST(change_in_progress_is_refused, KIND_XOR),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
