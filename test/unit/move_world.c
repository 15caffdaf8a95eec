/* move_world.c: see move_world.h. */
#include "move_world.h"
#include "every.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

const size_t world_sizes[5] = {300001, 4096, 4097, 70000, 0};

/* Where rank r runs. */
static void
settle(world *w, int r)
{
    job_rank *k = &w->job.ranks[r];

    free(k->dir);
    if (!w->one_name) {
        assert_true(asprintf(&k->dir, "%s/node%d", w->base, r % NODES) > 0);
        return;
    }
    assert_true(asprintf(&k->dir, "%s/node%d/%d", w->base, r % NODES, r / NODES) > 0);
    free(k->names[0]);
    free(k->prefix);
    k->names[0] = strdup("ckpt_7.h5");
    k->prefix = strdup("ckpt_7.h5.");
    mkdir(path_of("%s/node%d", w->base, r % NODES), 0777);
    mkdir(k->dir, 0777);
}

void
world_open(world *w, const rset_scheme *scheme, int parity, int per_node, bool one_name)
{
    *w = (world){.base = scratch_make(), .one_name = one_name};
    job_init(&w->job, w->base, NODES * per_node, scheme, parity, NODES);
    for (int r = 0; r < w->job.n; r++)
        settle(w, r);
    job_write_data(&w->job, world_sizes, 5, 1);
    assert_int_equal(job_protect(&w->job), RSET_OK);
    w->image = image_take(w->base);
}

void
world_close(world *w)
{
    remove_tree(w->base);
    free(w->base);
    image_free(&w->image);
    job_free(&w->job);
}

void
world_rearrange(const world *w, const int *to, unsigned lost)
{
    for (int k = 0; k < NODES; k++)
        remove_tree(path_of("%s/node%d", w->base, k));
    for (int k = 0; k < w->job.n; k++)
        mkdir(path_of("%s/node%d", w->base, k), 0777);
    image_put(&w->image, w->base, NULL);
    for (int k = 0; k < NODES; k++) {
        if ((lost >> k & 1) != 0) {
            remove_tree(path_of("%s/node%d", w->base, k));
            mkdir(path_of("%s/node%d", w->base, k), 0777);
        }
        assert_int_equal(rename(path_of("%s/node%d", w->base, k), path_of("%s/was%d", w->base, k)),
                         0);
    }
    for (int k = 0; k < NODES; k++)
        assert_int_equal(
            rename(path_of("%s/was%d", w->base, k), path_of("%s/node%d", w->base, to[k])), 0);
}

void
expect_back(world *w, const int *to, unsigned lost)
{
    char why[1024];

    world_rearrange(w, to, lost);
    if (job_recover(&w->job) != RSET_OK)
        fail_msg("nodes to %d %d %d %d, lost %x: %s", to[0], to[1], to[2], to[3], lost,
                 job_text(&w->job));
    if (!image_same(&w->image, w->base, NULL, IMAGE_CONTENT, why))
        fail_msg("nodes to %d %d %d %d, lost %x: %s", to[0], to[1], to[2], to[3], lost, why);
    for (int r = 0; r < w->job.n; r++) {
        const rset_outcome *o = &w->job.ranks[r].out;
        const int           node = r % NODES;

        if ((lost >> node & 1) != 0)
            continue;
        assert_int_equal(o->moved_from[0] != '\0', to[node] != node);
        assert_false(o->copied);
        assert_int_equal(rset_outcome_action(o), RSET_ACTION_NOTHING); /* not computed */
        assert_true(o->protected_);
    }
}

void
expect_refused(world *w, const int *to, unsigned lost)
{
    char  why[1024];
    image before;

    world_rearrange(w, to, lost);
    before = image_take(w->base);
    assert_int_equal(job_recover(&w->job), RSET_LOST);
    if (!image_same(&before, w->base, NULL, w->one_name ? IMAGE_BACK : IMAGE_UNTOUCHED, why))
        fail_msg("nodes to %d %d %d %d, lost %x: %s", to[0], to[1], to[2], to[3], lost, why);
    image_free(&before);
}

void
world_assert_image(const world *w, const image *img, const char *under, image_strictness how,
                   const char *what)
{
    char why[1024];

    if (!image_same(img, w->base, under, how, why))
        fail_msg("%s: %s", what, why);
}

void
world_assert_files(const world *w, const char *what)
{
    char why[1024];

    for (int r = 0; r < NODES; r++) {
        const char *name =
            w->one_name ? path_of("node%d/0/ckpt_7.h5", r) : path_of("node%d/ckpt_%d.h5", r, r);

        if (!image_same_file(&w->image, name, job_data(&w->job, r), why))
            fail_msg("%s: %s", what, why);
    }
}

void
each_order(world *w, void (*then_do)(world *w, const int *to, unsigned lost), int losses)
{
    int nth = every_skip();

    for (int code = 0; code < 256; code++) {
        const int to[NODES] = {code % 4, code / 4 % 4, code / 16 % 4, code / 64};
        unsigned  all = 0;

        for (int k = 0; k < NODES; k++)
            all |= 1u << to[k];
        for (unsigned lost = 0; all == 15 && lost < 16; lost++)
            if (__builtin_popcount(lost) == losses && nth++ % every_step() == 0)
                then_do(w, to, lost);
    }
}

void
move_play(void **state)
{
    const move_test *t = *state;
    world            w;

    world_open(&w, &rset_scheme_xor, 1, 1, t->one_name);
    t->body(&w);
    world_close(&w);
}
