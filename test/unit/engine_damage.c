/* engine_damage.c: see engine_damage.h. */
#include "engine_damage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const kind damage_kinds[KINDS] = {
    {&rset_scheme_single, 0},  {&rset_scheme_partner, 1}, {&rset_scheme_partner, 2},
    {&rset_scheme_partner, 3}, {&rset_scheme_xor, 1},     {&rset_scheme_rs, 1},
    {&rset_scheme_rs, 2},      {&rset_scheme_rs, 3},
};

void
damage_open(world *w, kind k, size_t size)
{
    *w = (world){.base = scratch_make(), .kind = k};
    snprintf(w->what, sizeof w->what, "%s %d", k.scheme->name, k.parity);
    job_init(&w->job, w->base, N, k.scheme, k.parity, N);
    job_write_data(&w->job, &size, 1, 1);
    if (job_protect(&w->job) != RSET_OK)
        fail_msg("%s: %s", w->what, job_text(&w->job));
    w->image = image_take(w->base);
}

void
damage_close(world *w)
{
    remove_tree(w->base);
    free(w->base);
    image_free(&w->image);
    job_free(&w->job);
}

void
assert_image(const world *w, const image *img, const char *under, image_strictness how)
{
    char why[1024];

    if (!image_same(img, w->base, under, how, why))
        fail_msg("%s: %s", w->what, why);
}

void
assert_data(const world *w)
{
    for (int r = 0; r < N; r++)
        assert_image(w, &w->image, path_of("node%d/ckpt_%d.h5", r, r), IMAGE_CONTENT);
}

void
assert_healed(world *w)
{
    image after;

    if (job_recover(&w->job) != RSET_OK)
        fail_msg("%s: %s", w->what, job_text(&w->job));
    assert_image(w, &w->image, NULL, IMAGE_CONTENT);
    assert_true(w->job.ranks[0].out.protected_);
    after = image_take(w->base);
    assert_int_equal(job_recover(&w->job), RSET_OK);
    assert_true(w->job.ranks[0].out.protected_);
    assert_image(w, &after, NULL, IMAGE_UNTOUCHED);
    image_free(&after);
}

void
assert_refused(world *w)
{
    image       before = image_take(w->base);
    rset_status st = job_recover(&w->job);

    if (st != RSET_LOST)
        fail_msg("%s: %s instead of a refusal: %s", w->what, rset_status_name(st),
                 job_text(&w->job));
    assert_image(w, &before, NULL, IMAGE_UNTOUCHED);
    image_free(&before);
}

static void
play_one(const damage_test *t, kind k, int number)
{
    world  w;
    size_t n;

    damage_open(&w, k, t->size);
    if (t->once != NULL) {
        t->once(&w);
    } else {
        n = strlen(w.what);
        snprintf(w.what + n, sizeof w.what - n, ", %d", number);
        t->each(&w, number);
    }
    damage_close(&w);
}

void
damage_play(void **state)
{
    const damage_test *t = *state;

    for (int k = 0; k < KINDS; k++)
        for (int i = t->first; (t->kinds >> k & 1) != 0 && i < t->end; i++)
            play_one(t, damage_kinds[k], i);
}
