/* test_step_dirs.c: each step has a directory, and its files have the names of those of the other steps. They are different files
 * all the same: neither is an old copy of the other, and none is ever opened, moved or rebuilt for the other. */
#include "every.h"
#include "image.h"
#include "job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { RANKS = 4, STEPS = 2 };

static const size_t sizes[RANKS] = {30001, 4096, 70000, 9};

typedef struct world {
    char       *base;
    bool        one_name; /* step3/rank<r>/d.h5; else step3/d_<r>.h5 */
    const char *search[STEPS * RANKS + 1];
    image       image;
} world;

/* Rank r of the file's writers, in that step, opened on that node. */
static void
point_to(const world *w, job_rank *k, int node, int step, int r)
{
    free(k->dir);
    free(k->prefix);
    free(k->names[0]);
    free((char *)k->path);
    if (w->one_name)
        assert_true(asprintf(&k->dir, "%s/node%d/step%d/rank%d", w->base, node, step, r) > 0);
    else
        assert_true(asprintf(&k->dir, "%s/node%d/step%d", w->base, node, step) > 0);
    assert_true(
        (w->one_name ? asprintf(&k->names[0], "d.h5") : asprintf(&k->names[0], "d_%d.h5", r)) > 0);
    assert_true(asprintf(&k->prefix, "%s.", k->names[0]) > 0);
    assert_true(asprintf((char **)&k->path, "%s/%s", k->dir, k->names[0]) > 0);
}

static void
make_job(const world *w, job *j, int n, const int *node, const int *step, const int *file)
{
    job_init(j, w->base, n, &rset_scheme_xor, 1, RANKS);
    for (int i = 0; i < n; i++)
        point_to(w, &j->ranks[i], node[i], step[i], file[i]);
    j->content = RSET_CONTENT_DATA;
}

static void
free_job(job *j)
{
    for (int i = 0; i < j->n; i++)
        free((char *)j->ranks[i].path);
    job_free(j);
}

static const int in_order[RANKS] = {0, 1, 2, 3};

static void
world_open(world *w, bool one_name)
{
    *w = (world){.base = scratch_make(), .one_name = one_name};
    for (int s = 0; s < STEPS; s++) {
        const int steps[RANKS] = {s, s, s, s};
        job       j;

        make_job(w, &j, RANKS, in_order, steps, in_order);
        for (int r = 0; r < RANKS; r++) {
            rset_dir *dir = NULL;
            rset_err  err = RSET_ERR_NONE;

            assert_int_equal(rset_dir_open(j.ranks[r].dir, true, &dir, &err), RSET_OK);
            rset_dir_close(dir);
        }
        job_write_data(&j, sizes, RANKS, s + 1);
        if (job_protect(&j) != RSET_OK)
            fail_msg("%s", job_text(&j));
        free_job(&j);
    }
    w->image = image_take(w->base);
}

static void
world_close(world *w)
{
    remove_tree(w->base);
    free(w->base);
    image_free(&w->image);
}

/* As protected, but for the nodes that are lost (bits). */
static void
put_back(const world *w, unsigned lost)
{
    for (int k = 0; k < RANKS; k++)
        remove_tree(path_of("%s/node%d", w->base, k));
    image_put(&w->image, w->base, NULL);
    for (int k = 0; k < RANKS; k++)
        if ((lost >> k & 1) != 0)
            remove_tree(path_of("%s/node%d", w->base, k));
}

/* Rank i runs on node[i], and opens that file of that step: it has what was protected as that, or, where it may, is refused. */
static bool
opens(const world *w, int n, const int *node, const int *step, const int *file, bool reads,
      bool may_refuse)
{
    job  j;
    char why[1024];
    bool ok;

    make_job(w, &j, n, node, step, file);
    j.reads = reads;
    if (w->search[0] != NULL)
        j.search = w->search;
    ok = job_recover(&j) == RSET_OK;
    if (!ok && !may_refuse)
        fail_msg("refused: %s", job_text(&j));
    for (int i = 0; i < n; i++) {
        const char *was = w->one_name
                              ? path_of("node%d/step%d/rank%d/d.h5", file[i], step[i], file[i])
                              : path_of("node%d/step%d/d_%d.h5", file[i], step[i], file[i]);

        if ((ok || exists(job_data(&j, i))) &&
            !image_same_file(&w->image, was, job_data(&j, i), why))
            fail_msg("%d ranks, rank %d opens file %d of step %d, %s: %s", n, i, file[i], step[i],
                     ok ? "opened" : "refused", why);
    }
    free_job(&j);
    return ok;
}

static void
each_step_comes_back(void **state)
{
    world w;

    (void)state;
    for (int one_name = 0; one_name < 2; one_name++) {
        world_open(&w, one_name);
        for (int order = 0; order < 2; order++)
            for (unsigned lost = 0; lost < RANKS + 1; lost++) {
                put_back(&w, lost == 0 ? 0 : 1u << (lost - 1));
                for (int k = 0; k < STEPS; k++) {
                    const int s = order ^ k, steps[RANKS] = {s, s, s, s};

                    (void)opens(&w, RANKS, in_order, steps, in_order, k == 0, false);
                }
            }
        world_close(&w);
    }
}

static void
moved_ranks(void **state)
{
    static const int orders[][RANKS] = {{1, 0, 3, 2}, {1, 2, 3, 0}, {3, 1, 0, 2}};
    world            w;

    (void)state;
    world_open(&w, false);
    for (int o = 0; o < 3; o++)
        for (unsigned lost = 0; lost < RANKS + 1; lost++)
            for (int s = 0; s < STEPS; s++) {
                const int steps[RANKS] = {s, s, s, s}, others[RANKS] = {1 - s, 1 - s, 1 - s, 1 - s};

                put_back(&w, lost == 0 ? 0 : 1u << (lost - 1));
                (void)opens(&w, RANKS, orders[o], steps, in_order, false, false);
                (void)opens(&w, RANKS, orders[o], others, in_order, false, false);
            }
    world_close(&w);
}

/* Fewer and more ranks: where they see too little they may be refused. */
static void
other_numbers(void **state)
{
    static const int file[6] = {0, 1, 2, 3, 1, 2}, node[6] = {0, 1, 2, 3, 0, 2};
    world            w;
    (void)state;
    world_open(&w, false);
    for (int n = 1; n <= 6; n++)
        for (int lost = -1; lost < RANKS; lost++)
            for (int s = 0; s < STEPS; s++) {
                const int steps[6] = {s, s, s, s, s, s};

                put_back(&w, lost < 0 ? 0 : 1u << lost);
                (void)opens(&w, n, node, steps, file, true, true);
            }
    world_close(&w);
}

/* All that lies somewhere is named to all. */
static void
search_everywhere(world *w)
{
    for (int i = 0; i < STEPS * RANKS; i++)
        w->search[i] = strdup(path_of("%s/node%d/step%d", w->base, i / STEPS, i % STEPS));
}

/* Bit r of `mask`: the step whose file rank r opens, of rank r + turn. */
static void
open_mixed(const world *w, int mask, int turn, bool reads, bool may_refuse)
{
    int steps[RANKS], file[RANKS];

    for (int r = 0; r < RANKS; r++) {
        steps[r] = mask >> r & 1;
        file[r] = (r + turn) % RANKS;
    }
    (void)opens(w, RANKS, in_order, steps, file, reads, may_refuse);
}

/* Ranks that only read open whole files of different steps at one time, if they are where they open them. Where not, or where some
 * are lost, or they write, they may be refused, but never get another step's file. */
static void
steps_are_not_mixed_up(void **state)
{
    world w;

    (void)state;
    for (int searched = 0; searched < 2; searched++) {
        world_open(&w, false);
        if (searched)
            search_everywhere(&w);
        for (int lost = -1; lost < RANKS; lost++)
            for (int mask = every_skip(); mask < 1 << RANKS; mask += every_step())
                for (int turn = 0; turn < RANKS; turn++)
                    for (int reads = 0; reads < 2; reads++) {
                        put_back(&w, lost < 0 ? 0 : 1u << lost);
                        open_mixed(&w, mask, turn, reads, lost >= 0 || !reads || turn > 0);
                    }
        for (int i = 0; w.search[i] != NULL; i++)
            free((char *)w.search[i]);
        world_close(&w);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_step_comes_back),
        cmocka_unit_test(moved_ranks),
        cmocka_unit_test(other_numbers),
        cmocka_unit_test(steps_are_not_mixed_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
