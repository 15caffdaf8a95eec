/* test_format_names.c: names of redundancy files taken apart, and hostile names refused (P7, B8). */
#include "format/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
names_are_taken_apart(void **state)
{
    rset_desc desc = {.scheme = &rset_scheme_xor,
                      .parity = 1,
                      .set = 0,
                      .sets = 1,
                      .member = 3,
                      .members = 4,
                      .rank = 3,
                      .ranks = 4};
    char     *name = rset_format_redundancy_name("ckpt_3.h5.", &desc);
    rset_name n;

    (void)state;
    assert_string_equal(name, "ckpt_3.h5.3.xor.grp_1_of_1.mem_4_of_4.redset");
    assert_true(rset_format_parse_name(name, &n));
    assert_true(n.prefix_len == 10 && n.rank == 3 && n.scheme == &rset_scheme_xor && n.set == 0 &&
                n.sets == 1 && n.member == 3 && n.members == 4);
    free(name);
    name = rset_format_desc_name("ckpt_3.h5.", 12);
    assert_string_equal(name, "ckpt_3.h5.12.redset");
    assert_true(rset_format_parse_name(name, &n));
    assert_true(n.prefix_len == 10 && n.rank == 12 && n.scheme == NULL);
    free(name);
    /* prefixes that look like names; a long run of digits belongs to the rank */
    assert_true(rset_format_parse_name("x.redset.0.redset", &n) && n.prefix_len == 9);
    assert_true(rset_format_parse_name("a.0.xor.grp_1_of_1.mem_1_of_2.redset.7.rs.grp_2_of_3."
                                       "mem_5_of_6.redset",
                                       &n));
    assert_true(n.prefix_len == 37 && n.rank == 7 && n.scheme == &rset_scheme_rs && n.set == 1 &&
                n.sets == 3 && n.member == 4 && n.members == 6);
    assert_true(rset_format_parse_name("ckpt12.redset", &n) && n.prefix_len == 4 && n.rank == 12);
    assert_true(rset_format_parse_name("mem_3.redset", &n) && n.prefix_len == 4);
    assert_true(
        rset_format_parse_name("a.16777215.single.grp_16777216_of_16777216.mem_1_of_1.redset", &n));
}

/* Hostile names and numbers. */
static void
hostile_names_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        ".redset",
        "redset",
        "3.redset",
        "a.3",
        "a.3.redset.",
        "a.3.redset.tmp",
        "a..redset",
        "a.03.redset",
        "a.00.redset",
        "a.16777216.redset",
        "a.99999999999999999999999999.redset",
        "a.4294967299.redset",
        "a.-3.xredset",
        "dir/a.3.redset",
        "/a.3.redset",
        "a/3.redset",
        "a.3.xor.redset",
        "a.3.xor.mem_1_of_2.redset",
        "a.3.xor.grp_1_of_1.mem_5_of_4.redset",
        "a.3.xor.grp_2_of_1.mem_1_of_4.redset",
        "a.3.xor.grp_0_of_1.mem_1_of_4.redset",
        "a.3.xor.grp_1_of_1.mem_0_of_4.redset",
        "a.3.xor.grp_1_of_0.mem_1_of_4.redset",
        "a.3.xor.grp_01_of_1.mem_1_of_4.redset",
        "a.3.xor.grp_1_of_1.mem_1_of_04.redset",
        "a.03.xor.grp_1_of_1.mem_1_of_4.redset",
        "a.3.XOR.grp_1_of_1.mem_1_of_4.redset",
        "a.3.raid.grp_1_of_1.mem_1_of_4.redset",
        "a.3..grp_1_of_1.mem_1_of_4.redset",
        "3.xor.grp_1_of_1.mem_1_of_4.redset",
        "a..xor.grp_1_of_1.mem_1_of_4.redset",
        "a.3xor.grp_1_of_1.mem_1_of_4.redset",
        "a.3.xor.grp_1_of_1.mem_4294967297_of_4.redset",
        "a.3.xor.grp_1_of_1.mem_1_of_4294967300.redset",
        "a.3.xor.grp_1_of_1.mem__of_4.redset",
        "a.3.xor.grp_1_of_1.mem_1_of_.redset",
        "a.3.xor.grp_1_of_1.mem_+1_of_4.redset",
        "d/a.3.xor.grp_1_of_1.mem_1_of_4.redset",
        "a.3.xor.grp_1_of_1.mem_1_of_4.redset.tmp",
        "a.3.xor.grp_1_of_1.mem_1_of_99999999999999999999999999999.redset",
    };
    rset_name n;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (rset_format_parse_name(bad[i], &n))
            fail_msg("accepted %s", bad[i]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_taken_apart),
        cmocka_unit_test(hostile_names_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
