/* test_other_ranks.c: files are opened by more or fewer ranks than wrote them, or in another order, by their names
 * (recover/stand_in.c): what is lost comes back as if the ranks that wrote them had come; what they cannot have is refused, and
 * nothing is changed. */
#include "reader_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

/* ---- other numbers of ranks ---- */

/* All files, by n ranks that run on `nodes` in turn, each the next that nobody has. */
static void
read_in_turn(const world *w, int n, const int *nodes, int nnodes)
{
    for (int file = 0; file < WRITERS; file += n) {
        reader who[JOB_RANKS];

        for (int i = 0; i < n; i++)
            who[i] = (reader){.node = nodes[i % nnodes], .file = (file + i) % WRITERS};
        (void)expect_read(w, who, n);
    }
}

static void
other_numbers_read_all(void **state)
{
    static const int nodes[] = {0, 1, 2, 3};
    world            w;

    (void)state;
    reader_world_open(&w, &rset_scheme_xor, 1, 1);
    for (int n = 4; n <= 12; n++) {
        if (n == WRITERS)
            continue;
        reader_world_lose(&w, 0);
        read_in_turn(&w, n, nodes, NODES);
    }
    reader_world_close(&w);
}

static void
a_lost_node_comes_back(void **state)
{
    world w;

    (void)state;
    reader_world_open(&w, &rset_scheme_xor, 1, 1);
    for (int lost = 0; lost < NODES; lost++)
        for (int n = 3; n <= 12; n++) {
            int nodes[NODES], left = 0;

            for (int k = 0; k < NODES; k++)
                if (k != lost)
                    nodes[left++] = k;
            if (n == WRITERS)
                continue;
            reader_world_lose(&w, 1u << lost);
            read_in_turn(&w, n, nodes, left);
        }
    reader_world_close(&w);
}

/* Another order of the ranks, and a new node in the place of the lost one. */
static void
damage_is_found(void **state)
{
    static const reader who[] = {{1, 0, 1}, {4, 0, 2}, {3, 0, 3}, {2, 0, 0}, {1, 0, 5}};
    world               w;

    (void)state;
    reader_world_open(&w, &rset_scheme_rs, 2, 1);
    reader_world_lose(&w, 1 << 0);
    flip_bit(path_of("%s/node1/%s", w.base, name_of(0, 5)), 5);
    flip_bit(path_of("%s/node2/%s", w.base, name_of(0, 2)), 77);
    (void)expect_read(&w, who, 5);
    reader_world_close(&w);
}

/* Those of `seen` (bits), in the order of their numbers. */
static void
see_nodes(world *w, unsigned seen)
{
    int n = 0;

    for (int k = 0; k < NODES; k++)
        free((char *)(uintptr_t)w->search[k]);
    memset(w->search, 0, sizeof w->search);
    for (int k = 0; k < NODES; k++)
        if ((seen >> k & 1) != 0)
            w->search[n++] = strdup(path_of("%s/node%d", w->base, k));
}

/* One process that can see the directories of all nodes that are left opens each file where it lies, and those of the lost node
 * in a new directory; or all of them there. */
static void
one_reader_with_all_directories_in_sight(void **state)
{
    world w;

    (void)state;
    reader_world_open(&w, &rset_scheme_xor, 1, 1);
    for (int lost = 0; lost < NODES; lost++)
        for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
            reader_world_lose(&w, 1u << lost);
            see_nodes(&w, 15 & ~(1u << lost));
            for (int file = 0; file < WRITERS; file++) {
                const bool   there = elsewhere == 0 && file % NODES != lost;
                const reader one = {.node = there ? file % NODES : NODES, .file = file};

                expect_read(&w, &one, 1);
            }
        }
    see_nodes(&w, 0);
    reader_world_close(&w);
}

/* The directory that would be needed as well is not among them: whose files lay there is said. */
static void
one_node_out_of_sight(void **state)
{
    static const reader one = {.node = 1, .file = 0};
    world               w;

    (void)state;
    reader_world_open(&w, &rset_scheme_xor, 1, 1);
    reader_world_lose(&w, 1 << 0);
    see_nodes(&w, 1 << 1);
    expect_not_read(&w, &one, 1, "of the 8 that wrote these files");
    see_nodes(&w, 1 << 1 | 1 << 2 | 1 << 3);
    expect_read(&w, &one, 1);
    see_nodes(&w, 0);
    reader_world_close(&w);
}

static void
too_few_see_too_little(void **state)
{
    static const reader two[] = {{1, 0, 1}, {2, 0, 2}};
    static const reader three[] = {{1, 0, 1}, {2, 0, 2}, {3, 0, 0}};
    world               w;

    (void)state;
    reader_world_open(&w, &rset_scheme_xor, 1, 1);
    reader_world_lose(&w, 1 << 0);
    flip_bit(path_of("%s/node1/%s", w.base, name_of(0, 1)), 5);
    expect_not_read(&w, two, 2, "of the 8 that wrote these files"); /* node 3 is out of reach */
    reader_world_lose(&w, 1 << 0 | 1 << 1);
    expect_not_read(&w, three, 3, "the file of rank 0 is not as it was protected");
    reader_world_close(&w);
}

/* Nobody finds its own: that is no first start. */
static void
all_on_other_nodes(void **state)
{
    static const reader who[] = {{2, 0, 1}, {3, 0, 2}, {0, 0, 3}};
    static const reader lost[] = {{2, 0, 1}, {0, 0, 1}, {1, 0, 1}};
    world               w;

    (void)state;
    reader_world_open(&w, &rset_scheme_xor, 1, 1);
    (void)expect_read(&w, who, 3);
    reader_world_lose(&w, 1 << 1);
    expect_not_read(&w, lost, 2, "unrecoverable");
    reader_world_lose(&w, 1 << 1);
    rename(path_of("%s/node3", w.base), path_of("%s/node1", w.base));
    (void)expect_read(&w, lost, 3);
    reader_world_close(&w);
}

/* ---- analysis in another order ---- */

/* Rank r reads all files of step r, in any order of them. */
static void
each_rank_a_step(void **state)
{
    world w;

    (void)state;
    reader_world_open(&w, &rset_scheme_xor, 1, STEPS);
    for (int lost = -1; lost < NODES; lost++) {
        reader_world_lose(&w, lost < 0 ? 0 : 1u << lost);
        for (int file = 0; file < WRITERS; file++) {
            reader who[STEPS];

            for (int r = 0; r < STEPS; r++)
                who[r] = (reader){.node = r, .step = r, .file = (file + 3) % WRITERS};
            (void)expect_read(&w, who, STEPS);
        }
    }
    reader_world_close(&w);
}

static void
in_reverse_order(void **state)
{
    reader who[WRITERS];
    world  w;

    (void)state;
    reader_world_open(&w, &rset_scheme_xor, 1, 1);
    for (int r = 0; r < WRITERS; r++)
        who[r] = (reader){.node = r % NODES, .file = WRITERS - 1 - r};
    (void)expect_read(&w, who, WRITERS);
    reader_world_close(&w);
}

/* All write version 2 beside version 1, and protect it; the job dies when all have it prepared, and rank 5 has published. What
 * there is to be read is version 2 then. */
static void
die_committing(world *w)
{
    job *j = &w->job[0];

    job_write_data(j, reader_sizes, 6, 2);
    for (int r = 0; r < WRITERS; r++) {
        assert_true(
            asprintf(&j->ranks[r].shadow, "%sredset.0000000000000001.new", j->ranks[r].prefix) > 0);
        assert_int_equal(
            rename(job_data(j, r), path_of("%s/%s", j->ranks[r].dir, j->ranks[r].shadow)), 0);
        image_put(&w->image, w->base, path_of("node%d/%s", r % NODES, j->ranks[r].names[0]));
    }
    job_die_publishing(j, 0);
    assert_int_equal(rename(path_of("%s.new", job_redundancy(j, 5)), job_redundancy(j, 5)), 0);
    for (int r = 0; r < WRITERS; r++) {
        free(j->ranks[r].shadow);
        j->ranks[r].shadow = NULL;
    }
}

/* That is decided, whoever opens the files: also those who open none that was published, or only that one. */
static void
a_decided_commit_is_finished(void **state)
{
    static const reader with[] = {{0, 0, 0}, {1, 0, 5}, {2, 0, 2}, {3, 0, 3}};
    static const reader without[] = {{0, 0, 0}, {1, 0, 1}, {2, 0, 2}, {3, 0, 3}};
    const reader *const who[] = {with, without};
    world               w;

    (void)state;
    for (size_t i = 0; i < sizeof who / sizeof *who; i++) {
        image were;

        reader_world_open(&w, &rset_scheme_xor, 1, 1);
        job_write_data(&w.job[0], reader_sizes, 6, 2);
        were = image_take(w.base);
        reader_world_lose(&w, 0);
        die_committing(&w);
        image_free(&w.image);
        w.image = were;
        expect_read(&w, who[i], NODES);
        assert_int_equal(job_recover(&w.job[0]), RSET_OK);
        assert_true(w.job[0].ranks[0].out.protected_);
        reader_world_close(&w);
    }
}

/* A reader finds an old copy where it opens its file; that is at home elsewhere. */
static void
an_old_copy_is_not_read(void **state)
{
    static const reader who[] = {{0, 0, 0}, {1, 0, 1}, {2, 0, 2}, {3, 0, 4}};
    image               was;
    world               w;

    (void)state;
    reader_world_open(&w, &rset_scheme_xor, 1, 1);
    was = image_take(path_of("%s/node0", w.base));
    job_write_data(&w.job[0], reader_sizes, 6, 9);
    assert_int_equal(job_protect(&w.job[0]), RSET_OK);
    for (size_t i = 0; i < was.n; i++)
        if (strncmp(was.at[i].path, name_of(0, 4), strlen(name_of(0, 4))) == 0)
            image_put(&was, path_of("%s/node3", w.base), was.at[i].path);
    expect_not_read(&w, who, 4, "old copy");
    image_free(&was);
    reader_world_close(&w);
}

/* A file of an older commit beside newer ones of the others is never opened as it is. */
static void
never_a_mixture(void **state)
{
    static const reader who[] = {{0, 0, 0}, {1, 0, 1}, {2, 0, 2}, {3, 0, 3}, {1, 0, 5}};
    image               was;
    world               w;

    (void)state;
    reader_world_open(&w, &rset_scheme_xor, 1, 1);
    was = w.image;
    job_write_data(&w.job[0], reader_sizes, 6, 9);
    assert_int_equal(job_protect(&w.job[0]), RSET_OK);
    w.image = image_take(w.base);
    remove_tree(path_of("%s/node1", w.base));
    mkdir(path_of("%s/node1", w.base), 0777);
    image_put(&was, w.base, "node1");
    (void)expect_read(&w, who, 5);
    reader_world_lose(&w, 0);
    remove_tree(path_of("%s/node1", w.base));
    remove_tree(path_of("%s/node2", w.base));
    mkdir(path_of("%s/node1", w.base), 0777);
    mkdir(path_of("%s/node2", w.base), 0777);
    image_put(&was, w.base, "node1");
    image_put(&was, w.base, "node2");
    expect_not_read(&w, who, 5, "rank 3 of the 8 that wrote these files");
    image_free(&was);
    reader_world_close(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_numbers_read_all),
        cmocka_unit_test(a_lost_node_comes_back),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(one_reader_with_all_directories_in_sight),
        cmocka_unit_test(one_node_out_of_sight),
        cmocka_unit_test(too_few_see_too_little),
        cmocka_unit_test(all_on_other_nodes),
        cmocka_unit_test(each_rank_a_step),
        cmocka_unit_test(in_reverse_order),
        cmocka_unit_test(never_a_mixture),
        cmocka_unit_test(an_old_copy_is_not_read),
        cmocka_unit_test(a_decided_commit_is_finished),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
