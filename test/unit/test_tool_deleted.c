/* test_tool_deleted.c: h5redset gc in each state that the loss of data files and of what protects them can leave four ranks in, with the
 * tool inside (main is h5redset_main here). What protects files is removed where not one data file is left, and no rank may have
 * one on a node that is out of sight; else nothing is changed. In words, and under mpiexec: tool.deleted, cluster.tool. */
#include "engine_damage.h"
#include "every.h"
#include "tool_run.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

int h5redset_main(int argc, char **argv);

/* The tool has a function of the name of cmocka's that would say it. */
static void
wrong(const char *what, const char *how)
{
    fprintf(stderr, "%s: %s\n", what, how);
    fail();
}

/* The exit status; nothing is printed. */
static int
tool(const char *command, const char *dir)
{
    const char *argv[] = {"h5redset", command, dir, NULL};
    tool_run    r = tool_run_do(h5redset_main, argv, 0);

    tool_run_free(&r);
    return r.status;
}

/* As damage_open, protected on `host`. */
static void
begin(world *w, kind k, const char *host)
{
    const size_t size = 8400;

    *w = (world){.base = scratch_make()};
    job_init(&w->job, w->base, N, k.scheme, k.parity, N);
    for (int r = 0; r < N; r++)
        w->job.ranks[r].host = host;
    job_write_data(&w->job, &size, 1, 1);
    assert_int_equal(job_protect(&w->job), RSET_OK);
    w->image = image_take(w->base);
}

/* All that lies beside the data file of rank r. */
static void
lose_redundancy(const world *w, int r)
{
    glob_t list;

    if (glob(path_of("%s.*", job_data(&w->job, r)), 0, NULL, &list) != 0)
        return;
    for (size_t i = 0; i < list.gl_pathc; i++)
        unlink(list.gl_pathv[i]);
    globfree(&list);
}

/* Bits of `state`: data lost, then redundancy lost, of each rank. */
static void
lose(const world *w, unsigned state)
{
    for (int r = 0; r < N; r++) {
        if ((state >> r & 1) != 0)
            unlink(job_data(&w->job, r));
        if ((state >> (N + r) & 1) != 0)
            lose_redundancy(w, r);
    }
}

/* With PARTNER, XOR and RS a rank of which nothing is left may be on a node that nobody has looked at, unless it was on this one. */
static bool
may_go(const world *w, unsigned state, bool here)
{
    const unsigned all = (1 << N) - 1, data = state & all, redundancy = state >> N;
    const bool     lone = w->job.ranks[0].desc.scheme == &rset_scheme_single;
    const unsigned left = w->job.ranks[0].desc.scheme->left(w->job.ranks[0].desc.parity);

    if (data != all || redundancy == all)
        return false;
    for (int r = 0; r < N && !lone; r++) {
        bool known = false;

        for (unsigned d = 0; d <= left; d++)
            known = known || (redundancy >> ((unsigned)r + d) % N & 1) == 0;
        if ((redundancy >> r & 1) != 0 && (!here || !known))
            return false;
    }
    return true;
}

static void
check_gc(world *w, unsigned state, bool here)
{
    const bool goes = may_go(w, state, here);
    image      before, after;
    char       why[1024];

    lose(w, state);
    before = image_take(w->base);
    if (tool("gc", w->base) != 0 && (goes || (state & ((1 << N) - 1)) != (1 << N) - 1))
        wrong(w->what, "h5redset gc fails");
    after = image_take(w->base);
    if (goes && after.n > 0)
        wrong(w->what, path_of("%s is left", after.at[0].path));
    if (!goes && !image_same(&before, w->base, NULL, IMAGE_UNTOUCHED, why))
        wrong(w->what, why);
    image_free(&before);
    image_free(&after);
}

static void
gc_in_all_states(const char *host, bool here)
{
    for (int k = 0; k < KINDS; k++) {
        world w;

        begin(&w, damage_kinds[k], host);
        for (unsigned state = (unsigned)every_skip(); state < 1 << 2 * N;
             state += (unsigned)every_step()) {
            snprintf(w.what, sizeof w.what, "%s %d, lost: data %x, redundancy %x",
                     damage_kinds[k].scheme->name, damage_kinds[k].parity, state & ((1 << N) - 1),
                     state >> N);
            check_gc(&w, state, here);
            image_put(&w.image, w.base, NULL);
        }
        damage_close(&w);
    }
}

static void
on_this_host(void **state)
{
    char host[RSET_HOST_NAME] = "";

    (void)state;
    gethostname(host, sizeof host - 1);
    gc_in_all_states(host, true);
}

static void
on_another_host(void **state)
{
    (void)state;
    gc_in_all_states("another", false);
}

/* All of them are there, or some, and were asked for: nothing is left. */
static void
rm_leaves_nothing(void **state)
{
    char host[RSET_HOST_NAME] = "";

    (void)state;
    gethostname(host, sizeof host - 1);
    for (int k = 0; k < KINDS; k++) {
        world w;

        begin(&w, damage_kinds[k], host);
        for (unsigned lost = 0; lost < 1 << N; lost++) {
            image after;

            lose(&w, lost);
            assert_int_equal(tool("rm", w.base), 0);
            after = image_take(w.base);
            assert_int_equal(after.n, 0);
            image_free(&after);
            image_put(&w.image, w.base, NULL);
        }
        damage_close(&w);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_this_host),
        cmocka_unit_test(on_another_host),
        cmocka_unit_test(rm_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
