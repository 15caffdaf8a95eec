/* test_vfd_rebuilding.c: what an open says of a long rebuild (vfd/rebuilding.h): of more than 1 GiB, when it begins and when it
 * has ended well. */
#include "rebuilding.h"
#include "said.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

void   __wrap_rset_said(const char *text, int most);
double __wrap_rset_clock(void);

static char   said[4096]; /* line by line */
static double now;

void
__wrap_rset_said(const char *text, int most)
{
    assert_int_equal(most, RSET_SAID_MANY);
    snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", text);
}

double
__wrap_rset_clock(void)
{
    return now;
}

static const uint64_t gib = UINT64_C(1) << 30;

/* What is said of a rebuild of this that takes 90 s and comes to `st`. */
static const char *
of_rebuild(const char *host, const rset_rebuilding *what, rset_status st)
{
    rset_long_rebuild r;

    said[0] = '\0';
    now = 1000;
    rset_long_rebuild_begin(&r, host);
    r.watch.begins(r.watch.arg, what);
    now += 90;
    rset_long_rebuild_end(&r, st);
    return said;
}

static void
only_more_than_1_GiB(void **state)
{
    rset_rebuilding what = {.name = "/d/f.h5", .rank = 3, .lost = true, .ranks = 1, .bytes = gib};

    (void)state;
    assert_string_equal(of_rebuild("node2", &what, RSET_OK), "");
    what.bytes++;
    assert_string_equal(of_rebuild("node2", &what, RSET_OK),
                        "/d/f.h5: lost, rebuilding 1.0 GiB (rank 3 on node2)\n"
                        "/d/f.h5: rebuilt 1.0 GiB in 90.0 s (rank 3 on node2)\n");
}

static void
of_several_ranks(void **state)
{
    rset_rebuilding what = {
        .name = "/d/f.h5", .rank = 3, .damaged = true, .ranks = 1000, .bytes = 5000 * gib};

    (void)state;
    assert_string_equal(
        of_rebuild("node2", &what, RSET_OK),
        "/d/f.h5: damaged, rebuilding 4.9 TiB with the files of 999 more ranks (rank 3 on node2)\n"
        "/d/f.h5: rebuilt 4.9 TiB with the files of 999 more ranks in 90.0 s (rank 3 on node2)\n");
}

/* A rebuild that fails is in the error of the open; without MPI nobody is a rank. */
static void
failed_and_without_ranks(void **state)
{
    const rset_rebuilding what = {.name = "/d/f.h5", .ranks = 1, .bytes = 2 * gib};

    (void)state;
    assert_string_equal(of_rebuild(NULL, &what, RSET_IO),
                        "/d/f.h5: redundancy lost, rebuilding 2.0 GiB\n");
    assert_string_equal(of_rebuild(NULL, &what, RSET_OK),
                        "/d/f.h5: redundancy lost, rebuilding 2.0 GiB\n"
                        "/d/f.h5: rebuilt 2.0 GiB in 90.0 s\n");
}

/* Tried again, it has taken all the time since it began first. */
static void
tried_again(void **state)
{
    const rset_rebuilding what = {.name = "/d/f.h5", .lost = true, .ranks = 1, .bytes = 2 * gib};
    rset_long_rebuild     r;

    (void)state;
    said[0] = '\0';
    now = 0;
    rset_long_rebuild_begin(&r, NULL);
    r.watch.begins(r.watch.arg, &what);
    now = 10;
    r.watch.begins(r.watch.arg, &what);
    now = 15;
    rset_long_rebuild_end(&r, RSET_OK);
    assert_non_null(strstr(said, "rebuilt 2.0 GiB in 15.0 s\n"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_more_than_1_GiB),
        cmocka_unit_test(of_several_ranks),
        cmocka_unit_test(failed_and_without_ranks),
        cmocka_unit_test(tried_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
