/* test_engine.c: protecting with our own keys and bringing back after the loss of nodes: all schemes,
 * shapes and sizes, every loss, in parallel and alone (P10), the same bytes always (P1). */
#include "every.h"
#include "image.h"
#include "job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Sizes around the edges of checksum blocks, pieces and chunks. */
static const size_t edges[] = {300000, 0, 65537, 1, 2500000, 65535, 65536, 262145};
static const size_t small[] = {3001, 0, 1, 2999, 1500, 3001, 700, 2};
static const size_t even[] = {84000}; /* all chunks full for 2 to 8 data chunks */
static const size_t empty[] = {0};

enum { EDGES = 8, SMALL = 8 };

typedef struct kind {
    const rset_scheme *scheme;
    int                parity;
} kind;

static const kind kinds[] = {
    {&rset_scheme_single, 0},  {&rset_scheme_partner, 1}, {&rset_scheme_partner, 2},
    {&rset_scheme_partner, 3}, {&rset_scheme_xor, 1},     {&rset_scheme_rs, 1},
    {&rset_scheme_rs, 2},      {&rset_scheme_rs, 3},      {&rset_scheme_rs, 4},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* A protected job in a scratch directory. */
typedef struct world {
    char *base;
    job   job;
    image image;
    char  what[256];
} world;

static void
assert_same(const world *w, const image *img, image_strictness how)
{
    char why[1024];

    if (!image_same(img, w->base, NULL, how, why))
        fail_msg("%s: %s", w->what, why);
}

static void
open_world(world *w, kind k, int n, int min_size, const size_t *sizes, int nsizes)
{
    *w = (world){.base = scratch_make()};
    snprintf(w->what, sizeof w->what, "%s %d of %d ranks, sets of %d", k.scheme->name, k.parity, n,
             min_size);
    job_init(&w->job, w->base, n, k.scheme, k.parity, min_size);
    job_write_data(&w->job, sizes, nsizes, 1);
    if (job_protect(&w->job) != RSET_OK)
        fail_msg("%s: %s", w->what, job_text(&w->job));
    w->image = image_take(w->base);
    assert_int_equal(image_count(&w->image), 3 * n);
}

static void
close_world(world *w)
{
    remove_tree(w->base);
    free(w->base);
    image_free(&w->image);
    job_free(&w->job);
}

static void
put_back(const world *w, const bool *lost)
{
    for (int r = 0; r < w->job.n; r++)
        if (lost[r])
            image_put(&w->image, w->base, path_of("node%d", r));
}

/* Loses nodes and recovers. What the scheme covers must come back to the byte; what it does not may
 * come back only when sizes are unequal, as padding cannot get lost. */
static bool
lose_and_recover(world *w, unsigned mask, bool exact)
{
    bool        lost[JOB_RANKS], should;
    image       before;
    rset_status st;

    job_mask(&w->job, mask, lost);
    snprintf(strchr(w->what, '@') != NULL ? strchr(w->what, '@') : w->what + strlen(w->what), 32,
             "@ loss %x", mask);
    should = job_survives(&w->job, lost);
    job_lose(&w->job, lost);
    before = image_take(w->base);
    st = job_recover(&w->job);
    if (st != RSET_OK && (should || st != RSET_LOST))
        fail_msg("%s: %s", w->what, job_text(&w->job));
    if (st == RSET_OK && !should && exact)
        fail_msg("%s: came back, which cannot be", w->what);
    if (st == RSET_OK) {
        assert_same(w, &w->image, IMAGE_CONTENT);
        for (int r = 0; r < w->job.n; r++) {
            assert_int_equal(w->job.ranks[r].out.replaced, lost[r]);
            assert_true(w->job.ranks[r].out.protected_);
        }
    } else {
        assert_same(w, &before, IMAGE_UNTOUCHED);
        put_back(w, lost);
    }
    image_free(&before);
    return st == RSET_OK;
}

/* ---- every loss ---- */

static void
every_loss_of_four(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        world w;

        if (kinds[k].parity > 3)
            continue;
        open_world(&w, kinds[k], 4, 4, even, 1);
        for (unsigned mask = 0; mask < 15; mask++)
            lose_and_recover(&w, mask, true);
        close_world(&w);
    }
}

static void
every_loss_of_eight_rs3(void **state)
{
    kind  k = {&rset_scheme_rs, 3};
    int   recovered = 0, refused = 0;
    world w;

    (void)state;
    open_world(&w, k, 8, 8, even, 1);
    for (unsigned mask = 1; mask < 255; mask++) {
        int  losses = __builtin_popcount(mask);
        bool did = losses <= 4 && lose_and_recover(&w, mask, true);

        recovered += did;
        refused += losses == 4 && !did;
    }
    assert_int_equal(recovered, 92);
    assert_int_equal(refused, 70);
    close_world(&w);
}

static void
all_shapes_and_sizes(void **state)
{
    const size_t *sizes[] = {small, edges, even, empty};
    const int     nsizes[] = {SMALL, EDGES, 1, 1};

    (void)state;
    for (int k = 0; k < KINDS; k++)
        for (int n = 1; n <= 8; n++)
            for (int s = 0; s < 4; s++) {
                world w;

                if (kinds[k].scheme != &rset_scheme_single && kinds[k].parity >= n)
                    continue;
                if (s == 1 && n != 5) /* the large ones */
                    continue;
                if ((k + n + s) % every_step() != 0)
                    continue;
                open_world(&w, kinds[k], n, n, sizes[s], nsizes[s]);
                for (int r = 0; n > 1 && r < n; r += s == 1 ? 3 : 1)
                    lose_and_recover(&w, 1u << r | (kinds[k].parity > 1 ? 1u << (r + 1) % n : 0),
                                     false);
                close_world(&w);
            }
}

static void
several_sets(void **state)
{
    static const int shapes[][2] = {{5, 2}, {7, 3}, {8, 4}, {6, 2}};

    (void)state;
    for (int k = 0; k < KINDS; k++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            world w;

            if (kinds[k].parity >= shapes[s][1] && kinds[k].scheme != &rset_scheme_single)
                continue;
            open_world(&w, kinds[k], shapes[s][0], shapes[s][1], small, SMALL);
            for (unsigned mask = 3 * (unsigned)every_skip(); mask < 1u << shapes[s][0];
                 mask += 3 * (unsigned)every_step())
                if (mask + 1 < 1u << shapes[s][0])
                    lose_and_recover(&w, mask, false);
            close_world(&w);
        }
}

/* ---- P10: one rank alone ---- */

static void
serial_gives_the_same_bytes(void **state)
{
    (void)state;
    for (int k = 1; k < KINDS; k++) {
        world w;

        open_world(&w, kinds[k], 5, 5, edges, EDGES);
        for (int r = 0; r < 5; r++) {
            bool lost[JOB_RANKS];

            job_mask(&w.job, 1u << r, lost);
            job_lose(&w.job, lost);
            if (job_recover_serial(&w.job, r) != RSET_OK)
                fail_msg("%s: %s", w.what, w.job.ranks[r].err.text);
            assert_true(w.job.ranks[r].out.replaced);
            assert_same(&w, &w.image, IMAGE_CONTENT);
        }
        close_world(&w);
    }
}

/* One partner within reach is enough for the data, not for the own redundancy file. */
static void
serial_with_one_partner_in_reach(void **state)
{
    kind  k = {&rset_scheme_partner, 1};
    world w;

    (void)state;
    open_world(&w, k, 4, 4, small, SMALL);
    for (int r = 0; r < 4; r++) {
        char why[1024];

        for (int other = 0; other < 4; other++)
            if (other != (r + 1) % 4)
                remove_tree(w.job.ranks[other].dir);
        if (job_recover_serial(&w.job, r) != RSET_OK)
            fail_msg("%s: %s", w.what, w.job.ranks[r].err.text);
        if (!image_same(&w.image, w.base, path_of("node%d/ckpt_%d.h5", r, r), IMAGE_CONTENT, why))
            fail_msg("%s: %s", w.what, why);
        image_put(&w.image, w.base, NULL);
    }
    close_world(&w);
}

static void
serial_knows_what_is_nothing(void **state)
{
    kind  k = {&rset_scheme_xor, 1};
    bool  lost[JOB_RANKS];
    world w;

    (void)state;
    open_world(&w, k, 4, 4, small, SMALL);
    assert_int_equal(job_recover_serial(&w.job, 2), RSET_OK); /* healthy: nothing happens */
    assert_false(w.job.ranks[2].out.replaced);
    assert_same(&w, &w.image, IMAGE_UNTOUCHED);
    job_mask(&w.job, 15, lost);
    job_lose(&w.job, lost);
    assert_int_equal(job_recover_serial(&w.job, 1), RSET_ABSENT);
    assert_int_equal(job_recover(&w.job), RSET_ABSENT);
    close_world(&w);
}

static void
serial_heals_flipped_bits(void **state)
{
    (void)state;
    for (int k = 1; k < KINDS; k++) {
        world w;

        open_world(&w, kinds[k], 5, 5, even, 1);
        for (int r = 0; r < 5; r++) {
            flip_bit(job_data(&w.job, r), 70000);
            if (job_recover_serial(&w.job, r) != RSET_OK)
                fail_msg("%s: %s", w.what, w.job.ranks[r].err.text);
            assert_same(&w, &w.image, IMAGE_CONTENT);
            if (kinds[k].parity == 1 && kinds[k].scheme->striped) { /* B1: a damaged source */
                image before;

                flip_bit(job_data(&w.job, (r + 2) % 5), 10);
                remove_tree(w.job.ranks[r].dir);
                mkdir(w.job.ranks[r].dir, 0777);
                before = image_take(w.base);
                assert_int_equal(job_recover_serial(&w.job, r), RSET_LOST);
                assert_same(&w, &before, IMAGE_UNTOUCHED);
                image_free(&before);
                image_put(&w.image, w.base, NULL);
            }
        }
        close_world(&w);
    }
}

/* ---- no false alarm ---- */

/* Steps of an open of healthy files: the last rank has nobody below it in the tree, so it sends one message in a step. */
static uint64_t
steps_of_an_open(int k, const size_t *sizes, int n)
{
    world    w;
    uint64_t steps;

    open_world(&w, kinds[k], 6, 6, sizes, n);
    assert_int_equal(job_recover(&w.job), RSET_OK);
    steps = w.job.ranks[5].messages;
    close_world(&w);
    return steps;
}

/* Small files are verified before their ranks report, large ones when all are known to be there. */
static void
healthy_files_take_a_step_or_two(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        assert_int_equal(steps_of_an_open(k, small, SMALL), 1);
        assert_int_equal(steps_of_an_open(k, even, 1), 2);
    }
}

static void
healthy_files_stay_untouched(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        world w;

        open_world(&w, kinds[k], 6, 6, small, SMALL);
        assert_int_equal(job_recover(&w.job), RSET_OK);
        for (int r = 0; r < 6; r++) {
            assert_true(w.job.ranks[r].out.protected_);
            assert_false(w.job.ranks[r].out.replaced);
            assert_string_equal(w.job.ranks[r].out.note, "");
        }
        assert_same(&w, &w.image, IMAGE_UNTOUCHED);
        close_world(&w);
    }
}

/* ---- other ranks at reopen ---- */

/* Gives rank r the directory and file of old rank p[r]. */
static void
permute(world *w, const int *p)
{
    job_rank old[JOB_RANKS];

    memcpy(old, w->job.ranks, sizeof old);
    for (int r = 0; r < w->job.n; r++) {
        w->job.ranks[r].dir = old[p[r]].dir;
        w->job.ranks[r].prefix = old[p[r]].prefix;
        w->job.ranks[r].names[0] = old[p[r]].names[0];
    }
}

static void
permuted_ranks(void **state)
{
    static const kind four[] = {
        {&rset_scheme_partner, 1}, {&rset_scheme_xor, 1}, {&rset_scheme_rs, 2}};
    static const int cycles[][4] = {{1, 2, 3, 0}, {3, 2, 1, 0}, {1, 0, 3, 2}, {0, 2, 1, 3}};

    (void)state;
    for (size_t k = 0; k < 3; k++)
        for (size_t c = 0; c < 4; c++)
            for (unsigned lost_rank = 0; lost_rank < 4; lost_rank++) {
                world w;
                bool  lost[JOB_RANKS];

                open_world(&w, four[k], 4, 4, small, SMALL);
                permute(&w, cycles[c]);
                job_mask(&w.job, 1u << lost_rank, lost);
                job_lose(&w.job, lost);
                if (job_recover(&w.job) != RSET_OK)
                    fail_msg("%s, order %zu: %s", w.what, c, job_text(&w.job));
                assert_same(&w, &w.image, IMAGE_CONTENT);
                close_world(&w);
            }
}

static void
fewer_and_more_ranks(void **state)
{
    kind  k = {&rset_scheme_xor, 1};
    bool  lost[JOB_RANKS];
    image before;
    world w;

    (void)state;
    open_world(&w, k, 4, 4, small, SMALL);
    w.job.n = 3;
    assert_int_equal(job_recover(&w.job), RSET_OK); /* theirs are all there */
    assert_false(w.job.ranks[0].out.reprotect);
    job_mask(&w.job, 2, lost);
    job_lose(&w.job, lost);
    before = image_take(w.base);
    assert_int_equal(job_recover(&w.job), RSET_LOST);
    assert_same(&w, &before, IMAGE_UNTOUCHED);
    image_free(&before);
    w.job.n = 4;
    assert_int_equal(job_recover(&w.job), RSET_OK);
    assert_same(&w, &w.image, IMAGE_CONTENT);
    close_world(&w);
}

static void
one_rank_more_has_nothing(void **state)
{
    kind  k = {&rset_scheme_xor, 1};
    world w;
    job   more;
    image before;

    (void)state;
    open_world(&w, k, 4, 4, small, SMALL);
    job_init(&more, w.base, 5, k.scheme, 1, 5);
    before = image_take(w.base);
    assert_int_equal(job_recover(&more), RSET_LOST);
    assert_same(&w, &before, IMAGE_UNTOUCHED);
    image_free(&before);
    job_free(&more);
    close_world(&w);
}

/* ---- P9: memory and time ---- */

static void
memory_is_bounded(void **state)
{
    static const size_t large[] = {64u << 20};
    kind                k = {&rset_scheme_xor, 1};
    struct rusage       before, after;
    world               w = {.base = scratch_make()};
    double              t;

    (void)state;
    job_init(&w.job, w.base, 4, k.scheme, 1, 4);
    job_write_data(&w.job, large, 1, 1);
    getrusage(RUSAGE_SELF, &before);
    t = rset_clock();
    if (job_protect(&w.job) != RSET_OK)
        fail_msg("%s", job_text(&w.job));
    t = rset_clock() - t;
    getrusage(RUSAGE_SELF, &after);
    print_message("XOR of 4 x 64 MiB: %.0f MB/s together, %ld MiB of memory more\n",
                  4 * 64 * 1.048576 / t, (after.ru_maxrss - before.ru_maxrss) / 1024);
    close_world(&w);
    assert_true(after.ru_maxrss - before.ru_maxrss < 128 * 1024); /* four files are 256 MiB */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            memory_is_bounded), /* first: what the process needed before counts as well */
        cmocka_unit_test(every_loss_of_four),
        cmocka_unit_test(every_loss_of_eight_rs3),
        cmocka_unit_test(all_shapes_and_sizes),
        cmocka_unit_test(several_sets),
        cmocka_unit_test(serial_gives_the_same_bytes),
        cmocka_unit_test(serial_with_one_partner_in_reach),
        cmocka_unit_test(serial_heals_flipped_bits),
        cmocka_unit_test(serial_knows_what_is_nothing),
        cmocka_unit_test(healthy_files_take_a_step_or_two),
        cmocka_unit_test(healthy_files_stay_untouched),
        cmocka_unit_test(permuted_ranks),
        cmocka_unit_test(fewer_and_more_ranks),
        cmocka_unit_test(one_rank_more_has_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
