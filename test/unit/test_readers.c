/* test_readers.c: ranks that only read files of several steps, in orders of their own (recover/apart.c): what is whole is opened as
 * it is, and nothing else is read; what is lost, damaged, or was not finished is recovered by those that wrote it. Never
 * an older file where a newer one is known. */
#include "reader_world.h"
#include "twice_change.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- orders ---- */

static uint64_t chance;

static int
by_chance(int below)
{
    chance = chance * 6364136223846793005u + 1442695040888963407u;
    return (int)((chance >> 33) % (uint64_t)below);
}

/* Rank i of n on the nodes that are there opens file (i + k) of step (i + k): no two open one. */
static void
on_diagonals(reader *who, int n, int k, unsigned lost)
{
    for (int i = 0, node = 0; i < n; i++) {
        while ((lost >> node % NODES & 1) != 0)
            node++;
        who[i] = (reader){node++ % NODES, (i + k) % STEPS, (i + k) % WRITERS};
    }
}

/* Any file, also one that another rank opens. */
static void
at_random(reader *who, int n, unsigned lost)
{
    on_diagonals(who, n, 0, lost);
    for (int i = 0; i < n; i++) {
        who[i].step = by_chance(STEPS);
        who[i].file = by_chance(WRITERS);
    }
}

/* ---- all is whole ---- */

static void
whole_files_are_opened_in_any_order(void **state)
{
    reader who[12];
    world  w;

    (void)state;
    reader_world_open(&w, &rset_scheme_xor, 1, STEPS);
    for (int k = 0; k < 8; k++)
        for (int n = NODES; n <= 12; n += k % 2 != 0 ? 3 : 1) {
            reader_world_lose(&w, 0);
            on_diagonals(who, n, k, 0);
            (void)expect_read(&w, who, n);
        }
    for (chance = 1; chance < 12;) {
        const uint64_t seed = chance;

        at_random(who, WRITERS, 0);
        reader_world_lose(&w, 0);
        (void)expect_read(&w, who, WRITERS);
        chance = seed + 1;
    }
    reader_world_close(&w);
}

/* Files that nobody opens may be damaged: they are not read, and stay as they are. */
static void
nothing_else_is_read(void **state)
{
    reader who[WRITERS];
    image  before;
    char   why[1024];
    world  w;

    (void)state;
    reader_world_open(&w, &rset_scheme_xor, 1, STEPS);
    for (int i = 0; i < WRITERS; i++)
        who[i] = (reader){i % NODES, i % STEPS, i};
    for (int i = 0; i < WRITERS; i++)
        if (reader_sizes[i % 6] > 0)
            flip_bit(path_of("%s/node%d/%s", w.base, i % NODES, name_of((i + 1) % STEPS, i)), 5);
    before = image_take(w.base);
    assert_int_equal(expect_read(&w, who, WRITERS), RSET_REASON_READ_AS_IS);
    if (!image_same(&before, w.base, NULL, IMAGE_UNTOUCHED, why))
        fail_msg("%s", why);
    image_free(&before);
    reader_world_close(&w);
}

/* SINGLE records nothing of other ranks. */
static void
files_without_parity_are_opened_in_any_order(void **state)
{
    reader who[WRITERS];
    world  w;

    (void)state;
    reader_world_open(&w, &rset_scheme_single, 0, STEPS);
    for (int k = 0; k < STEPS; k++) {
        for (int i = 0; i < WRITERS; i++)
            who[i] = (reader){i % NODES, (i + k) % STEPS, i};
        assert_int_equal(expect_read(&w, who, WRITERS), RSET_REASON_READ_AS_IS);
    }
    reader_world_close(&w);
}

/* Files of that kind that nobody has protected are opened as they are, whatever becomes of the others. */
static void
what_nobody_protects_is_opened_beside_them(void **state)
{
    reader who[STEPS];
    world  w;

    (void)state;
    reader_world_open(&w, &rset_scheme_xor, 1, STEPS);
    for (int lost = 0; lost < NODES; lost++)
        for (int plain = 0; plain < STEPS; plain++) {
            for (int i = 0; i < STEPS; i++)
                who[i] = (reader){i, i, i};
            who[plain].step = STEPS;
            reader_world_lose(&w, 0);
            write_file(path_of("%s/node%d/%s", w.base, plain, name_of(STEPS, plain)), "plain", 5);
            image_free(&w.image);
            w.image = image_take(w.base);
            (void)expect_read(&w, who, STEPS);
            reader_world_lose(&w, plain == lost ? 0 : 1u << lost);
            (void)expect_read(&w, who, STEPS);
        }
    reader_world_close(&w);
}

/* ---- something is lost ---- */

static void
what_is_lost_comes_back(void **state)
{
    reader who[12];
    world  w;

    (void)state;
    reader_world_open(&w, &rset_scheme_xor, 1, STEPS);
    chance = 7;
    for (unsigned lost = 1; lost < 1 << NODES; lost <<= 1)
        for (int n = 3; n <= 12; n += 3) {
            reader_world_lose(&w, lost);
            on_diagonals(who, n, n, lost);
            (void)expect_read(&w, who, n);
            at_random(who, n, lost);
            (void)expect_read(&w, who, n);
            reader_world_lose(&w, lost);
            at_random(who, n, lost);
            (void)expect_read(&w, who, n);
        }
    reader_world_close(&w);
}

/* As many ranks as wrote the files, in one step, and one file is opened twice: not each its own. */
static void
one_file_twice_is_no_restart(void **state)
{
    reader who[WRITERS];
    world  w;

    (void)state;
    reader_world_open(&w, &rset_scheme_xor, 1, 1);
    for (int lost = 0; lost < NODES; lost++)
        for (int again = 0; again < WRITERS; again += 3) {
            for (int i = 0; i < WRITERS; i++)
                who[i] = (reader){(i + (i % NODES == lost)) % NODES, 0, i};
            who[(again + 1) % WRITERS].file = again;
            reader_world_lose(&w, 1u << lost);
            (void)expect_read(&w, who, WRITERS);
        }
    reader_world_close(&w);
}

static void
damage_is_repaired(void **state)
{
    reader who[WRITERS];
    world  w;

    (void)state;
    reader_world_open(&w, &rset_scheme_rs, 2, STEPS);
    for (int i = 0; i < WRITERS; i++)
        who[i] = (reader){i % NODES, i % STEPS, i};
    flip_bit(path_of("%s/node0/%s", w.base, name_of(0, 0)), 77);
    flip_bit(path_of("%s/node1/%s", w.base, name_of(1, 1)), 5);
    (void)expect_read(&w, who, WRITERS);
    reader_world_close(&w);
}

/* ---- older copies ---- */

/* Step 0 is protected once more; `was`: before that. */
static void
protect_again(world *w, image *was)
{
    *was = w->image;
    job_write_data(&w->job[0], reader_sizes, 6, 9);
    assert_int_equal(job_protect(&w->job[0]), RSET_OK);
    w->image = image_take(w->base);
}

/* A node comes back with what it had before the others went on: nobody opens what it has of that step. */
static void
an_old_copy_is_brought_up_to_date(void **state)
{
    reader who[STEPS];
    image  was;
    world  w;

    (void)state;
    reader_world_open(&w, &rset_scheme_xor, 1, STEPS);
    protect_again(&w, &was);
    for (int node = 0; node < NODES; node++) {
        reader_world_lose(&w, 1u << node);
        image_put(&was, w.base, path_of("node%d", node));
        for (int i = 0; i < STEPS; i++)
            who[i] = (reader){i, i == node ? 0 : 1 + i % 3, i};
        (void)expect_read(&w, who, STEPS);
    }
    image_free(&was);
    reader_world_close(&w);
}

/* A reader has an older copy, and the file itself has a newer commit on its node: all readers, and only one. */
static void
a_readers_old_copy_is_not_opened(void **state)
{
    reader who[STEPS];
    image  was;
    world  w;

    (void)state;
    reader_world_open(&w, &rset_scheme_xor, 1, STEPS);
    for (int i = 0; i < STEPS; i++)
        who[i] = (reader){(i + 1) % NODES, i, i}; /* each on another node: copies are left there */
    (void)expect_read(&w, who, STEPS);
    image_free(&w.image);
    w.image = image_take(w.base);
    protect_again(&w, &was);
    expect_not_read(&w, who, STEPS, "this is an old copy");
    for (int i = 0; i < 3; i++)
        who[i] = (reader){(i + 1) % NODES, 0, i};
    image_free(&was);
    reader_world_close(&w);
}

/* ---- a job that was killed ---- */

/* The ranks of step 0 have written their files anew, beside the old ones. w->image: the new ones; `was`: before that. */
static void
write_anew(world *w, image *was)
{
    const twice as = {.base = w->base, .job = w->job[0]};

    *was = w->image;
    job_write_data(&w->job[0], reader_sizes, 6, 9);
    w->image = image_take(w->base);
    for (int i = 0; i < WRITERS; i++) {
        job_rank *k = &w->job[0].ranks[i];

        note_name(&as, i, shadow_of(&as, i));
        assert_int_equal(rename(job_data(&as.job, i), shadow_of(&as, i)), 0);
        k->shadow = rset_name_of(RSET_NAME_SHADOW, k->prefix, SHADOW_GENERATION);
        image_put(was, w->base, path_of("node%d/%s", i % NODES, k->names[0]));
    }
}

/* File `file` of step 0, on its node, among files of other steps. */
static void
among_others(reader *who, int file)
{
    for (int i = 0; i < STEPS; i++)
        who[i] = i == file % NODES ? (reader){i, 0, file} : (reader){i, 1 + i % 3, i};
}

/* All had prepared the commit, and some had published it, whoever it was; whose file is opened first makes no difference. */
static void
a_decided_commit_is_finished(void **state)
{
    static const unsigned published[] = {0, 1, 0x80, 0xf0};

    (void)state;
    for (size_t k = 0; k < sizeof published / sizeof *published; k++)
        for (int first = 0; first < WRITERS; first += 3) {
            reader who[STEPS];
            image  was;
            world  w;

            reader_world_open(&w, &rset_scheme_xor, 1, STEPS);
            write_anew(&w, &was);
            job_die_publishing(&w.job[0], published[k]);
            for (int i = 0; i < WRITERS; i++) {
                among_others(who, (first + i) % WRITERS);
                (void)expect_read(&w, who, STEPS);
            }
            image_free(&was);
            reader_world_close(&w);
        }
}

/* One had not prepared it: the old files, all of them. */
static void
what_was_not_decided_is_not_opened(void **state)
{
    (void)state;
    for (int without = 0; without < WRITERS; without += 5)
        for (int first = 0; first < WRITERS; first += 3) {
            reader who[STEPS];
            image  was, anew;
            world  w;

            reader_world_open(&w, &rset_scheme_xor, 1, STEPS);
            write_anew(&w, &was);
            job_die_publishing(&w.job[0], 0);
            assert_int_equal(unlink(path_of("%s.new", job_redundancy(&w.job[0], without))), 0);
            anew = w.image;
            w.image = was;
            for (int i = 0; i < WRITERS; i++) {
                among_others(who, (first + i) % WRITERS);
                (void)expect_read(&w, who, STEPS);
            }
            image_free(&anew);
            reader_world_close(&w);
        }
}

/* As many readers as writers, and several open one file: that theirs are prepared says nothing about one that nobody opens. */
static void
readers_do_not_decide_a_commit(void **state)
{
    reader who[WRITERS];
    image  was, anew;
    world  w;

    (void)state;
    reader_world_open(&w, &rset_scheme_xor, 1, 1);
    write_anew(&w, &was);
    job_die_publishing(&w.job[0], 0);
    assert_int_equal(unlink(path_of("%s.new", job_redundancy(&w.job[0], 7))), 0);
    anew = w.image;
    w.image = was;
    for (int i = 0; i < WRITERS; i++)
        who[i] = (reader){i % NODES, 0, i % 4};
    (void)expect_read(&w, who, WRITERS);
    image_free(&anew);
    reader_world_close(&w);
}

/* The program of rank `rank` of step 0 changes the beginning of its file, and ends like that. */
static void
change_in_place(const world *w, int rank, change_end end)
{
    const twice as = {.base = w->base, .job = w->job[0]};
    change_of   c;
    rset_err    err = RSET_ERR_NONE;

    change_label = (rset_label){.job = 1, .step = 1, .ranks = WRITERS};
    change_open(&c, &as, rank);
    assert_int_equal(rset_change_begin(&c.local, &c.ev, true, &c.journal, &err), RSET_OK);
    if (reader_sizes[rank % 6] > 0)
        change_bytes(&c, &as, rank, 0, 5);
    change_close(&c, end);
}

/* It died while it changed the files of step 0 in place, and had not come to all of them: as they were protected. */
static void
a_change_that_was_not_finished_is_rolled_back(void **state)
{
    (void)state;
    for (int first = 0; first < WRITERS; first += 3) {
        reader who[STEPS];
        world  w;

        reader_world_open(&w, &rset_scheme_xor, 1, STEPS);
        for (int i = 0; i < WRITERS; i += 3)
            change_in_place(&w, i, END_KILLED);
        for (int i = 0; i < WRITERS; i++) {
            among_others(who, (first + i) % WRITERS);
            (void)expect_read(&w, who, STEPS);
        }
        reader_world_close(&w);
    }
}

/* All of its ranks have closed their files, which were not protected any more: as they were closed. All but one, which died:
 * as they were protected. */
static void
what_was_closed_in_one_step_is_opened(void **state)
{
    (void)state;
    for (int died = -1; died < WRITERS; died += 4)
        for (int first = 0; first < WRITERS; first += 3) {
            reader who[STEPS];
            world  w;

            reader_world_open(&w, &rset_scheme_xor, 1, STEPS);
            for (int i = 0; i < WRITERS; i++)
                change_in_place(&w, i, i == died ? END_KILLED : END_CLOSED);
            if (died < 0) {
                image_free(&w.image);
                w.image = image_take(w.base);
            }
            for (int i = 0; i < WRITERS; i++) {
                among_others(who, (first + i) % WRITERS);
                (void)expect_read(&w, who, STEPS);
            }
            reader_world_close(&w);
        }
}

/* What the rank that sends most sends, in bytes: of n ranks that wrote files into one directory so many open their own ones for
 * reading, and one file is lost. */
static uint64_t
most_sent_by_readers(int n, int come)
{
    static const size_t size = 4096;
    char               *base = scratch_make();
    uint64_t            most = 0;
    job                 all;

    job_init(&all, base, n, &rset_scheme_xor, 1, 4);
    for (int r = 0; r < n; r++) {
        free(all.ranks[r].dir);
        assert_true(asprintf(&all.ranks[r].dir, "%s/node0", base) > 0);
    }
    job_write_data(&all, &size, 1, 1);
    assert_int_equal(job_protect(&all), RSET_OK);
    assert_int_equal(unlink(job_data(&all, 1)), 0);
    assert_int_equal(unlink(job_redundancy(&all, 1)), 0);
    all.reads = true;
    all.content = RSET_CONTENT_DATA;
    all.n = come;
    if (job_recover(&all) != RSET_OK)
        fail_msg("%s", job_text(&all));
    assert_true(all.ranks[1].out.replaced);
    for (int r = 0; r < come; r++)
        most = all.ranks[r].sent > most ? all.ranks[r].sent : most;
    all.n = n;
    job_free(&all);
    remove_tree(base);
    free(base);
    return most;
}

/* A rank tells and hears of its own files, not of all that it sees in the directory of all; also where fewer ranks have come than
 * wrote them, each of which hosts two. */
static void
what_a_rank_says_does_not_grow_with_what_it_sees(void **state)
{
    (void)state;
    for (int share = 1; share <= 2; share++) {
        const uint64_t few = most_sent_by_readers(8, 8 / share);
        const uint64_t many = most_sent_by_readers(32, 32 / share);

        if (many > 2 * few)
            fail_msg("%ju bytes where 8 ranks wrote, %ju where 32 did; one of %d has come",
                     (uintmax_t)few, (uintmax_t)many, share);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_files_are_opened_in_any_order),
        cmocka_unit_test(nothing_else_is_read),
        cmocka_unit_test(files_without_parity_are_opened_in_any_order),
        cmocka_unit_test(what_nobody_protects_is_opened_beside_them),
        cmocka_unit_test(what_is_lost_comes_back),
        cmocka_unit_test(one_file_twice_is_no_restart),
        cmocka_unit_test(damage_is_repaired),
        cmocka_unit_test(an_old_copy_is_brought_up_to_date),
        cmocka_unit_test(a_readers_old_copy_is_not_opened),
        cmocka_unit_test(a_decided_commit_is_finished),
        cmocka_unit_test(what_was_not_decided_is_not_opened),
        cmocka_unit_test(readers_do_not_decide_a_commit),
        cmocka_unit_test(a_change_that_was_not_finished_is_rolled_back),
        cmocka_unit_test(what_was_closed_in_one_step_is_opened),
        cmocka_unit_test(what_a_rank_says_does_not_grow_with_what_it_sees),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
