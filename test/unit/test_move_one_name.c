/* test_move_one_name.c: ranks run on other nodes than before, and all files have one name: each finds another rank's under its
 * path (move/move.h). */
#include "failing.h"
#include "move_world.h"
#include "names/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const int turned[NODES] = {1, 2, 3, 0};
static const int swapped[NODES] = {1, 0, 2, 3};

/* What node k has is on node to[k] now. */
static void
turn(const world *w, const int *to)
{
    for (int k = 0; k < NODES; k++)
        assert_int_equal(rename(path_of("%s/node%d", w->base, k), path_of("%s/was%d", w->base, k)),
                         0);
    for (int k = 0; k < NODES; k++)
        assert_int_equal(
            rename(path_of("%s/was%d", w->base, k), path_of("%s/node%d", w->base, to[k])), 0);
}

/* MV6, MV3: exchanges, cycles of three and of four, chains where a node was lost: bit for bit, and nothing stays behind. */
static void
MV6_one_name_files_follow_their_ranks(void **state)
{
    world w;

    (void)state;
    world_open(&w, &rset_scheme_xor, 1, 1, true);
    each_order(&w, expect_back, 0);
    each_order(&w, expect_back, 1);
    each_order(&w, expect_refused, 2);
    world_close(&w);
    world_open(&w, &rset_scheme_rs, 2, 2, true);
    each_order(&w, expect_back, 0);
    each_order(&w, expect_back, 2);
    world_close(&w);
    world_open(&w, &rset_scheme_partner, 1, 2, true);
    each_order(&w, expect_back, 1);
    world_close(&w);
    world_open(&w, &rset_scheme_single, 0, 1, true);
    each_order(&w, expect_back, 0);
    each_order(&w, expect_refused, 1);
    world_close(&w);
}

static const char *
out_of_the_way(const world *w, int node, int rank)
{
    return path_of("%s/node%d/0/ckpt_7.h5.redset.%d.displaced", w->base, node, rank);
}

/* With files left where they were, two ranks change places, and back, as often as they like. */
static void
copies_make_room_too(world *w)
{
    w->job.copies = true;
    world_rearrange(w, swapped, 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(job_recover(&w->job), RSET_OK);
        assert_true(exists(out_of_the_way(w, 0, 1)) && exists(out_of_the_way(w, 1, 0)));
        world_assert_files(w, "changed places");
        assert_int_equal(rename(path_of("%s/node0", w->base), path_of("%s/aside", w->base)), 0);
        assert_int_equal(rename(path_of("%s/node1", w->base), path_of("%s/node0", w->base)), 0);
        assert_int_equal(rename(path_of("%s/aside", w->base), path_of("%s/node1", w->base)), 0);
    }
}

/* A rank that takes nothing is not given another rank's file either. */
static void
another_ranks_file_is_refused_where_nothing_moves(world *w)
{
    w->job.stays = true;
    expect_refused(w, turned, 0);
    assert_non_null(strstr(job_text(&w->job), "was written by another rank"));
    expect_refused(w, swapped, 1 << 2);
}

/* What lies beside the files comes along, whatever it is called: a job died in a commit of what it had written beside the old
 * files, when two ranks had published, and was started on other nodes. */
static void
a_commit_is_finished_where_the_ranks_are(world *w)
{
    static const size_t bytes[] = {50000, 70001};

    for (int lost = 0; lost < 2; lost++) {
        uint8_t content[70001];

        world_rearrange(w, (const int[NODES]){0, 1, 2, 3}, 0);
        for (int r = 0; r < NODES; r++) {
            w->job.ranks[r].shadow = rset_name_of(RSET_NAME_SHADOW, "ckpt_7.h5.", 77);
            fill_random(content, bytes[r % 2], (uint64_t)r);
            write_file(path_of("%s/%s", w->job.ranks[r].dir, w->job.ranks[r].shadow), content,
                       bytes[r % 2]);
        }
        job_die_publishing(&w->job, 0);
        for (int r = 0; r < NODES; r++) {
            const char *name = job_redundancy(&w->job, r);

            if (r % 2 != 0)
                assert_int_equal(rename(path_of("%s" RSET_SUFFIX_NEW, name), name), 0);
            free(w->job.ranks[r].shadow);
            w->job.ranks[r].shadow = NULL;
        }
        turn(w, turned);
        if (lost != 0)
            remove_tree(path_of("%s/node3/0", w->base));
        if (job_recover(&w->job) != RSET_OK)
            fail_msg("%s", job_text(&w->job));
        for (int r = 0; r < NODES; r++) {
            size_t   size;
            uint8_t *is = read_file(job_data(&w->job, r), &size);

            fill_random(content, bytes[r % 2], (uint64_t)r);
            assert_int_equal(size, bytes[r % 2]);
            assert_memory_equal(is, content, size);
            assert_false(exists(out_of_the_way(w, r, (r + 3) % NODES)));
            free(is);
        }
    }
}

/* A node comes back with an old copy of another rank's file, which nobody wants: it gives way to what is rebuilt, and goes. */
static void
an_old_copy_gives_way(world *w)
{
    image newer;

    job_write_data(&w->job, world_sizes, 4, 2);
    assert_int_equal(job_protect(&w->job), RSET_OK);
    newer = image_take(w->base);
    remove_tree(w->job.ranks[0].dir);
    image_put(&w->image, w->base, "node1");
    assert_int_equal(rename(w->job.ranks[1].dir, w->job.ranks[0].dir), 0);
    image_put(&newer, w->base, "node1");
    if (job_recover(&w->job) != RSET_OK)
        fail_msg("%s", job_text(&w->job));
    world_assert_image(w, &newer, NULL, IMAGE_CONTENT, "the newer");
    image_free(&newer);
}

/* What a run was killed over when it opened another step's files is that step's, and stays. */
static void
another_steps_files_stay_out_of_the_way(world *w)
{
    int n = 0;

    world_rearrange(w, turned, 0);
    for (size_t i = 0; i < w->image.n; i++) {
        const image_file *f = &w->image.at[i];

        if (strncmp(f->path, "node1/0/ckpt_7.h5", 17) != 0 || strstr(f->path, ".names") != NULL)
            continue;
        write_file(path_of("%s/node0/0/ckpt_6.h5.redset.1.displaced%s", w->base, f->path + 17),
                   f->data, f->size);
        n++;
    }
    assert_int_equal(n, 3);
    assert_int_equal(job_recover(&w->job), RSET_OK);
    assert_true(exists(path_of("%s/node0/0/ckpt_6.h5.redset.1.displaced", w->base)));
    assert_false(exists(out_of_the_way(w, 0, 3)));
}

/* Nothing that is out of the way is replaced: the error names it. */
static void
what_is_in_the_way_is_named(world *w)
{
    image before;

    world_rearrange(w, swapped, 0);
    write_file(out_of_the_way(w, 0, 1), "another", 7);
    before = image_take(w->base);
    assert_int_equal(job_recover(&w->job), RSET_IO);
    assert_non_null(strstr(job_text(&w->job), "ckpt_7.h5.redset.1.displaced is there"));
    world_assert_image(w, &before, NULL, IMAGE_BACK, "refused");
    image_free(&before);
}

/* Ranks that are fewer than wrote the files, and find others': which is whose is not theirs to say. */
static void
fewer_ranks_leave_them_where_they_are(world *w)
{
    image before;

    world_rearrange(w, turned, 0);
    before = image_take(w->base);
    w->job.n = NODES - 1;
    assert_int_equal(job_recover(&w->job), RSET_LOST);
    assert_non_null(strstr(job_text(&w->job), "was written by another rank"));
    w->job.n = NODES;
    world_assert_image(w, &before, NULL, IMAGE_UNTOUCHED, "refused");
    image_free(&before);
}

/* ---- runs that are killed ---- */

/* Is what lies under a rank's name its own, or does its redundancy file say whose it is? */
static void
check_whose(world *w, const char *what)
{
    for (int r = 0; r < NODES; r++) {
        const int before = (r + NODES - 1) % NODES;
        char      why[1024];

        if (!exists(job_data(&w->job, r)) ||
            image_same_file(&w->image, path_of("node%d/0/ckpt_7.h5", r), job_data(&w->job, r), why))
            continue;
        if (!exists(path_of("%s/%s", w->job.ranks[r].dir,
                            strrchr(job_redundancy(&w->job, before), '/') + 1)))
            fail_msg("%s: rank %d finds what nobody says is another one's", what, r);
    }
}

/* A run is killed at that call; the next one is on the same nodes, or on those where the files were written, or the nodes have
 * turned once more. False: it has not so many calls. */
static bool
killed_at(world *w, int rank, int at, const int *then)
{
    char what[64];
    bool came;

    snprintf(what, sizeof what, "call %d of rank %d, then %d", at, rank, then[0]);
    world_rearrange(w, turned, 0);
    came = failing_killed(&w->job, rank, at);
    check_whose(w, what);
    turn(w, then);
    if (job_recover(&w->job) != RSET_OK)
        fail_msg("%s: %s", what, job_text(&w->job));
    world_assert_files(w, what);
    return came;
}

static void
MV6_whoever_is_killed_the_next_has_all(void **state)
{
    static const int then[][NODES] = {{0, 1, 2, 3}, {3, 0, 1, 2}, {1, 2, 3, 0}};
    int              points = 0;
    world            w;

    (void)state;
    world_open(&w, &rset_scheme_single, 0, 1, true); /* nothing could be computed */
    for (int rank = -1; rank < 2; rank++)
        for (size_t i = 0; i < sizeof then / sizeof *then; i++)
            for (int at = 1; killed_at(&w, rank, at, then[i]); at++)
                points++;
    assert_true(points > 60);
    world_close(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(MV6_one_name_files_follow_their_ranks),
        cmocka_unit_test(MV6_whoever_is_killed_the_next_has_all),
        MOVE_TEST(copies_make_room_too, true),
        MOVE_TEST(a_commit_is_finished_where_the_ranks_are, true),
        MOVE_TEST(an_old_copy_gives_way, true),
        MOVE_TEST(another_steps_files_stay_out_of_the_way, true),
        MOVE_TEST(what_is_in_the_way_is_named, true),
        MOVE_TEST(fewer_ranks_leave_them_where_they_are, true),
        MOVE_TEST(another_ranks_file_is_refused_where_nothing_moves, true),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
