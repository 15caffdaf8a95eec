/* test_kept_exchanged.c: two ranks have changed places, and open an older generation before the newest, or after it: whatever is
 * brought to a rank, or put out of its way, is of its generation and its rank, and takes the place of nothing else. */
#include "lives.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COMMITS = 3 };

static void
call_all_the_same(life *w)
{
    for (int r = 0; r < LIVES_RANKS; r++) {
        job_rank *k = &w->job.ranks[r];

        free(k->names[0]);
        free(k->prefix);
        k->names[0] = strdup("ckpt_7.h5");
        k->prefix = strdup("ckpt_7.h5.");
    }
}

/* Three generations, all kept; `how` the files came to the later ones. */
static void
begin(life *w, const rset_scheme *scheme, int parity, lives_way how, bool one_name)
{
    srand(7);
    lives_begin(w, scheme, parity, COMMITS);
    if (one_name)
        call_all_the_same(w);
    lives_plan_all(w, LIVES_OVER);
    lives_commit(w);
    if (how == LIVES_IN_PLACE)
        lives_change_in_place(w, COMMITS - 1);
    for (; w->commits < COMMITS;) {
        lives_plan_all(w, how);
        lives_commit(w);
    }
}

/* Ranks 0 and 1 run where the other one ran before. */
static void
exchange(const life *w)
{
    const char *a = w->job.ranks[0].dir, *b = w->job.ranks[1].dir;
    char       *aside = strdup(path_of("%s/aside", w->base));

    assert_int_equal(rename(a, aside), 0);
    assert_int_equal(rename(b, a), 0);
    assert_int_equal(rename(aside, b), 0);
    free(aside);
}

static void
put_back(const life *w, const image *was)
{
    bool flags[JOB_RANKS];

    (void)job_mask(&w->job, (1u << LIVES_RANKS) - 1, flags);
    job_lose(&w->job, flags);
    image_put(was, w->base, NULL);
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
        put_back(w, &was);
        exchange(w);
        all_are_opened(w, orders[k], "exchanged");
        all_are_opened(w, orders[k], "again");
        exchange(w);
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

static _Thread_local int calls_left; /* that rename or remove; none works after these */
static int               calls_at, only_rank;
static bool              was_hit;

static bool
dies(void)
{
    if (calls_left > 0)
        calls_left--;
    was_hit = was_hit || calls_left == 0;
    return calls_left == 0;
}

static int
dying_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    return dies() ? -1 : rset_sys_posix.renameat(from_dir, from, to_dir, to);
}

static int
dying_rename_new(int from_dir, const char *from, int to_dir, const char *to)
{
    return dies() ? -1 : rset_sys_posix.rename_new(from_dir, from, to_dir, to);
}

static int
dying_unlinkat(int dirfd, const char *name, int flags)
{
    return dies() ? -1 : rset_sys_posix.unlinkat(dirfd, name, flags);
}

static void
arm(int rank, void *arg)
{
    (void)arg;
    calls_left = only_rank < 0 || only_rank == rank ? calls_at : -1;
}

/* Generation n is opened, and the run is killed. */
static void
die_over(life *w, int n)
{
    rset_sys sys = rset_sys_posix;
    char     why[1024];
    job      j;

    lives_name(w, n, &j);
    j.before = arm;
    sys.renameat = dying_renameat;
    sys.rename_new = dying_rename_new;
    sys.unlinkat = dying_unlinkat;
    rset_sys_use(&sys);
    (void)job_recover_watched(&j, why);
    rset_sys_use(NULL);
    job_free(&j);
}

/* At every rename and removal; whoever comes next, where the ranks run then and whatever it opens, has all. */
static void
killed_everywhere(life *w, int n, const int *next, bool back)
{
    image was = image_take(w->base);

    was_hit = true;
    for (calls_at = 1; was_hit; calls_at++) {
        was_hit = false;
        put_back(w, &was);
        exchange(w);
        die_over(w, n);
        if (back)
            exchange(w);
        for (int i = 0; i < COMMITS; i++) {
            snprintf(w->what, sizeof w->what,
                     "killed in opening %d at call %d of rank %d, %s, then %d %d %d", n, calls_at,
                     only_rank, back ? "back" : "there", next[0], next[1], next[2]);
            lives_assert_is(w, next[i], 0);
        }
    }
    assert_true(calls_at > 5);
    image_free(&was);
}

static void
MV6_whoever_is_killed_the_next_has_all_generations(void **state)
{
    life w;

    (void)state;
    for (int how = LIVES_OVER; how <= LIVES_IN_PLACE; how++) {
        begin(&w, &rset_scheme_single, 0, (lives_way)how, true); /* nothing could be computed */
        for (only_rank = -1; only_rank < 1; only_rank++)
            for (int n = 1; n < COMMITS; n++)
                for (int back = 0; back <= 1; back++)
                    killed_everywhere(&w, n, orders[(n + back) % 2], back != 0);
        lives_end(&w);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(MV7_every_generation_stays_in_every_order),
        cmocka_unit_test(MV6_whoever_is_killed_the_next_has_all_generations)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
