/* test_engine_shadow.c: a shadow file takes the name of the old one when its redundancy was published, or is removed (P2,
 * P11). "new" below is what was protected last. */
#include "twice.h"
#include "twice_change.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Rank r's shadow file, from the moment that its ranks prepare the commit of the generation that they have now. */
static const char *
committed_shadow(const twice *w, int r)
{
    change_of   c;
    char       *name;
    const char *path;

    change_open(&c, w, r);
    name = rset_name_of(RSET_NAME_SHADOW, c.local.prefix, rset_evidence_generation(&c.ev));
    path = path_of("%s/%s", w->job.ranks[r].dir, name);
    free(name);
    change_close(&c, END_KILLED);
    return path;
}

static void
shadow_of_a_dead_run_is_removed(twice *w)
{
    for (int r = 0; r < TWICE_RANKS; r++)
        write_shadow(w, r, 3000);
    twice_assert_recovers_to(w, &w->new);
}

/* ... and by the same open that brings a lost node back: else it is still there when the next program has
 * closed a change, which then looks interrupted and is rolled back. */
static void
shadow_goes_when_a_node_is_rebuilt(twice *w)
{
    for (int r = 0; r < TWICE_RANKS; r++)
        write_shadow(w, r, 3000);
    twice_lose_node(w, 1);
    twice_assert_recovers_to(w, &w->new);
    update_all(w, CHANGES, END_CLOSED);
    assert_left_as_it_is(w);
}

/* P11: between the two renames of a commit. */
static void
commit_goes_forward_to_the_shadow(twice *w, int number)
{
    const unsigned who = (unsigned)number;
    const bool     alone = who == 1;

    for (int r = 0; r < TWICE_RANKS; r++)
        if (who >> r & 1) {
            const char *shadow = committed_shadow(w, r);

            assert_int_equal(rename(job_data(&w->job, r), shadow), 0);
            image_put(&w->old, w->base, path_of("node%d/ckpt_%d.h5", r, r));
        }
    if (alone) {
        assert_int_equal(job_recover_serial(&w->job, 0), RSET_OK);
        assert_false(exists(committed_shadow(w, 0)));
    }
    if (who & 2)
        twice_lose_node(w, 1);
    w->job.content =
        who % 3 != 0
            ? RSET_CONTENT_ALL
            : RSET_CONTENT_NONE; /* verify=size: that sizes are equal proves nothing here */
    twice_assert_recovers_to(w, &w->new);
}

/* P11: a program is about to create the file anew, and has seen that a commit was not finished; before it has finished that, another
 * process does. */
static void
who_finds_a_commit_finished_goes_on(twice *w)
{
    change_of c;
    char     *name = NULL;
    rset_err  err = RSET_ERR_NONE;

    assert_int_equal(rename(job_data(&w->job, 0), committed_shadow(w, 0)), 0);
    image_put(&w->old, w->base, "node0/ckpt_0.h5");
    change_open(&c, w, 0);
    assert_int_equal(job_recover_serial(&w->job, 0), RSET_OK);
    if (rset_shadow_begin(&c.local, &c.ev, &name, &err) != RSET_OK)
        fail_msg("%s", err.text);
    free(name);
    change_close(&c, END_KILLED);
    twice_assert_recovers_to(w, &w->new);
}

/* One process alone rebuilds its file, of a node that is lost, from those of ranks that are between the two renames. */
static void
one_process_reads_shadows_of_others(twice *w)
{
    for (int r = 0; r < TWICE_RANKS; r++) {
        assert_int_equal(rename(job_data(&w->job, r), committed_shadow(w, r)), 0);
        image_put(&w->old, w->base, path_of("node%d/ckpt_%d.h5", r, r));
    }
    twice_lose_node(w, 1);
    if (job_recover_serial(&w->job, 1) != RSET_OK)
        fail_msg("%s", w->job.ranks[1].err.text);
    twice_assert_image(w, &w->new, "node1/ckpt_1.h5", IMAGE_CONTENT);
    twice_assert_recovers_to(w, &w->new);
}

/* A file that came in place without protection: the program's, until something is missing. */
static void
replaced_file_stays_while_nothing_is_missing(twice *w, int updated)
{
    for (int r = 0; r < TWICE_RANKS; r++) {
        if (updated) /* the old content is then the journal's over the file put aside */
            update(w, r, CHANGES, END_CLOSED);
        write_shadow(w, r, 3000);
        put_in_place(w, r);
    }
    assert_left_as_it_is(w);
    write_shadow(w, 2, 500); /* and another */
    put_in_place(w, 2);
    assert_left_as_it_is(w);
    twice_lose_node(w, 0);
    twice_assert_recovers_to(w, &w->new);
}

/* P2: files are new, and of another nobody knows any more what it was: the old one is not left among them where its
 * new one still lies beside. */
static void
unknown_file_is_not_left_among_new_ones(twice *w)
{
    const int last = w->kind.parity == 0 ? 2 : 3; /* whoever records what rank 2's file was */

    for (int r = 0; r < TWICE_RANKS; r++) {
        write_shadow(w, r, 3000);
        if (r != 2)
            put_in_place(w, r);
    }
    for (int holder = 2; holder <= last; holder++)
        hide(w, holder, true);
    twice_assert_refused(w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TWICE_TEST(shadow_of_a_dead_run_is_removed, KIND_XOR),
        TWICE_TEST(shadow_goes_when_a_node_is_rebuilt, KIND_XOR),
        TWICE_TEST_FOR(commit_goes_forward_to_the_shadow, EACH_KIND, 1, 16),
        TWICE_TEST(who_finds_a_commit_finished_goes_on, EACH_KIND),
        TWICE_TEST(one_process_reads_shadows_of_others, KIND_XOR | KIND_PARTNER),
        TWICE_TEST_FOR(replaced_file_stays_while_nothing_is_missing, EACH_KIND, 0, 2),
        TWICE_TEST(unknown_file_is_not_left_among_new_ones, KIND_SINGLE | KIND_PARTNER),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
