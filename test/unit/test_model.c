/* test_model.c: every crash at every step of every rank, in the model of the engine's protocols (support/model.h), with
 * the engine's own table of decisions: what is recovered is one version on all ranks, no older than what all were told,
 * and it is refused only where more was lost than is covered. */
#include "model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* How many jobs are killed, one after the other, and how many nodes are lost between them. */
static void
explore(int crashes, int losses)
{
    for (size_t i = 0; i < model_nscenarios; i++) {
        const model_scenario *s = &model_scenarios[i];
        model_result          r;

        model_explore(s, crashes, losses, &r);
        print_message("%s: %zu states, %zu recoveries: %zu old, %zu new, %zu refused\n", s->name,
                      r.states, r.recoveries, r.old, r.new, r.refused);
        if (r.wrong > 0)
            fail_msg("%s: %zu wrong, the first: %s", s->name, r.wrong, r.first_wrong);
        assert_true(r.new > 0 && (r.old > 0 || !s->protected_));
        if (losses <= 1)
            assert_int_equal(r.refused, 0);
    }
}

static void
one_crash_and_a_lost_node(void **state)
{
    (void)state;
    explore(1, 1);
}

static void
two_crashes_and_a_lost_node(void **state)
{
    (void)state;
    explore(2, 1);
}

/* More is lost than is covered: refused then, never a mixture. */
static void
two_crashes_and_two_lost_nodes(void **state)
{
    (void)state;
    explore(2, 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_crash_and_a_lost_node),
        cmocka_unit_test(two_crashes_and_a_lost_node),
        cmocka_unit_test(two_crashes_and_two_lost_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
