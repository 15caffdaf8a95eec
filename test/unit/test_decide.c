/* test_decide.c: the decision (recover/decide.h) against what was promised, over all combinations that four ranks can be
 * in. What must hold is said here in terms of what lies on the disks, not of the table's rows. */
#include "recover/decide.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 4 };

#define FACT(f) RSET_FACT_##f

/* ---- what one rank can be in ---- */

/* Which content lies there. Those that are the same from rank to rank belong together. */
typedef enum { V_NONE, V_PROTECTED, V_TORN, V_STEP_A, V_STEP_B, V_OWN, V_OLDER, V_ANY } version;

typedef struct kind {
    const char *name;
    rset_state  state;
    unsigned    facts;
    rset_label  label;
    version     has;
} kind;

/* A label: job, step, ranks. */
static const kind kinds[] = {
    {"nothing", RSET_STATE_NOTHING, FACT(MISSING), {0}, V_NONE},
    {"unknown", RSET_STATE_UNKNOWN, 0, {0}, V_ANY},
    {"current", RSET_STATE_CURRENT, FACT(SIGN), {0}, V_PROTECTED},
    {"current, not read", RSET_STATE_CURRENT, FACT(SIGN) | FACT(UNREAD), {0}, V_PROTECTED},
    {"current, prepared", RSET_STATE_CURRENT, FACT(SIGN) | FACT(PREPARED), {0}, V_PROTECTED},
    {"current, bare", RSET_STATE_CURRENT, FACT(SIGN) | FACT(BARE), {0}, V_PROTECTED},
    {"damaged", RSET_STATE_CURRENT, FACT(SIGN) | FACT(DAMAGED), {0}, V_TORN},
    {"missing", RSET_STATE_CURRENT, FACT(SIGN) | FACT(MISSING), {0}, V_NONE},
    {"committing", RSET_STATE_COMMITTING, FACT(SIGN), {0}, V_TORN},
    {"open", RSET_STATE_OPEN, FACT(SIGN), {0}, V_TORN},
    {"open, in place", RSET_STATE_OPEN, FACT(SIGN) | FACT(IN_PLACE), {0}, V_TORN},
    {"closed a", RSET_STATE_CLOSED, FACT(SIGN), {5, 1, RANKS}, V_STEP_A},
    {"closed a, prepared", RSET_STATE_CLOSED, FACT(SIGN) | FACT(PREPARED), {5, 1, RANKS}, V_STEP_A},
    {"closed b", RSET_STATE_CLOSED, FACT(SIGN), {5, 2, RANKS}, V_STEP_B},
    {"closed a, truncated", RSET_STATE_CLOSED, FACT(SIGN) | FACT(DAMAGED), {5, 1, RANKS}, V_TORN},
    {"closed by one process", RSET_STATE_CLOSED, FACT(SIGN), {9, 1, 1}, V_OWN},
    {"first, open", RSET_STATE_OPEN, FACT(FIRST), {0}, V_TORN},
    {"first, closed a", RSET_STATE_CLOSED, FACT(FIRST), {5, 1, RANKS}, V_STEP_A},
    {"outdated", RSET_STATE_OUTDATED, FACT(SIGN), {0}, V_OLDER},
    {"newer", RSET_STATE_OUTDATED, FACT(SIGN) | FACT(NEWER), {0}, V_OLDER},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct scene {
    const kind   *of[RANKS];
    rset_summary  all;
    rset_policy   policy;
    rset_coverage coverage;
    rset_decision then;
} scene;

static rset_report
report_of(const kind *k, int rank)
{
    return (rset_report){.state = k->state,
                         .facts = k->facts,
                         .label = k->label,
                         .name = 100 + (uint64_t)rank,
                         .rank = rank};
}

static rset_summary
sum_up(const kind *const *of, int n)
{
    rset_summary all = {0};

    for (int r = 0; r < n; r++) {
        const rset_report  one = report_of(of[r], r);
        const rset_summary s = rset_summarise(&one);

        rset_merge(&all, &s);
    }
    return all;
}

static void
complain(const scene *s, const char *promise)
{
    fail_msg("%s: {%s | %s | %s | %s}, coverage %d, written by %d, prepared by %d%s%s: %s (%s)",
             promise, s->of[0]->name, s->of[1]->name, s->of[2]->name, s->of[3]->name,
             (int)s->coverage, (int)s->policy.published_ranks, (int)s->policy.prepared_ranks,
             s->policy.required ? ", required" : "", s->policy.serial ? ", serial" : "",
             rset_verdict_name(s->then.verdict), rset_reason_name(s->then.reason));
}

#define PROMISE(s, words, holds)                                                                   \
    do {                                                                                           \
        if (!(holds))                                                                              \
            complain(s, words);                                                                    \
    } while (0)

static int
how_many(const scene *s, version v)
{
    int n = 0;

    for (int r = 0; r < RANKS; r++)
        n += s->of[r]->has == v;
    return n;
}

static bool
any_fact(const scene *s, unsigned fact)
{
    return (s->all.facts & fact) != 0;
}

static int
in_state(const scene *s, rset_state state)
{
    return (int)s->all.count[state];
}

/* ---- the promises ---- */

/* Files that are opened as they are belong together: all of the protected generation, or all of one step; what one process
 * changed and closed on its own is its user's will. Where coverage was looked at, what neighbours record was compared. */
static bool
belong_together(const scene *s)
{
    const bool compared = s->coverage == RSET_COVERAGE_WHOLE || s->coverage == RSET_COVERAGE_DATA;
    const int  rest =
        RANKS - how_many(s, V_OWN) - (compared ? how_many(s, V_ANY) + how_many(s, V_OLDER) : 0);

    return how_many(s, V_PROTECTED) == rest || how_many(s, V_STEP_A) == RANKS ||
           how_many(s, V_STEP_B) == RANKS;
}

static void
never_a_mixture(const scene *s)
{
    const bool written_in_place = any_fact(s, FACT(IN_PLACE)) && !s->policy.required;
    const bool written_past_us = (s->all.common & FACT(REWRITTEN)) != 0;

    if (s->then.verdict != RSET_VERDICT_KEEP || s->policy.serial || written_in_place ||
        written_past_us)
        return;
    if (s->policy.published_ranks != 0)
        PROMISE(s, "never a mixture", belong_together(s));
    else if (s->policy.required)
        PROMISE(s, "never a mixture of what no redundancy records",
                how_many(s, V_TORN) == 0 && how_many(s, V_NONE) == 0 &&
                    how_many(s, V_STEP_A) % RANKS == 0 && how_many(s, V_STEP_B) % RANKS == 0);
}

/* Nothing passes for protected but what is, and was found to be. */
static void
protected_only_if_it_is(const scene *s)
{
    if (s->then.protection == RSET_PROTECTION_NONE)
        return;
    PROMISE(s, "unverified content is never sealed",
            !any_fact(s, FACT(UNVERIFIED)) && s->coverage != RSET_COVERAGE_UNVERIFIED);
    if (s->then.verdict == RSET_VERDICT_KEEP)
        PROMISE(s, "what is kept as protected is whole",
                in_state(s, RSET_STATE_CURRENT) == (int)s->all.ranks &&
                    !any_fact(s, FACT(DAMAGED) | FACT(MISSING) | FACT(BARE) | FACT(UNREAD)));
    else
        PROMISE(s, "what is restored as protected is covered",
                s->then.verdict == RSET_VERDICT_RESTORE &&
                    (s->coverage == RSET_COVERAGE_WHOLE || s->coverage == RSET_COVERAGE_DATA));
    if (s->then.protection == RSET_PROTECTION_VALID && s->then.verdict == RSET_VERDICT_RESTORE)
        PROMISE(s, "redundancy counts only where all of it is there",
                s->coverage == RSET_COVERAGE_WHOLE);
}

/* Nobody is rolled back, or finished, beside a rank that may not follow. */
static void
nobody_is_left_behind(const scene *s)
{
    const bool moves = in_state(s, RSET_STATE_OPEN) + in_state(s, RSET_STATE_CLOSED) +
                           in_state(s, RSET_STATE_COMMITTING) >
                       0;

    if (s->then.verdict != RSET_VERDICT_RESTORE)
        return;
    PROMISE(s, "what cannot be had is not begun", s->coverage != RSET_COVERAGE_NOT);
    PROMISE(s, "nobody moves beside one of whom nothing is known",
            !moves || (s->coverage != RSET_COVERAGE_UNVERIFIED && !any_fact(s, FACT(UNVERIFIED))));
    PROMISE(s, "nothing is restored where no generation is published",
            s->policy.published_ranks != 0);
    PROMISE(s, "nothing is written where nothing may be", !any_fact(s, FACT(READONLY)));
}

/* What is covered is opened. */
static void
covered_is_not_refused(const scene *s)
{
    if (s->policy.serial || s->policy.published_ranks != RANKS ||
        any_fact(s,
                 FACT(UNVERIFIED) | FACT(NEWER) | FACT(BUSY) | FACT(READONLY) | FACT(RENUMBERED)) ||
        (s->coverage != RSET_COVERAGE_WHOLE && s->coverage != RSET_COVERAGE_DATA))
        return;
    PROMISE(s, "what is covered is opened", s->then.verdict != RSET_VERDICT_REFUSE);
}

static void
forward_only_with_all(const scene *s)
{
    if (s->then.verdict != RSET_VERDICT_FORWARD)
        return;
    PROMISE(s, "forward only where all are prepared",
            !s->policy.serial && s->policy.prepared_ranks == RANKS &&
                (s->all.common & FACT(PREPARED)) != 0);
}

static void
never_is_never(const scene *s)
{
    if (s->then.verdict != RSET_VERDICT_NEVER)
        return;
    PROMISE(s, "files without protection show no sign of any",
            s->policy.published_ranks == 0 && !any_fact(s, FACT(SIGN)) &&
                in_state(s, RSET_STATE_OPEN) + in_state(s, RSET_STATE_CLOSED) == 0);
}

/* A verdict that asks for more is not given once more when that is there. */
static void
comes_to_an_end(const scene *s)
{
    if (s->then.verdict == RSET_VERDICT_VERIFY)
        PROMISE(s, "verified once", any_fact(s, FACT(UNREAD)));
    if (s->then.verdict == RSET_VERDICT_LOOK)
        PROMISE(s, "looked once", s->coverage == RSET_COVERAGE_UNKNOWN);
}

/* One process never settles what only all can tell. */
static void
serial_settles_no_commit(const scene *s)
{
    if (!s->policy.serial || !any_fact(s, FACT(PREPARED)) ||
        in_state(s, RSET_STATE_COMMITTING) > 0 || any_fact(s, FACT(BUSY)))
        return;
    PROMISE(s, "one process opens what is in doubt only as it is, and only whole",
            s->then.verdict == RSET_VERDICT_REFUSE ||
                (s->then.verdict == RSET_VERDICT_KEEP && any_fact(s, FACT(PRISTINE)) &&
                 s->then.protection == RSET_PROTECTION_NONE));
}

/* What is opened as it is was read before, where that was asked for. */
static void
kept_is_read(const scene *s)
{
    if (s->then.verdict != RSET_VERDICT_KEEP || s->coverage != RSET_COVERAGE_UNKNOWN ||
        s->policy.published_ranks == 0)
        return;
    PROMISE(s, "what is opened was read", !any_fact(s, FACT(UNREAD)));
}

/* What was closed, by all ranks in one step or by one process for itself, is not rolled back, as long as nothing is lost. */
static void
closed_is_kept(const scene *s)
{
    const bool lost = how_many(s, V_TORN) + how_many(s, V_NONE) > 0 ||
                      any_fact(s, FACT(DAMAGED) | FACT(MISSING) | FACT(UNVERIFIED) | FACT(BUSY) |
                                      FACT(UNREAD) | FACT(NEWER) | FACT(RENUMBERED));
    const bool looked = s->coverage == RSET_COVERAGE_WHOLE || s->coverage == RSET_COVERAGE_DATA;
    const bool forward = s->policy.prepared_ranks == RANKS && (s->all.common & FACT(PREPARED)) != 0;

    if (s->policy.published_ranks != RANKS || in_state(s, RSET_STATE_CLOSED) == 0 || lost ||
        forward || !belong_together(s) ||
        (!looked && in_state(s, RSET_STATE_CLOSED) + in_state(s, RSET_STATE_CURRENT) < RANKS))
        return;
    PROMISE(s, "what was closed together is kept", s->then.verdict == RSET_VERDICT_KEEP);
}

/* Files that say themselves that they are of different generations are not opened beside each other. */
static void
marks_agree(const scene *s)
{
    if (s->policy.published_ranks == 0 && any_fact(s, FACT(SIGN)) &&
        s->all.least_mark != s->all.most_mark)
        PROMISE(s, "files of different generations are refused",
                s->then.verdict != RSET_VERDICT_KEEP);
}

static void
keep_promises(const scene *s)
{
    kept_is_read(s);
    closed_is_kept(s);
    marks_agree(s);
    never_a_mixture(s);
    protected_only_if_it_is(s);
    nobody_is_left_behind(s);
    covered_is_not_refused(s);
    forward_only_with_all(s);
    never_is_never(s);
    comes_to_an_end(s);
    serial_settles_no_commit(s);
}

/* ---- all combinations ---- */

static const rset_coverage coverages[] = {RSET_COVERAGE_UNKNOWN, RSET_COVERAGE_WHOLE,
                                          RSET_COVERAGE_DATA, RSET_COVERAGE_UNVERIFIED,
                                          RSET_COVERAGE_NOT};
static const unsigned      more[] = {0,          FACT(UNVERIFIED), FACT(READONLY),
                                     FACT(BUSY), FACT(REWRITTEN),  FACT(RENUMBERED)};

#define COUNT(a) (sizeof(a) / sizeof *(a))

static bool   reached[RSET_REASONS];
static size_t combinations;

/* All coverages and policies for one summary; `then_do` is called for each. */
static void
each_policy(scene *s, void (*then_do)(const scene *s))
{
    static const uint64_t published[] = {0, RANKS, RANKS + 1}, prepared[] = {0, RANKS};

    for (size_t p = 0; p < COUNT(published) * COUNT(prepared) * 4; p++) {
        s->policy = (rset_policy){.published_ranks = published[p % 3],
                                  .prepared_ranks = prepared[p / 3 % 2],
                                  .required = p / 6 % 2 != 0,
                                  .serial = p / 12 != 0};
        for (size_t c = 0; c < COUNT(coverages); c++) {
            s->coverage = coverages[c];
            s->then = rset_decide(&s->all, s->coverage, &s->policy);
            then_do(s);
        }
    }
}

/* A redundancy file of any generation says that one is published. */
static bool
can_be(const scene *s)
{
    return s->policy.published_ranks != 0 || in_state(s, RSET_STATE_CURRENT) +
                                                     in_state(s, RSET_STATE_COMMITTING) +
                                                     in_state(s, RSET_STATE_OUTDATED) ==
                                                 0;
}

static void
check_parallel(const scene *s)
{
    scene strict = *s;

    if (s->policy.serial || !can_be(s))
        return;
    combinations++;
    reached[s->then.reason] = true;
    keep_promises(s);
    strict.policy.required = true;
    strict.then = rset_decide(&strict.all, strict.coverage, &strict.policy);
    if (s->then.verdict == RSET_VERDICT_REFUSE)
        PROMISE(&strict, "required=yes is no less careful",
                strict.then.verdict == RSET_VERDICT_REFUSE);
}

static void
check_serial(const scene *s)
{
    if (!s->policy.serial || !can_be(s))
        return;
    combinations++;
    reached[s->then.reason] = true;
    protected_only_if_it_is(s);
    nobody_is_left_behind(s);
    forward_only_with_all(s);
    comes_to_an_end(s);
    serial_settles_no_commit(s);
}

/* Calls then_do for all that four ranks can be in; whose rank it is makes no difference (merging_has_no_order). */
static void
each_combination(void (*then_do)(scene *s))
{
    scene s = {0};

    for (s.of[0] = kinds; s.of[0] < kinds + KINDS; s.of[0]++)
        for (s.of[1] = s.of[0]; s.of[1] < kinds + KINDS; s.of[1]++)
            for (s.of[2] = s.of[1]; s.of[2] < kinds + KINDS; s.of[2]++)
                for (s.of[3] = s.of[2]; s.of[3] < kinds + KINDS; s.of[3]++)
                    then_do(&s);
}

static void
check_promises(scene *s)
{
    for (size_t m = 0; m < COUNT(more); m++) {
        s->all = sum_up(s->of, RANKS);
        if (more[m] == FACT(REWRITTEN) && how_many(s, V_PROTECTED) + how_many(s, V_TORN) < RANKS)
            continue; /* found out of files that are recorded only */
        s->all.facts |= more[m];
        if ((more[m] & (FACT(REWRITTEN) | FACT(RENUMBERED))) != 0)
            s->all.common |= more[m];
        if (more[m] == FACT(RENUMBERED))
            s->all.most_name = s->all.least_name;
        each_policy(s, check_parallel);
    }
    s->all = sum_up(s->of, RANKS);
    s->all.least_mark = 1;
    s->all.most_mark = 2;
    each_policy(s, check_parallel);
}

static void
promises_hold_for_all_combinations(void **state)
{
    (void)state;
    combinations = 0;
    each_combination(check_promises);
    print_message("%zu combinations\n", combinations);
}

static void
one_process_keeps_them_as_well(void **state)
{
    (void)state;
    for (const kind *k = kinds; k < kinds + KINDS; k++)
        for (size_t m = 0; m < 2 * COUNT(more); m++) {
            scene s = {.of = {k, k, k, k}}; /* it sees the first only */

            s.all = sum_up(s.of, 1);
            s.all.facts |= more[m / 2] | (m % 2 != 0 ? FACT(PRISTINE) : 0);
            s.all.common = s.all.facts;
            each_policy(&s, check_serial);
        }
}

/* What is refused is not opened once more of it is damaged. */
static void
check_with_damage(scene *s)
{
    static const unsigned damage[] = {FACT(DAMAGED), FACT(MISSING), FACT(UNVERIFIED), FACT(BUSY)};

    s->all = sum_up(s->of, RANKS);
    s->policy = (rset_policy){.published_ranks = RANKS, .required = true};
    for (size_t c = 0; c < COUNT(coverages); c++)
        for (size_t d = 0; d < COUNT(damage); d++) {
            scene worse = *s;

            s->coverage = worse.coverage = coverages[c];
            s->then = rset_decide(&s->all, s->coverage, &s->policy);
            worse.all.facts |= damage[d];
            worse.then = rset_decide(&worse.all, worse.coverage, &worse.policy);
            if (s->then.verdict == RSET_VERDICT_REFUSE)
                PROMISE(&worse, "more damage never makes a verdict less careful",
                        worse.then.verdict != RSET_VERDICT_KEEP);
        }
}

static void
damage_never_makes_a_verdict_less_careful(void **state)
{
    (void)state;
    each_combination(check_with_damage);
}

/* ---- merging ---- */

static rset_report
any_report(int rank)
{
    return (rset_report){
        .state = (rset_state)(rand() % RSET_STATES),
        .facts = (unsigned)rand() & ((1u << RSET_FACTS) - 1),
        .label = {(uint64_t)rand() % 3, (uint64_t)rand() % 3, (uint64_t)rand() % 3},
        .mark = (uint64_t)rand() % 4,
        .name = 1 + (uint64_t)rand() % 4,
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

/* ---- words ---- */

static void
every_row_is_reached_and_has_words(void **state)
{
    (void)state;
    for (int r = 0; r < RSET_REASONS; r++) {
        const rset_summary none = {.ranks = RANKS};
        char               text[1024];

        if (!reached[r])
            fail_msg("no combination comes to \"%s\"", rset_reason_name((rset_reason)r));
        rset_reason_say((rset_reason)r, &none, "f.h5", NULL, text, sizeof text);
        assert_null(strchr(text, '%'));
        for (int other = 0; other < r; other++)
            assert_string_not_equal(rset_reason_name((rset_reason)r),
                                    rset_reason_name((rset_reason)other));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(promises_hold_for_all_combinations),
        cmocka_unit_test(one_process_keeps_them_as_well),
        cmocka_unit_test(damage_never_makes_a_verdict_less_careful),
        cmocka_unit_test(merging_has_no_order),
        cmocka_unit_test(a_census_has_no_order),
        cmocka_unit_test(the_newest_published_counts),
        cmocka_unit_test(every_row_is_reached_and_has_words), /* by those before */
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
