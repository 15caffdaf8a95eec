/* test_decide_merge.c: what ranks report, and which generations they have, is merged in any order to the same (decide.h);
 * of these generations the newest that was published counts. */
#include "recover/decide.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 4 };

static rset_report
any_report(int rank)
{
    return (rset_report){
        .state = (rset_state)(rand() % RSET_STATES),
        .facts = (unsigned)rand() & ((1u << RSET_FACTS) - 1),
        .label = {(uint64_t)rand() % 3, (uint64_t)rand() % 3, (uint64_t)rand() % 3},
        .mark = (uint64_t)rand() % 4,
        .name = 1 + (uint64_t)rand() % 4,
        .wrote = (uint64_t)rand() % 4,
        .rank = rank};
}

/* Of those in `left`, two at random become one, until one is left. */
static rset_summary
merge_anyhow(rset_summary *left, int n)
{
    while (n > 1) {
        const int a = rand() % n, b = (a + 1 + rand() % (n - 1)) % n;

        rset_merge(&left[a], &left[b]);
        left[b] = left[n - 1];
        n--;
    }
    return left[0];
}

static void
merging_has_no_order(void **state)
{
    enum { MANY = 9, TIMES = 20000 };

    (void)state;
    srand(1);
    for (int i = 0; i < TIMES; i++) {
        rset_summary one[MANY], again[MANY], a, b;

        for (int r = 0; r < MANY; r++) {
            const rset_report report = any_report(r);

            one[r] = again[r] = rset_summarise(&report);
        }
        a = merge_anyhow(one, MANY);
        b = merge_anyhow(again, MANY);
        if (a.labels_lost != 0 &&
            b.labels_lost != 0) /* which of them fit is nobody's matter then */
            memcpy(a.labels, b.labels, sizeof a.labels);
        assert_memory_equal(&a, &b, sizeof a);
        assert_int_equal(a.ranks, MANY);
    }
}

static void
a_census_has_no_order(void **state)
{
    enum { MANY = 7, TIMES = 20000 };

    (void)state;
    srand(2);
    for (int i = 0; i < TIMES; i++) {
        rset_census there = {0}, back = {0}, one[MANY];

        for (int r = 0; r < MANY; r++) {
            one[r] = (rset_census){0};
            rset_census_note(&one[r], (uint64_t)(1 + rand() % 6) << 40, RANKS, rand() % 2 != 0);
            rset_census_note(&one[r], (uint64_t)(1 + rand() % 6) << 40, RANKS, false);
        }
        for (int r = 0; r < MANY; r++) {
            rset_census_merge(&there, &one[r]);
            rset_census_merge(&back, &one[MANY - 1 - r]);
        }
        assert_memory_equal(&there, &back, sizeof there);
    }
}

static void
the_newest_published_counts(void **state)
{
    rset_census c = {0};

    (void)state;
    assert_null(rset_census_published(&c));
    rset_census_note(&c, UINT64_C(3) << 40, RANKS, true);
    rset_census_note(&c, UINT64_C(5) << 40, RANKS, false);
    rset_census_note(&c, UINT64_C(4) << 40, RANKS, true);
    assert_int_equal(rset_census_published(&c)->generation, UINT64_C(4) << 40);
    assert_int_equal(rset_census_prepared(&c)->generation, UINT64_C(5) << 40);
    rset_census_note(&c, UINT64_C(6) << 40, 0, true); /* a mark alone: nobody has prepared it */
    assert_int_equal(rset_census_published(&c)->generation, UINT64_C(4) << 40);
    rset_census_note(&c, UINT64_C(5) << 40, 0, true); /* it was published by one that is gone */
    assert_int_equal(rset_census_published(&c)->generation, UINT64_C(5) << 40);
    assert_null(rset_census_prepared(&c));
}

/* Five ranks wrote the files, and four of them have closed theirs in one step when the job died. Six open them, two of them the
 * same: that is not a step that all five have closed. */
static void
a_file_counts_once(void **state)
{
    const rset_policy policy = {.published_ranks = 5, .searched = true};
    rset_summary      all = {0};

    (void)state;
    for (int r = 0; r < 6; r++) {
        const rset_report  one = {.state = r < 5 ? RSET_STATE_CLOSED : RSET_STATE_CURRENT,
                                  .facts = RSET_FACT_SIGN,
                                  .label = {.job = 7, .step = 1, .ranks = r < 5 ? 5 : 0},
                                  .name = 100 + (uint64_t)r % 5,
                                  .rank = r};
        const rset_summary sum = rset_summarise(&one);

        rset_merge(&all, &sum);
    }
    assert_int_not_equal(rset_decide(&all, RSET_COVERAGE_UNKNOWN, &policy).verdict,
                         RSET_VERDICT_KEEP);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merging_has_no_order),
        cmocka_unit_test(a_census_has_no_order),
        cmocka_unit_test(the_newest_published_counts),
        cmocka_unit_test(a_file_counts_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
