/* test_other_ranks.c: files are opened by more or fewer ranks than wrote them, or in another order, by their names
 * (recover/stand_in.c): what is lost comes back as if the ranks that wrote them had come; what they cannot have is refused, and
 * nothing is changed. */
#include "image.h"
#include "job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { NODES = 4, WRITERS = 8, STEPS = 4 };

static const size_t sizes[] = {300001, 4096, 4097, 70000, 0, 9};

/* Files of WRITERS ranks, two on each node, or of several steps of them. */
typedef struct world {
    char       *base;
    job         job[STEPS]; /* that wrote them */
    int         steps;
    image       image;
    const char *search[NODES + 1]; /* directories that all readers can see; ends with NULL */
} world;

static void
name_it(job_rank *k, const char *base, int node, const char *name)
{
    free(k->dir);
    free(k->prefix);
    free(k->names[0]);
    assert_true(asprintf(&k->dir, "%s/node%d", base, node) > 0);
    assert_true(asprintf(&k->names[0], "%s", name) > 0);
    assert_true(asprintf(&k->prefix, "%s.", name) > 0);
}

static const char *
name_of(int step, int rank)
{
    return path_of("s%d.%d.h5", step, rank);
}

static void
open_world(world *w, const rset_scheme *scheme, int parity, int steps)
{
    *w = (world){.base = scratch_make(), .steps = steps};
    for (int s = 0; s < steps; s++) {
        job_init(&w->job[s], w->base, WRITERS, scheme, parity, NODES);
        for (int r = 0; r < WRITERS; r++)
            name_it(&w->job[s].ranks[r], w->base, r % NODES, name_of(s, r));
        job_write_data(&w->job[s], sizes, 6, s + 1);
        if (job_protect(&w->job[s]) != RSET_OK)
            fail_msg("%s", job_text(&w->job[s]));
    }
    w->image = image_take(w->base);
}

static void
close_world(world *w)
{
    remove_tree(w->base);
    free(w->base);
    image_free(&w->image);
    for (int s = 0; s < w->steps; s++)
        job_free(&w->job[s]);
}

/* As it was protected; then some nodes are lost (bits). */
static void
lose(const world *w, unsigned lost)
{
    for (int k = 0; k < WRITERS; k++)
        remove_tree(path_of("%s/node%d", w->base, k));
    image_put(&w->image, w->base, NULL);
    for (int k = 0; k < WRITERS; k++) {
        if ((lost >> k & 1) != 0)
            remove_tree(path_of("%s/node%d", w->base, k));
        mkdir(path_of("%s/node%d", w->base, k), 0777);
    }
}

/* Rank i of n runs on nodes[i] and opens that file. */
typedef struct reader {
    int node, step, file;
} reader;

static rset_status
read_all(const world *w, const reader *who, int n, job *readers)
{
    job_init(readers, w->base, n, &rset_scheme_single, 0, 1);
    readers->content = RSET_CONTENT_DATA;
    readers->search = w->search;
    for (int i = 0; i < n; i++)
        name_it(&readers->ranks[i], w->base, who[i].node, name_of(who[i].step, who[i].file));
    return job_recover(readers);
}

/* Each has what was protected, where it opens it. */
static void
expect_read(const world *w, const reader *who, int n)
{
    job readers;

    if (read_all(w, who, n, &readers) != RSET_OK)
        fail_msg("%d ranks, rank 0 opens file %d of step %d: %s", n, who[0].file, who[0].step,
                 job_text(&readers));
    for (int i = 0; i < n; i++) {
        const char *was = path_of("node%d/%s", who[i].file % NODES, readers.ranks[i].names[0]);
        char        why[1024];

        if (!image_same_file(&w->image, was, job_data(&readers, i), why))
            fail_msg("%s", why);
    }
    job_free(&readers);
}

static void
expect_refused(const world *w, const reader *who, int n, const char *text)
{
    image before = image_take(w->base);
    job   readers;
    char  why[1024];

    assert_int_equal(read_all(w, who, n, &readers), RSET_LOST);
    if (strstr(job_text(&readers), text) == NULL)
        fail_msg("not said: %s, but %s", text, job_text(&readers));
    if (!image_same(&before, w->base, NULL, IMAGE_UNTOUCHED, why))
        fail_msg("refused, but %s", why);
    image_free(&before);
    job_free(&readers);
}

/* ---- other numbers of ranks ---- */

/* All files, by n ranks that run on `nodes` in turn, each the next that nobody has. */
static void
read_in_turn(const world *w, int n, const int *nodes, int nnodes)
{
    for (int file = 0; file < WRITERS; file += n) {
        reader who[JOB_RANKS];

        for (int i = 0; i < n; i++)
            who[i] = (reader){.node = nodes[i % nnodes], .file = (file + i) % WRITERS};
        expect_read(w, who, n);
    }
}

static void
other_numbers_read_all(void **state)
{
    static const int nodes[] = {0, 1, 2, 3};
    world            w;

    (void)state;
    open_world(&w, &rset_scheme_xor, 1, 1);
    for (int n = 4; n <= 12; n++) {
        if (n == WRITERS)
            continue;
        lose(&w, 0);
        read_in_turn(&w, n, nodes, NODES);
    }
    close_world(&w);
}

static void
a_lost_node_comes_back(void **state)
{
    world w;

    (void)state;
    open_world(&w, &rset_scheme_xor, 1, 1);
    for (int lost = 0; lost < NODES; lost++)
        for (int n = 3; n <= 12; n++) {
            int nodes[NODES], left = 0;

            for (int k = 0; k < NODES; k++)
                if (k != lost)
                    nodes[left++] = k;
            if (n == WRITERS)
                continue;
            lose(&w, 1u << lost);
            read_in_turn(&w, n, nodes, left);
        }
    close_world(&w);
}

/* Another order of the ranks, and a new node in the place of the lost one. */
static void
damage_is_found(void **state)
{
    static const reader who[] = {{1, 0, 1}, {4, 0, 2}, {3, 0, 3}, {2, 0, 0}, {1, 0, 5}};
    world               w;

    (void)state;
    open_world(&w, &rset_scheme_rs, 2, 1);
    lose(&w, 1 << 0);
    flip_bit(path_of("%s/node1/%s", w.base, name_of(0, 5)), 5);
    flip_bit(path_of("%s/node2/%s", w.base, name_of(0, 2)), 77);
    expect_read(&w, who, 5);
    close_world(&w);
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
    open_world(&w, &rset_scheme_xor, 1, 1);
    for (int lost = 0; lost < NODES; lost++)
        for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
            lose(&w, 1u << lost);
            see_nodes(&w, 15 & ~(1u << lost));
            for (int file = 0; file < WRITERS; file++) {
                const bool   there = elsewhere == 0 && file % NODES != lost;
                const reader one = {.node = there ? file % NODES : NODES, .file = file};

                expect_read(&w, &one, 1);
            }
        }
    see_nodes(&w, 0);
    close_world(&w);
}

/* The directory that would be needed as well is not among them: whose files lay there is said. */
static void
one_node_out_of_sight(void **state)
{
    static const reader one = {.node = 1, .file = 0};
    world               w;

    (void)state;
    open_world(&w, &rset_scheme_xor, 1, 1);
    lose(&w, 1 << 0);
    see_nodes(&w, 1 << 1);
    expect_refused(&w, &one, 1, "of the 8 that wrote these files");
    see_nodes(&w, 1 << 1 | 1 << 2 | 1 << 3);
    expect_read(&w, &one, 1);
    see_nodes(&w, 0);
    close_world(&w);
}

static void
too_few_see_too_little(void **state)
{
    static const reader two[] = {{1, 0, 1}, {2, 0, 2}};
    static const reader three[] = {{1, 0, 1}, {2, 0, 2}, {3, 0, 0}};
    world               w;

    (void)state;
    open_world(&w, &rset_scheme_xor, 1, 1);
    lose(&w, 1 << 0);
    flip_bit(path_of("%s/node1/%s", w.base, name_of(0, 1)), 5);
    expect_refused(&w, two, 2, "of the 8 that wrote these files"); /* node 3 is out of reach */
    lose(&w, 1 << 0 | 1 << 1);
    expect_refused(&w, three, 3, "the file of rank 0 is not as it was protected");
    close_world(&w);
}

/* Nobody finds its own: that is no first start. */
static void
all_on_other_nodes(void **state)
{
    static const reader who[] = {{2, 0, 1}, {3, 0, 2}, {0, 0, 3}};
    static const reader lost[] = {{2, 0, 1}, {0, 0, 1}, {1, 0, 1}};
    world               w;

    (void)state;
    open_world(&w, &rset_scheme_xor, 1, 1);
    expect_read(&w, who, 3);
    lose(&w, 1 << 1);
    expect_refused(&w, lost, 2, "unrecoverable");
    lose(&w, 1 << 1);
    rename(path_of("%s/node3", w.base), path_of("%s/node1", w.base));
    expect_read(&w, lost, 3);
    close_world(&w);
}

/* ---- analysis in another order ---- */

/* Rank r reads all files of step r, in any order of them. */
static void
each_rank_a_step(void **state)
{
    world w;

    (void)state;
    open_world(&w, &rset_scheme_xor, 1, STEPS);
    for (int lost = -1; lost < NODES; lost++) {
        lose(&w, lost < 0 ? 0 : 1u << lost);
        for (int file = 0; file < WRITERS; file++) {
            reader who[STEPS];

            for (int r = 0; r < STEPS; r++)
                who[r] = (reader){.node = r, .step = r, .file = (file + 3) % WRITERS};
            expect_read(&w, who, STEPS);
        }
    }
    close_world(&w);
}

static void
in_reverse_order(void **state)
{
    reader who[WRITERS];
    world  w;

    (void)state;
    open_world(&w, &rset_scheme_xor, 1, 1);
    for (int r = 0; r < WRITERS; r++)
        who[r] = (reader){.node = r % NODES, .file = WRITERS - 1 - r};
    expect_read(&w, who, WRITERS);
    close_world(&w);
}

/* All write version 2 beside version 1, and protect it; the job dies when all have it prepared, and rank 5 has published. What
 * there is to be read is version 2 then. */
static void
die_committing(world *w)
{
    job *j = &w->job[0];

    job_write_data(j, sizes, 6, 2);
    for (int r = 0; r < WRITERS; r++) {
        assert_true(asprintf(&j->ranks[r].shadow, "%sredset.0000000000000001.shadow",
                             j->ranks[r].prefix) > 0);
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

        open_world(&w, &rset_scheme_xor, 1, 1);
        job_write_data(&w.job[0], sizes, 6, 2);
        were = image_take(w.base);
        lose(&w, 0);
        die_committing(&w);
        image_free(&w.image);
        w.image = were;
        expect_read(&w, who[i], NODES);
        assert_int_equal(job_recover(&w.job[0]), RSET_OK);
        assert_true(w.job[0].ranks[0].out.protected_);
        close_world(&w);
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
    open_world(&w, &rset_scheme_xor, 1, 1);
    was = image_take(path_of("%s/node0", w.base));
    job_write_data(&w.job[0], sizes, 6, 9);
    assert_int_equal(job_protect(&w.job[0]), RSET_OK);
    for (size_t i = 0; i < was.n; i++)
        if (strncmp(was.at[i].path, name_of(0, 4), strlen(name_of(0, 4))) == 0)
            image_put(&was, path_of("%s/node3", w.base), was.at[i].path);
    expect_refused(&w, who, 4, "old copy");
    image_free(&was);
    close_world(&w);
}

/* A file of an older commit beside newer ones of the others is never opened as it is. */
static void
never_a_mixture(void **state)
{
    static const reader who[] = {{0, 0, 0}, {1, 0, 1}, {2, 0, 2}, {3, 0, 3}, {1, 0, 5}};
    image               was;
    world               w;

    (void)state;
    open_world(&w, &rset_scheme_xor, 1, 1);
    was = w.image;
    job_write_data(&w.job[0], sizes, 6, 9);
    assert_int_equal(job_protect(&w.job[0]), RSET_OK);
    w.image = image_take(w.base);
    remove_tree(path_of("%s/node1", w.base));
    mkdir(path_of("%s/node1", w.base), 0777);
    image_put(&was, w.base, "node1");
    expect_read(&w, who, 5);
    lose(&w, 0);
    remove_tree(path_of("%s/node1", w.base));
    remove_tree(path_of("%s/node2", w.base));
    mkdir(path_of("%s/node1", w.base), 0777);
    mkdir(path_of("%s/node2", w.base), 0777);
    image_put(&was, w.base, "node1");
    image_put(&was, w.base, "node2");
    expect_refused(&w, who, 5, "rank 3 of the 8 that wrote these files");
    image_free(&was);
    close_world(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_numbers_read_all),
        cmocka_unit_test(a_lost_node_comes_back),
        cmocka_unit_test(one_reader_with_all_directories_in_sight),
        cmocka_unit_test(one_node_out_of_sight),
        cmocka_unit_test(damage_is_found),
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
