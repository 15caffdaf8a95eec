/* test_replicas_kept.c: older generations of files of one rank (replicas/replicas.h, keep=N): whoever gets a replica keeps what that
 * replaces, so that they can be had where the node of the writer is lost. */
#include "image.h"
#include "recover/recover.h"
#include "replicas_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = REPLICAS_RANKS };

static void
RP4_replicas_keep_what_they_replace(void **state)
{
    (void)state;
    replicas_begin(3);
    for (int v = 1; v <= 3; v++) {
        replicas_write(0, v, "", v == 3);
        replicas_send_to(v, 2);
    }
    for (int r = 0; r <= 2; r++)
        assert_true(replicas_is_version(r, "meta.h5", 3) && replicas_keeps(r, 2) &&
                    replicas_keeps(r, 1));
    assert_false(exists(replicas_path(3, "meta.h5")));
    replicas_lose(0); /* the writer's */
    replicas_expect_all(replicas_name(2), 2);
    replicas_lose(1);
    replicas_expect_all(replicas_name(1), 1);
    replicas_expect_all(replicas_name(0), 3);
    replicas_end();
}

static void
RP4_what_is_brought_at_an_open_replaces_in_the_same_way(void **state)
{
    (void)state;
    replicas_begin(2);
    replicas_write(0, 1, "", false);
    replicas_expect_all(replicas_name(0), 1);
    replicas_write(0, 2, "", false);
    replicas_expect_all(replicas_name(0), 2);
    for (int r = 0; r < RANKS; r++)
        assert_true(replicas_keeps(r, 1));
    replicas_lose(0);
    replicas_expect_all(replicas_name(1), 1);
    replicas_write(1, 3, "", false);
    replicas_expect_all(replicas_name(0), 3);
    for (int r = 0; r < RANKS; r++)
        assert_true(replicas_keeps(r, 2) == (r != 0) &&
                    replicas_keeps(r, 1) == (r == 0)); /* what it had */
    replicas_end();
}

/* And nothing is kept without keep=, nor more than that. */
static void
RP4_what_is_beyond_keep_goes(void **state)
{
    (void)state;
    replicas_begin(2);
    for (int v = 1; v <= 4; v++) {
        replicas_write(0, v, "", false);
        replicas_send_to(v, 1);
    }
    for (int r = 0; r <= 1; r++)
        assert_true(replicas_keeps(r, 3) && !replicas_keeps(r, 2) && !replicas_keeps(r, 1));
    replicas.keep = 1;
    replicas_write(0, 5, "", false);
    replicas_send_to(5, 1);
    for (int r = 0; r <= 1; r++)
        assert_false(replicas_keeps(r, 4) || replicas_keeps(r, 3));
    replicas_end();
}

/* What is damaged, and comes again as it was, is no older generation; and what led back from it does so still. */
static void
RP4_the_same_generation_again_replaces_none(void **state)
{
    static const char leads_back[] = "meta.h5.redset.0000010000000001.data.0.single.grp_1_of_1."
                                     "mem_1_of_1.redset.redo";

    (void)state;
    replicas_begin(2);
    replicas_write(0, 1, "", false);
    replicas_write(0, 2, "", true);
    replicas_send_to(2, 1);
    flip_bit(replicas_path(0, "meta.h5"), 500000);
    replicas_expect_all(replicas_name(0), 2);
    assert_false(replicas_keeps(0, 2));
    assert_true(replicas_keeps(0, 1) && !exists(replicas_path(0, replicas_name(1))));
    assert_true(exists(replicas_path(0, leads_back))); /* of its redundancy, too */
    replicas_expect_all(replicas_name(1), 1);
    replicas_end();
}

/* Whoever keeps an older one knows that there was a newer one (RP1). */
static void
RP1_no_older_one_where_a_newer_one_is_kept(void **state)
{
    (void)state;
    replicas_begin(2);
    replicas_write(0, 1, "", false);
    replicas_send_to(1, 1);
    replicas_write(0, 2, "", false);
    replicas_write(0, 3, "", false);
    replicas_expect_all(replicas_name(2), 2);
    replicas_lose(0);
    replicas_open("meta.h5");
    assert_int_equal(replicas.seen.st[0], RSET_LOST);
    assert_non_null(
        strstr(replicas.seen.err[0].text, "is lost or damaged, and no rank has a replica"));
    assert_true(replicas_is_version(1, "meta.h5", 1) && replicas_keeps(1, 2) &&
                replicas_keeps(3, 2));
    replicas_write(0, 4, "", false);
    replicas_expect_all(replicas_name(0), 4);
    replicas_end();
}

/* A clock that is behind, of a writer that has not met the newer number: it counts from there, and what was newer is kept. */
static void
RP1_what_was_written_last_is_the_newest(void **state)
{
    (void)state;
    replicas_begin(2);
    replicas_write(1, 3, "", false);
    replicas_write(2, 4, "", false);
    replicas_write(0, 2, "", false);
    replicas_send_to(2, 2);
    for (int node = 0; node < 3; node++)
        assert_true(replicas_is_version(node, "meta.h5", 2));
    assert_true(replicas.seen.sent.generation > replicas_generation(4));
    assert_true(replicas_keeps(1, 3) && replicas_keeps(2, 4));
    replicas_open("meta.h5");
    assert_int_equal(replicas.seen.st[0], RSET_OK);
    assert_true(replicas_is_version(3, "meta.h5", 2));
    replicas_end();
}

/* When and as what its writer has protected it: by that an older one is found. */
static void
RP3_a_replica_is_called_what_its_writer_calls_it(void **state)
{
    rset_dir     *dir = NULL;
    rset_evidence ev = {0};
    rset_err      err = RSET_ERR_NONE;

    (void)state;
    replicas_begin(1);
    replicas_write(0, 1, "step 7", false);
    replicas_send_to(1, 1);
    assert_int_equal(rset_dir_open(path_of("%s/node1", replicas.base), false, &dir, &err), RSET_OK);
    assert_int_equal(rset_survey(dir, replicas_prefix, "meta.h5", &ev, &err), RSET_OK);
    assert_true(ev.has_header && ev.header.infos[0].stamp.label != NULL);
    assert_string_equal(ev.header.infos[0].stamp.label, "step 7");
    assert_int_equal(ev.header.infos[0].stamp.time, 1001);
    rset_evidence_free(&ev);
    rset_dir_close(dir);
    replicas_end();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(RP4_replicas_keep_what_they_replace),
        cmocka_unit_test(RP4_what_is_brought_at_an_open_replaces_in_the_same_way),
        cmocka_unit_test(RP4_what_is_beyond_keep_goes),
        cmocka_unit_test(RP4_the_same_generation_again_replaces_none),
        cmocka_unit_test(RP1_no_older_one_where_a_newer_one_is_kept),
        cmocka_unit_test(RP1_what_was_written_last_is_the_newest),
        cmocka_unit_test(RP3_a_replica_is_called_what_its_writer_calls_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
