/* test_model.c: every crash at every step of every rank, in the model of the engine's protocols (support/model.h), with
 * the engine's own table of decisions: what is recovered is one version on all ranks, no older than what all were told,
 * and it is refused only where more was lost than is covered. */
#include "model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void
explore(model_limits limits)
{
    for (size_t i = 0; i < model_nscenarios; i++) {
        const model_scenario *s = &model_scenarios[i];
        const int             losses = limits.losses > 0 ? limits.losses : s->lost >= 0;
        model_result          r;

        model_explore(s, limits, &r);
        print_message("%s: %zu states, %zu recoveries: %zu old, %zu new, %zu refused; kept %zu\n",
                      s->name, r.states, r.recoveries, r.old, r.new, r.refused, r.kept);
        if (r.wrong > 0)
            fail_msg("%s: %zu wrong, the first: %s", s->name, r.wrong, r.first_wrong);
        assert_true(r.new > 0 && (r.old > 0 || !s->protected_));
        assert_true((r.kept > 0) == (limits.changes > 0));
        assert_true((r.refused > 0) == (losses + limits.changes > 1));
    }
}

static void
one_crash_and_a_lost_node(void **state)
{
    (void)state;
    explore((model_limits){.crashes = 1, .losses = 1});
}

static void
two_crashes_and_a_lost_node(void **state)
{
    (void)state;
    explore((model_limits){.crashes = 2, .losses = 1});
}

/* More is lost than is covered: refused then, never a mixture. */
static void
two_crashes_and_two_lost_nodes(void **state)
{
    (void)state;
    explore((model_limits){.crashes = 2, .losses = 2});
}

/* Another program changes a file between jobs: it comes back, and what the other program wrote is put aside. */
static void
two_crashes_and_a_changed_file(void **state)
{
    (void)state;
    explore((model_limits){.crashes = 2, .changes = 1});
}

/* More is changed than is covered, or changed and lost: refused, and what was written is where it was. */
static void
changed_files_and_a_lost_node(void **state)
{
    (void)state;
    explore((model_limits){.crashes = 1, .losses = 1, .changes = 2});
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_crash_and_a_lost_node),
        cmocka_unit_test(two_crashes_and_a_lost_node),
        cmocka_unit_test(two_crashes_and_two_lost_nodes),
        cmocka_unit_test(two_crashes_and_a_changed_file),
        cmocka_unit_test(changed_files_and_a_lost_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
