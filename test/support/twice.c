/* twice.c: see twice.h. */
#include "twice.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

const twice_kind twice_kinds[TWICE_KINDS] = {
    {&rset_scheme_partner, 1}, {&rset_scheme_xor, 1}, {&rset_scheme_rs, 2}};
const twice_kind single = {&rset_scheme_single, 0};
const size_t     twice_sizes[TWICE_RANKS] = {70000, 30001, 70000, 5};

void
twice_open(twice *w, twice_kind k)
{
    *w = (twice){.base = scratch_make(), .kind = k};
    snprintf(w->what, sizeof w->what, "%s %d", k.scheme->name, k.parity);
    job_init(&w->job, w->base, TWICE_RANKS, k.scheme, k.parity, TWICE_RANKS);
    for (int version = 1; version <= 2; version++) {
        job_write_data(&w->job, twice_sizes, TWICE_RANKS, version);
        if (job_protect(&w->job) != RSET_OK)
            fail_msg("%s: %s", w->what, job_text(&w->job));
        *(version == 1 ? &w->old : &w->new) = image_take(w->base);
    }
    assert_int_equal(image_count(&w->new), 3 * TWICE_RANKS); /* nothing of the old one is left */
}

void
twice_close(twice *w)
{
    remove_tree(w->base);
    free(w->base);
    image_free(&w->old);
    image_free(&w->new);
    job_free(&w->job);
}

void
twice_assert_image(const twice *w, const image *img, const char *under, image_strictness how)
{
    char why[1024];

    if (!image_same(img, w->base, under, how, why))
        fail_msg("%s: %s", w->what, why);
}

void
twice_assert_recovers_to(twice *w, const image *img)
{
    if (job_recover(&w->job) != RSET_OK)
        fail_msg("%s: %s", w->what, job_text(&w->job));
    twice_assert_image(w, img, NULL, IMAGE_CONTENT);
    assert_true(w->job.ranks[0].out.protected_);
    for (int r = 0; r < TWICE_RANKS; r++) { /* recover leaves the evidence as the disk has it */
        const rset_evidence *ev = &w->job.ranks[r].evidence;

        assert_true(ev->has_header && !ev->is_void && rset_evidence_described(ev));
        assert_string_equal(ev->name, strrchr(job_redundancy(&w->job, r), '/') + 1);
    }
}

void
twice_assert_refused(twice *w)
{
    image before = image_take(w->base);

    assert_int_equal(job_recover(&w->job), RSET_LOST);
    twice_assert_image(w, &before, NULL, IMAGE_UNTOUCHED);
    image_free(&before);
}

void
twice_node_as(const twice *w, const image *img, int r)
{
    remove_tree(w->job.ranks[r].dir);
    image_put(img, w->base, path_of("node%d", r));
}

void
twice_lose_node(const twice *w, int r)
{
    remove_tree(w->job.ranks[r].dir);
    mkdir(w->job.ranks[r].dir, 0777);
}

void
twice_set_void(const twice *w, int r)
{
    const char *name = job_redundancy(&w->job, r);

    assert_int_equal(rename(name, path_of("%s.void", name)), 0);
}

/* False: it cannot be tried here. */
static bool
play_one(const twice_test *t, twice_kind k, int number)
{
    twice  w;
    size_t n;

    twice_open(&w, k);
    if (t->once != NULL) {
        t->once(&w);
    } else {
        n = strlen(w.what);
        snprintf(w.what + n, sizeof w.what - n, ", %d", number);
        t->each(&w, number);
    }
    twice_close(&w);
    return !w.skipped;
}

void
twice_play(void **state)
{
    const twice_test *t = *state;

    for (int k = 0; k <= TWICE_KINDS; k++)
        for (int i = t->first; (t->kinds >> k & 1) != 0 && i < t->end; i++)
            if (!play_one(t, k < TWICE_KINDS ? twice_kinds[k] : single, i))
                skip();
}
