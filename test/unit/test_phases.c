/* Where time goes (common/phases.h): to the innermost, once, in the scope of its own thread. What is compared are times of
 * one run with each other; a machine that is busy makes all of them longer. */
#include "common/phases.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

enum { MS = 1000000 };

static uint64_t
now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void
spend(int ms)
{
    const uint64_t until = now() + (uint64_t)ms * MS;

    while (now() < until)
        continue;
}

/* In a phase, for at least so long. */
static void
in_phase(rset_phase phase, int ms)
{
    const rset_phase before = rset_phase_enter(phase);

    spend(ms);
    rset_phase_leave(before);
}

static void
without_a_scope_nothing_is_measured(void **state)
{
    rset_phase_scope scope;
    const rset_phase before = rset_phase_enter(RSET_PHASE_READ);

    (void)state;
    assert_int_equal(before, RSET_PHASE_OTHER);
    rset_phase_leave(before);
    rset_phases_begin(&scope);
    rset_phases_end(&scope);
    assert_int_equal(scope.spent.ns[RSET_PHASE_READ], 0);
}

static void
time_is_that_of_the_innermost(void **state)
{
    const uint64_t   began = now();
    rset_phase_scope scope;
    rset_phase       before;
    uint64_t         all;

    (void)state;
    rset_phases_begin(&scope);
    before = rset_phase_enter(RSET_PHASE_SUM);
    spend(4);
    in_phase(RSET_PHASE_READ, 8);
    spend(4);
    in_phase(RSET_PHASE_SUM, 2); /* again the same is no change */
    rset_phase_leave(before);
    in_phase(RSET_PHASE_SYNC, 2);
    rset_phases_end(&scope);
    all = now() - began;
    assert_true(scope.spent.ns[RSET_PHASE_SUM] >= 10 * MS);
    assert_true(scope.spent.ns[RSET_PHASE_READ] >= 8 * MS);
    assert_true(scope.spent.ns[RSET_PHASE_SYNC] >= 2 * MS);
    assert_int_equal(scope.spent.ns[RSET_PHASE_WRITE], 0);
    assert_true(rset_phases_total(&scope.spent) <= all);
    assert_true(rset_phases_total(&scope.spent) >= 20 * MS);
}

static void
a_rendezvous_keeps_its_waits(void **state)
{
    rset_phase_scope scope;
    rset_phase       before;

    (void)state;
    rset_phases_begin(&scope);
    before = rset_phase_enter(RSET_PHASE_MEET);
    in_phase(RSET_PHASE_WAIT, 4);
    in_phase(RSET_PHASE_SEND, 4);
    in_phase(RSET_PHASE_WRITE, 1);
    rset_phase_leave(before);
    rset_phases_end(&scope);
    assert_true(scope.spent.ns[RSET_PHASE_MEET] >= 8 * MS);
    assert_int_equal(scope.spent.ns[RSET_PHASE_WAIT], 0);
    assert_int_equal(scope.spent.ns[RSET_PHASE_SEND], 0);
    assert_true(scope.spent.ns[RSET_PHASE_WRITE] >= 1 * MS);
}

/* What an inner scope has is not in the outer one as well. */
static void
scopes_do_not_count_twice(void **state)
{
    const uint64_t   began = now();
    rset_phase_scope outer, inner;
    rset_phase       before;
    uint64_t         all;

    (void)state;
    rset_phases_begin(&outer);
    before = rset_phase_enter(RSET_PHASE_READ);
    spend(2);
    rset_phases_begin(&inner);
    in_phase(RSET_PHASE_READ, 10);
    rset_phases_end(&inner);
    spend(2);
    rset_phase_leave(before);
    rset_phases_end(&outer);
    all = now() - began;
    assert_true(inner.spent.ns[RSET_PHASE_READ] >= 10 * MS);
    assert_true(outer.spent.ns[RSET_PHASE_READ] >= 4 * MS);
    assert_true(rset_phases_total(&outer.spent) + rset_phases_total(&inner.spent) <= all);
}

/* ---- threads ---- */

enum { THREADS = 8 };

static void *
work(void *arg)
{
    rset_phase_scope *scope = arg;

    in_phase(RSET_PHASE_WRITE, 1); /* no scope yet, whatever the others have */
    rset_phases_begin(scope);
    in_phase(RSET_PHASE_READ, 5);
    in_phase(RSET_PHASE_SUM, 5);
    rset_phases_end(scope);
    return NULL;
}

static void
each_thread_has_its_own(void **state)
{
    pthread_t        thread[THREADS];
    rset_phase_scope scope[THREADS], mine;

    (void)state;
    rset_phases_begin(&mine);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, work, &scope[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    rset_phases_end(&mine);
    for (int i = 0; i < THREADS; i++) {
        assert_true(scope[i].spent.ns[RSET_PHASE_READ] >= 5 * MS);
        assert_true(scope[i].spent.ns[RSET_PHASE_SUM] >= 5 * MS);
        assert_int_equal(scope[i].spent.ns[RSET_PHASE_WRITE], 0);
    }
    assert_int_equal(mine.spent.ns[RSET_PHASE_READ], 0);
}

/* What several threads have done at a time is shared out over the time that it took. */
static void
threads_take_no_more_time_than_has_passed(void **state)
{
    const rset_phases one = {.ns = {[RSET_PHASE_READ] = 30 * MS, [RSET_PHASE_SUM] = 10 * MS}};
    rset_phases       together = {{0}};
    rset_phase_scope  scope;

    (void)state;
    for (int i = 0; i < THREADS; i++)
        rset_phases_add(&together, &one);
    assert_int_equal(rset_phases_total(&together), THREADS * 40 * MS);
    rset_phases_begin(&scope);
    rset_phases_spread(&together, 40 * MS);
    rset_phases_spread(&(rset_phases){{0}}, 40 * MS); /* nothing was done */
    rset_phases_end(&scope);
    assert_true(scope.spent.ns[RSET_PHASE_READ] >= 30 * MS - 2 &&
                scope.spent.ns[RSET_PHASE_READ] <= 30 * MS);
    assert_true(scope.spent.ns[RSET_PHASE_SUM] >= 10 * MS - 2 &&
                scope.spent.ns[RSET_PHASE_SUM] <= 10 * MS);
    rset_phases_spread(&together, 40 * MS); /* without a scope: nothing */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_scope_nothing_is_measured),
        cmocka_unit_test(time_is_that_of_the_innermost),
        cmocka_unit_test(a_rendezvous_keeps_its_waits),
        cmocka_unit_test(scopes_do_not_count_twice),
        cmocka_unit_test(each_thread_has_its_own),
        cmocka_unit_test(threads_take_no_more_time_than_has_passed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
