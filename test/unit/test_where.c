/* test_where.c: which directory a file may be asked for in, by what is recorded of several ranks (member/where.h). */
#include "member/where.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Recorded of this rank and of another; where the first lies now; asked for in that directory. */
static bool
fits(const char *own, const char *other, const char *now, const char *asked)
{
    rset_file_info files[2] = {{.path = (char *)own}, {.path = (char *)other}};
    rset_info   infos[2] = {{.nfiles = 1, .files = &files[0]}, {.nfiles = 1, .files = &files[1]}};
    rset_header h = {.ninfos = other != NULL ? 2 : 1, .infos = infos};
    rset_where  where = rset_where_of(&h, 0, now);

    return rset_where_fits(&where, asked, "d");
}

static void
one_directory_on_all_nodes(void **state)
{
    (void)state;
    assert_true(fits("/l/s3/d0", "/l/s3/d1", NULL, "/l/s3"));
    assert_false(fits("/l/s3/d0", "/l/s3/d1", NULL, "/l/s4"));
    assert_false(fits("/l/s3/d0", "/l/s3/d1", "/l/s3", "/l/s4"));
    assert_false(fits("/l/s3/d0", NULL, "/l/s3", "/l/s4"));
    assert_false(fits("/l/s3/d0", "/l/s3/d1", "/l/s3", "/l/s3/more"));
}

static void
directories_of_nodes_or_ranks(void **state)
{
    (void)state;
    assert_true(fits("/l/n0/s3/d0", "/l/n1/s3/d1", "/l/n0/s3", "/l/n7/s3"));
    assert_false(fits("/l/n0/s3/d0", "/l/n1/s3/d1", "/l/n0/s3", "/l/n0/s4"));
    assert_true(fits("/l/s3/r0/d", "/l/s3/r1/d", "/l/s3/r0", "/l/s3/r5"));
    assert_false(fits("/l/s3/r0/d", "/l/s3/r1/d", "/l/s3/r0", "/l/s4/r0"));
}

static void
what_was_brought_elsewhere(void **state)
{
    (void)state;
    assert_true(fits("/l/s3/d0", "/l/s3/d1", "/m/n0/l/s3", "/m/n1/l/s3")); /* mounted */
    assert_true(fits("/l/s3/d0", "/l/s3/d1", "/m/n0/l/s3", "/l/s3"));
    assert_false(fits("/l/s3/d0", "/l/s3/d1", "/m/n0/l/s3", "/m/n1/l/s4"));
    assert_true(fits("/l/s3/d0", "/l/s3/d1", "/copy", "/copy"));
    assert_true(fits("/l/n0/d0", "/l/n1/d1", "/m/x/n0", "/m/x/n4"));
    assert_false(fits("/l/s3/r0/d", "/l/s3/r1/d", "/l/s3/r2", "/l/s4/r0"));
}

/* Names decide alone. */
static void
nothing_is_recorded(void **state)
{
    const rset_where none = {0};

    (void)state;
    assert_true(fits("d0", "d1", "/l/s3", "/l/s4"));
    assert_true(rset_where_fits(&none, "/l/s3", "/l/s3/d"));
}

/* From another rank: whatever it says is no more than a no. */
static void
nonsense_fits_nothing(void **state)
{
    rset_where w = {.n = 1000};

    (void)state;
    w.form[0] = (rset_where_form){.head = -5, .tail = 2, .parts = -1};
    w.form[1] = (rset_where_form){.head = INT16_MAX / 2, .tail = INT16_MAX / 2, .parts = -1};
    w.form[2] = (rset_where_form){.head = 1, .tail = 1, .parts = 2, .hash = 7};
    assert_false(rset_where_fits(&w, "/l/s3", "/l/s3/d"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_directory_on_all_nodes),
        cmocka_unit_test(directories_of_nodes_or_ranks),
        cmocka_unit_test(what_was_brought_elsewhere),
        cmocka_unit_test(nothing_is_recorded),
        cmocka_unit_test(nonsense_fits_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
