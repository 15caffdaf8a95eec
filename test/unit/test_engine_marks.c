/* test_engine_marks.c: all redundancy files are gone, and data files still carry the mark of the
 * generation under which they were protected: files of two generations are not one set (P2). */
#include "twice.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

static const char mark_name[] = "user.redset";

static void
remove_redundancy(const twice *w)
{
    for (int r = 0; r < TWICE_RANKS; r++) {
        unlink(job_redundancy(&w->job, r));
        unlink(job_descriptor(&w->job, r));
    }
}

static bool
has_marks(const twice *w)
{
    return image_find(&w->new, "node0/ckpt_0.h5")->has_mark;
}

/* Rank r's data from before the last encode, and all redundancy removed. */
static void
mix(twice *w, int r)
{
    twice_node_as(w, &w->old, r);
    remove_redundancy(w);
}

static void
files_of_two_generations_are_refused(twice *w, int r)
{
    if (!has_marks(w)) {
        print_message("SKIP: no extended attributes here\n");
        w->skipped = true;
        return;
    }
    mix(w, r);
    twice_assert_refused(w);
    assert_non_null(strstr(job_text(&w->job), "generation"));
}

/* Marks are kept where the file system can: where some are missing nothing is known. */
static void
files_of_one_generation_are_opened_unverified(twice *w, int unmarked)
{
    image       before;
    rset_status st;

    remove_redundancy(w);
    for (int r = 0; r < unmarked; r++)
        removexattr(job_data(&w->job, r), mark_name);
    before = image_take(w->base);
    st = job_recover(&w->job);
    assert_true(unmarked == TWICE_RANKS || !has_marks(w)
                    ? st == RSET_ABSENT
                    : st == RSET_OK && !w->job.ranks[0].out.protected_ &&
                          !w->job.ranks[0].out.reprotect); /* never sealed as verified */
    twice_assert_image(w, &before, NULL, IMAGE_UNTOUCHED);
    image_free(&before);
}

/* Of as many commits as can be counted the next one would count as older than all: it is refused, and what is there stays. */
static void
commits_that_cannot_be_counted_are_refused(twice *w)
{
    for (int r = 0; r < TWICE_RANKS; r++)
        w->job.ranks[r].desc.generation = UINT64_MAX - 6;
    job_run(&w->job, job_body_protect);
    assert_int_equal(w->job.ranks[0].st, RSET_OK);
    assert_int_equal(job_protect(&w->job), RSET_USAGE);
    assert_non_null(strstr(job_text(&w->job), "16777215 times"));
    assert_int_equal(job_recover(&w->job), RSET_OK);
    assert_true(w->job.ranks[0].out.protected_);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TWICE_TEST_FOR(files_of_two_generations_are_refused, EACH_KIND, 0, TWICE_RANKS),
        TWICE_TEST_FOR(files_of_one_generation_are_opened_unverified, KIND_XOR, 0, TWICE_RANKS + 1),
        TWICE_TEST(commits_that_cannot_be_counted_are_refused, KIND_XOR),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
