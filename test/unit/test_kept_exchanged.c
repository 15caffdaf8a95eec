/* test_kept_exchanged.c: two ranks have changed places, and open an older generation before the newest, or after it: whatever is
 * brought to a rank, or put out of its way, is of its generation and its rank, and takes the place of nothing else. */
#include "every.h"
#include "failing.h"
#include "lives.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COMMITS = 3 };

/* Three generations, all kept; `how` the files came to the later ones. */
static void
begin(life *w, const rset_scheme *scheme, int parity, lives_way how, bool one_name)
{
    srand(7);
    lives_begin(w, scheme, parity, COMMITS);
    if (one_name)
        lives_call_all_the_same(w);
    lives_plan_all(w, LIVES_OVER);
    lives_commit(w);
    if (how == LIVES_IN_PLACE)
        lives_change_in_place(w, COMMITS - 1);
    for (; w->commits < COMMITS;) {
        lives_plan_all(w, how);
        lives_commit(w);
    }
}

/* ---- whatever is opened first ---- */

static const int orders[][COMMITS] = {{1, 2, 0}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}};

static void
all_are_opened(life *w, const int *order, const char *when)
{
    for (int i = 0; i < COMMITS; i++) {
        snprintf(w->what, sizeof w->what, "%s, copies %d, order %d %d %d, %s",
                 w->job.ranks[0].desc.scheme->name, w->job.copies, order[0], order[1], order[2],
                 when);
        lives_assert_is(w, order[i], 0);
    }
}

static void
in_every_order(life *w)
{
    image was = image_take(w->base);

    for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
        lives_put_back(w, &was);
        lives_exchange(w);
        all_are_opened(w, orders[k], "exchanged");
        all_are_opened(w, orders[k], "again");
        lives_exchange(w);
        all_are_opened(w, orders[(k + 1) % (sizeof orders / sizeof *orders)], "back");
    }
    image_free(&was);
}

static void
MV7_every_generation_stays_in_every_order(void **state)
{
    static const struct {
        const rset_scheme *scheme;
        int                parity;
    } with[] = {{&rset_scheme_single, 0},
                {&rset_scheme_partner, 1},
                {&rset_scheme_xor, 1},
                {&rset_scheme_rs, 2}};
    life w;

    (void)state;
    for (size_t i = 0; i < sizeof with / sizeof *with; i++)
        for (int how = LIVES_OVER; how <= LIVES_IN_PLACE; how++)
            for (int one_name = 0; one_name <= 1; one_name++) {
                begin(&w, with[i].scheme, with[i].parity, (lives_way)how, one_name != 0);
                w.job.copies = i % 2 == (size_t)how; /* files stay where they were as well */
                in_every_order(&w);
                lives_end(&w);
            }
}

/* ---- runs that are killed ---- */

/* Generation n is opened by ranks that run elsewhere, and the run is killed. False: it has not so many calls. */
static bool
die_over(life *w, int n, int rank, int at)
{
    job  j;
    bool came;

    lives_exchange(w);
    lives_name(w, n, &j);
    came = failing_killed(&j, rank, at);
    job_free(&j);
    return came;
}

/* At every rename and removal; whoever comes next, where the ranks run then and whatever it opens, has all. */
static void
killed_everywhere(life *w, int rank, int n, const int *next, bool back)
{
    image was = image_take(w->base);
    int   at = 1 + every_skip();

    for (bool came = true; came; at += every_step()) {
        lives_put_back(w, &was);
        came = die_over(w, n, rank, at);
        if (back)
            lives_exchange(w);
        for (int i = 0; i < COMMITS; i++) {
            snprintf(w->what, sizeof w->what,
                     "killed in opening %d at call %d of rank %d, %s, then %d %d %d", n, at, rank,
                     back ? "back" : "there", next[0], next[1], next[2]);
            lives_assert_is(w, next[i], 0);
        }
    }
    assert_true(at > 5);
    image_free(&was);
}

static void
MV6_whoever_is_killed_the_next_has_all_generations(void **state)
{
    life w;

    (void)state;
    for (int how = LIVES_OVER; how <= LIVES_IN_PLACE; how++) {
        begin(&w, &rset_scheme_single, 0, (lives_way)how, true); /* nothing could be computed */
        for (int rank = -1; rank < 1; rank++)
            for (int n = 1; n < COMMITS; n++)
                for (int back = 0; back <= 1; back++)
                    killed_everywhere(&w, rank, n, orders[(n + back) % 2], back != 0);
        lives_end(&w);
    }
}

/* Two ranks run where the other one ran before: the newest is moved, and what rests on it is not lost. */
static void
what_rests_on_the_newest_is_not_lost(void **state)
{
    life w;

    (void)state;
    lives_begin_in_place(&w, &rset_scheme_xor, 1, 3, 2);
    lives_exchange(&w);
    lives_assert_is(&w, 2, 0);
    lives_assert_is(&w, 1, 0);
    lives_assert_is(&w, 0, 0);
    lives_end(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(MV7_every_generation_stays_in_every_order),
        cmocka_unit_test(MV6_whoever_is_killed_the_next_has_all_generations),
        cmocka_unit_test(what_rests_on_the_newest_is_not_lost)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
