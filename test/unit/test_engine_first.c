/* test_engine_first.c: files of which nothing is protected yet, or any more (P2, P3, P11): written for the first time by
 * a job that dies, or in the place of what a rank has lost; and first commits that are cut short. */
#include "twice.h"
#include "twice_change.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

/* Rank r creates its file, of which it knows nothing, writes into it, and its program ends like that. */
static void
create(const job *j, int r, change_end end)
{
    const twice w = {.job = *j};
    change_of   c;
    rset_err    err = RSET_ERR_NONE;

    change_open(&c, &w, r);
    assert_false(c.ev.any);
    assert_int_equal(rset_change_begin_first(&c.local, &c.ev, &c.journal, &err), RSET_OK);
    write_file(job_data(j, r), "half", 4);
    change_close(&c, end);
}

static void
assert_file(const char *path, const char *bytes, size_t len)
{
    size_t   size;
    uint8_t *data = read_file(path, &size);

    assert_int_equal(size, len);
    assert_memory_equal(data, bytes, len);
    free(data);
}

static const char *
near(const job *j, int r, const char *name)
{
    return path_of("%s/%s%s", j->ranks[r].dir, j->ranks[r].prefix, name);
}

static void
assert_all_ask(const job *j)
{
    for (int r = 0; r < j->n; r++)
        if (!j->ranks[r].asks)
            fail_msg("rank %d would not have come, and the others have waited", r);
}

enum { SHADOWS = 1, TORN = 2, CASES = 4 };

/* P2: node 1 was lost, and the program, which did not open the files before, died while it created them: what rank 1 has
 * is half written, although nothing there says that it was ever protected. Nor is it good where all that a power failure
 * left of the journal is its name. */
static void
half_written_is_not_good(twice *w, int number)
{
    const unsigned c = (unsigned)number;

    twice_lose_node(w, 1);
    create(&w->job, 1, END_KILLED);
    if ((c & TORN) != 0)
        assert_int_equal(truncate(journal_in(w->job.ranks[1].dir, w->job.ranks[1].prefix), 0), 0);
    for (int r = 0; (c & SHADOWS) != 0 && r < TWICE_RANKS; r += r == 0 ? 2 : 1)
        write_shadow(w, r, 4);
    if (w->kind.parity == 0)
        twice_assert_refused(w);
    else
        twice_assert_recovers_to(w, &w->new);
    assert_all_ask(&w->job);
}

/* ... nor when it is created once more, on top, nor when all that a power failure left of the journal is its name. */
static void
half_written_twice_is_not_good(twice *w, int torn)
{
    twice_lose_node(w, 1);
    create(&w->job, 1, END_CLOSED);
    if (torn != 0)
        assert_int_equal(truncate(journal_in(w->job.ranks[1].dir, w->job.ranks[1].prefix), 0), 0);
    if (torn != 1)
        create(&w->job, 1, END_KILLED);
    twice_assert_recovers_to(w, &w->new);
}

/* Closed by all, but not protected: the program's, though rank 1 has lost what it was before. */
static void
complete_stays(twice *w)
{
    image before;

    twice_lose_node(w, 1);
    create(&w->job, 1, END_CLOSED);
    for (int r = 0; r < TWICE_RANKS; r += r == 0 ? 2 : 1)
        update(w, r, CHANGES, END_CLOSED);
    before = image_take(w->base);
    assert_int_equal(job_recover(&w->job), RSET_OK);
    assert_false(w->job.ranks[0].out.protected_);
    assert_all_ask(&w->job);
    assert_data_as(w, &before);
    image_free(&before);
}

/* Rank 1 has lost its node and created its file anew, alone: the others never came to close theirs. */
static void
created_by_one_is_not_left_among_old_ones(twice *w)
{
    twice_lose_node(w, 1);
    create(&w->job, 1, END_CLOSED);
    twice_assert_recovers_to(w, &w->new);
}

/* Who opens a file that was closed without protection, and changes it, has a partially written one again. */
static void
changed_once_more_is_not_complete(twice *w)
{
    rset_err  err = RSET_ERR_NONE;
    change_of c;

    twice_lose_node(w, 1);
    create(&w->job, 1, END_CLOSED);
    change_open(&c, w, 1);
    assert_int_equal(rset_change_begin(&c.local, &c.ev, true, &c.journal, &err), RSET_OK);
    assert_non_null(c.journal);
    change_close(&c, END_KILLED);
    change_open(&c, w, 1);
    assert_int_equal(c.ev.undo.head.state, RSET_UNDO_OPEN);
    change_close(&c, END_KILLED);
    twice_assert_recovers_to(w, &w->new);
}

/* P2: nor where no rank has a redundancy file left to say what it was. */
static void
half_written_and_nobody_knows(twice *w)
{
    twice_lose_node(w, 1);
    create(&w->job, 1, END_KILLED);
    for (int r = 0; r < TWICE_RANKS; r += r == 0 ? 2 : 1) {
        assert_int_equal(unlink(job_redundancy(&w->job, r)), 0);
        assert_int_equal(truncate(job_descriptor(&w->job, r), 3), 0);
    }
    twice_assert_refused(w);
    assert_non_null(strstr(job_text(&w->job), "the file of rank 1"));
}

/* The rank has prepared what protects its file, and not published it. */
static void
unpublish(const twice *w, int r)
{
    const char *names[] = {job_redundancy(&w->job, r), job_descriptor(&w->job, r)};

    for (int i = 0; i < 2; i++)
        assert_int_equal(rename(names[i], path_of("%s" RSET_SUFFIX_NEW, names[i])), 0);
}

/* P11: fewer ranks remove nothing that those who are not there may have published. */
static void
fewer_ranks_remove_nothing(twice *w)
{
    for (int r = 0; r < TWICE_RANKS; r++) {
        removexattr(job_data(&w->job, r), "user.redset");
        if (r < TWICE_RANKS - 1)
            unpublish(w, r);
    }
    for (w->job.n = 1; w->job.n < TWICE_RANKS; w->job.n++)
        assert_int_equal(job_recover(&w->job), RSET_ABSENT);
    twice_lose_node(w, 2);
    twice_assert_recovers_to(w, &w->new);
}

/* A job dies over its first files, in the ranks in `now` while they were written: there is nothing to go back to. They are
 * opened as they are with a warning that stays, or not at all, as the user wants it. */
static void
died_at_the_first_time(void **state)
{
    (void)state;
    for (unsigned now = 0; now < 16; now++) {
        job   j;
        char *base = scratch_make();

        job_init(&j, base, TWICE_RANKS, &rset_scheme_xor, 1, TWICE_RANKS);
        for (int r = 0; r < TWICE_RANKS; r++)
            create(&j, r, (now >> r & 1) != 0 ? END_KILLED : END_CLOSED);
        j.required = true;
        assert_int_equal(job_recover(&j), now != 0 ? RSET_LOST : RSET_OK);
        j.required = false;
        for (int times = 0; times < 2; times++) {
            assert_int_equal(job_recover(&j), RSET_OK);
            assert_all_ask(&j);
            assert_false(j.ranks[0].out.protected_ || j.ranks[0].out.reprotect);
            assert_non_null(
                strstr(j.ranks[0].out.note, now == 0 ? "never protected" : "partially written"));
            for (int r = 0; r < TWICE_RANKS; r++)
                assert_true(exists(journal_in(j.ranks[r].dir, j.ranks[r].prefix)));
        }
        job_free(&j);
        remove_tree(base);
        free(base);
    }
}

/* What a program is writing now is nobody else's. */
static void
being_written_is_refused(twice *w)
{
    rset_err  err = RSET_ERR_NONE;
    change_of c;

    twice_lose_node(w, 1);
    change_open(&c, w, 1);
    assert_int_equal(rset_change_begin_first(&c.local, &c.ev, &c.journal, &err), RSET_OK);
    write_file(job_data(&w->job, 1), "half", 4);
    assert_int_equal(job_recover(&w->job), RSET_BUSY);
    assert_non_null(strstr(job_text(&w->job), "another process"));
    change_close(&c, END_KILLED);
    twice_assert_recovers_to(w, &w->new);
}

/* ... nor where another process has rebuilt what the rank had lost after that had looked, and before it began to write. */
static void
being_written_over_what_was_rebuilt_is_refused(twice *w, int begun)
{
    rset_err    err = RSET_ERR_NONE;
    const char *data = job_data(&w->job, 1);
    change_of   c;

    twice_lose_node(w, 1);
    change_open(&c, w, 1);
    assert_int_equal(job_recover(&w->job), RSET_OK);
    assert_int_equal(rset_change_begin_first(&c.local, &c.ev, &c.journal, &err), RSET_OK);
    assert_int_equal(unlink(data), 0);
    if (begun != 0)
        write_file(data, "half", 4);
    assert_int_equal(job_recover(&w->job), RSET_BUSY);
    if (begun != 0)
        assert_file(data, "half", 4);
    else
        assert_false(exists(data));
    change_close(&c, END_KILLED);
    w->job.keep_changed = true; /* partially written is not changed by somebody who wants it so */
    assert_int_equal(job_recover(&w->job), RSET_OK);
    assert_data_as(w, &w->new);
}

/* P11: the very first commit, cut short when the ranks in `published` had published; on storage without attributes. All
 * come, and it goes forward. */
static void
first_commit_goes_forward(twice *w, int number)
{
    const unsigned published = (unsigned)number;

    for (int r = 0; r < TWICE_RANKS; r++) {
        removexattr(job_data(&w->job, r), "user.redset");
        if ((published >> r & 1) == 0)
            unpublish(w, r);
    }
    twice_assert_recovers_to(w, &w->new);
    assert_all_ask(&w->job);
}

/* A job died when rank 1 had published its commit, and somebody has removed all data files since: they are deleted, as at any other time,
 * and redundancy that could make them anew does not do so unasked. */
static void
deleted_after_a_decided_commit(twice *w)
{
    for (int r = 0; r < TWICE_RANKS; r++) {
        if (r != 1)
            unpublish(w, r);
        assert_int_equal(unlink(job_data(&w->job, r)), 0);
    }
    assert_int_equal(job_recover(&w->job), RSET_ABSENT);
    for (int r = 0; r < TWICE_RANKS; r++) {
        assert_true(w->job.ranks[r].out.never);
        assert_int_equal(w->job.ranks[r].out.reason, RSET_REASON_DELETED);
        assert_false(exists(job_data(&w->job, r)));
    }
}

/* A lost file came back, but its redundancy had not yet when the job died: on storage without attributes too, nobody
 * waits for that rank. */
static void
half_a_rebuild_asks(twice *w)
{
    removexattr(job_data(&w->job, 1), "user.redset");
    assert_int_equal(rename(job_redundancy(&w->job, 1),
                            path_of("%s" RSET_SUFFIX_FIX, job_redundancy(&w->job, 1))),
                     0);
    assert_int_equal(unlink(job_descriptor(&w->job, 1)), 0);
    twice_assert_recovers_to(w, &w->new);
    assert_all_ask(&w->job);
}

/* Old content that was put aside for another journal is not what a new one leads back from. */
static void
nothing_put_aside_is_left(twice *w)
{
    const uint64_t other = UINT64_C(0x0000990000000001);
    rset_err       err = RSET_ERR_NONE;
    change_of      c;
    char          *aside;

    aside = rset_name_of(RSET_NAME_DATA, "", other);
    assert_non_null(aside);
    note_name(w, 1, near(&w->job, 1, aside));
    write_file(near(&w->job, 1, aside), "other", 5);
    change_open(&c, w, 1);
    assert_int_equal(rset_change_begin(&c.local, &c.ev, true, &c.journal, &err), RSET_OK);
    change_bytes(&c, w, 1, 0, 1);
    change_close(&c, END_KILLED);
    twice_assert_recovers_to(w, &w->new);
    assert_false(exists(near(&w->job, 1, aside)));
    free(aside);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TWICE_TEST_FOR(half_written_is_not_good, EACH_KIND | KIND_SINGLE, 0, CASES),
        TWICE_TEST_FOR(half_written_twice_is_not_good, KIND_XOR, 0, 3),
        TWICE_TEST(complete_stays, KIND_XOR),
        TWICE_TEST(created_by_one_is_not_left_among_old_ones, EACH_KIND),
        TWICE_TEST(changed_once_more_is_not_complete, KIND_XOR),
        TWICE_TEST(half_written_and_nobody_knows, KIND_XOR),
        TWICE_TEST(fewer_ranks_remove_nothing, KIND_XOR),
        cmocka_unit_test(died_at_the_first_time),
        TWICE_TEST(being_written_is_refused, KIND_XOR),
        TWICE_TEST_FOR(being_written_over_what_was_rebuilt_is_refused, KIND_XOR, 0, 2),
        TWICE_TEST_FOR(first_commit_goes_forward, KIND_XOR, 0, 16),
        TWICE_TEST(deleted_after_a_decided_commit, EACH_KIND | KIND_SINGLE),
        TWICE_TEST(half_a_rebuild_asks, KIND_XOR),
        TWICE_TEST(nothing_put_aside_is_left, KIND_XOR),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
