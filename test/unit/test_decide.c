/* test_decide.c: the decision (recover/decide.h) against what was promised (decide_promises.h), over all combinations that
 * four ranks can be in. */
#include "decide_promises.h"
#include "every.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* ---- all combinations ---- */

static const rset_coverage coverages[] = {RSET_COVERAGE_UNKNOWN, RSET_COVERAGE_WHOLE,
                                          RSET_COVERAGE_DATA, RSET_COVERAGE_UNVERIFIED,
                                          RSET_COVERAGE_NOT};
static const unsigned      more[] = {0,
                                     FACT(UNVERIFIED),
                                     FACT(READONLY),
                                     FACT(BUSY),
                                     FACT(UNDER_WAY),
                                     FACT(REWRITTEN),
                                     FACT(KEEPS),
                                     FACT(KEEPS) | FACT(READONLY),
                                     FACT(RENUMBERED),
                                     FACT(RENAMED),
                                     FACT(RENAMED) | FACT(READONLY)};

static bool   reached[RSET_REASONS];
static size_t combinations;

/* A redundancy file of any generation says that one is published. */
static bool
can_be(const scene *s)
{
    return s->policy.published_ranks != 0 || in_state(s, RSET_STATE_CURRENT) +
                                                     in_state(s, RSET_STATE_COMMITTING) +
                                                     in_state(s, RSET_STATE_OUTDATED) ==
                                                 0;
}

/* All coverages and policies that can be for one summary, of one process or of all: `then_do` is called for each. */
static void
each_policy(scene *s, bool serial, void (*then_do)(const scene *s))
{
    static const uint64_t published[] = {0, RANKS, RANKS + 1}, prepared[] = {0, RANKS};

    for (size_t p = 0; p < COUNT(published) * COUNT(prepared) * 128; p++) {
        const size_t reads =
            p / 96; /* how much is known of what they read; from 6 on they do not */

        s->policy = (rset_policy){.published_ranks = published[p % 3],
                                  .prepared_ranks = prepared[p / 3 % 2],
                                  .required = p / 6 % 2 != 0,
                                  .serial = p / 12 % 2 != 0,
                                  .searched = p / 24 % 2 == 0,
                                  .stood_in = p / 48 % 2 != 0,
                                  .reads = reads != 0 && reads<6, .asked = reads> 1 &&
                                           reads<6, .apart = reads> 2 &&
                                           reads<6, .mixed = reads> 3 && reads < 6,
                                  .restart = reads == 5,
                                  .fallback = reads == 6,
                                  .undelete = reads == 7};
        if (s->policy.serial != serial || !can_be(s))
            continue;
        for (size_t c = 0; c < COUNT(coverages); c++) {
            s->coverage = coverages[c];
            s->then = rset_decide(&s->all, s->coverage, &s->policy);
            then_do(s);
        }
    }
}

static void
check_parallel(const scene *s)
{
    combinations++;
    reached[s->then.reason] = true;
    keep_promises(s);
    keep_answers(s);
    if (s->then.verdict == RSET_VERDICT_REFUSE && !s->policy.required) {
        scene strict = *s;

        strict.policy.required = true;
        strict.then = rset_decide(&strict.all, strict.coverage, &strict.policy);
        PROMISE(&strict, "required=yes is no less careful",
                strict.then.verdict == RSET_VERDICT_REFUSE);
    }
}

static void
check_serial(const scene *s)
{
    combinations++;
    reached[s->then.reason] = true;
    keep_serial_promises(s);
    keep_answers(s);
}

/* Calls then_do where no more than one rank differs from the others: most of what can be wrong is wrong there, and is found soon. */
static void
each_pair(void (*then_do)(scene *s))
{
    for (const kind *most = kinds; most < kinds + KINDS; most++)
        for (const kind *one = kinds; one < kinds + KINDS; one++) {
            scene s = {.of = {most, most, most, one}};

            then_do(&s);
        }
}

/* Calls then_do for all that four ranks can be in, or every Nth (every.h); whose rank it is makes no difference (unit.decide_merge). */
static void
each_combination(void (*then_do)(scene *s))
{
    const unsigned step = (unsigned)every_step();
    unsigned       n = (unsigned)every_skip();
    scene          s = {0};

    each_pair(then_do);
    for (s.of[0] = kinds; s.of[0] < kinds + KINDS; s.of[0]++)
        for (s.of[1] = s.of[0]; s.of[1] < kinds + KINDS; s.of[1]++)
            for (s.of[2] = s.of[1]; s.of[2] < kinds + KINDS; s.of[2]++)
                for (s.of[3] = s.of[2]; s.of[3] < kinds + KINDS; s.of[3]++)
                    if (n++ % step == 0)
                        then_do(&s);
}

static void
check_promises(scene *s)
{
    for (size_t m = 0; m < COUNT(more); m++) {
        s->all = sum_up(s->of, RANKS);
        if (more[m] == FACT(REWRITTEN) && (s->all.common & FACT(CHANGED)) == 0)
            continue; /* a run has rewritten what was changed on all ranks */
        if ((more[m] & FACT(KEEPS)) != 0 && (s->all.facts & FACT(CHANGED)) == 0)
            continue; /* there is nothing to keep */
        s->all.facts |= more[m];
        if ((more[m] & (FACT(REWRITTEN) | FACT(KEEPS) | FACT(RENUMBERED))) != 0)
            s->all.common |= more[m];
        if (more[m] == FACT(RENUMBERED))
            s->all.most_name = s->all.least_name;
        each_policy(s, false, check_parallel);
    }
    s->all = sum_up(s->of, RANKS);
    s->all.least_mark = 1;
    s->all.most_mark = 2;
    each_policy(s, false, check_parallel);
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
        for (size_t m = 0; m < 4 * COUNT(more); m++) {
            scene s = {.of = {k, k, k, k}}; /* it sees the first only */

            if (more[m / 4] == FACT(REWRITTEN))
                continue; /* that takes all ranks */
            s.all = sum_up(s.of, 1);
            s.all.facts |=
                more[m / 4] | (m % 2 != 0 ? FACT(PRISTINE) : 0) | (m / 2 % 2 != 0 ? FACT(SIGN) : 0);
            s.all.common = s.all.facts;
            each_policy(&s, true, check_serial);
        }
}

/* What is refused is not opened once more of it is damaged. */
static void
check_with_damage(scene *s)
{
    static const unsigned damage[] = {FACT(DAMAGED), FACT(CHANGED), FACT(MISSING), FACT(UNVERIFIED),
                                      FACT(BUSY)};

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
        cmocka_unit_test(one_process_keeps_them_as_well), /* in a moment */
        cmocka_unit_test(promises_hold_for_all_combinations),
        cmocka_unit_test(damage_never_makes_a_verdict_less_careful),
        cmocka_unit_test(every_row_is_reached_and_has_words), /* by those before */
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
