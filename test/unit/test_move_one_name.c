/* test_move_one_name.c: ranks run on other nodes than before, and all files have one name: each finds another rank's under its
 * path (move/move.h). */
#include "member/shadow.h"
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
    return path_of("%s/node%d/0/ckpt.h5.redset.%d.lodger", w->base, node, rank);
}

/* With files left where they were, two ranks change places, and back, as often as they like. */
static void
copies_make_room_too(void **state)
{
    world w;
    char  why[1024];

    (void)state;
    world_open(&w, &rset_scheme_xor, 1, 1, true);
    w.job.copies = true;
    world_rearrange(&w, swapped, 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(job_recover(&w.job), RSET_OK);
        assert_true(exists(out_of_the_way(&w, 0, 1)) && exists(out_of_the_way(&w, 1, 0)));
        for (int r = 0; r < NODES; r++)
            if (!image_same_file(&w.image, path_of("node%d/0/ckpt.h5", r), job_data(&w.job, r),
                                 why))
                fail_msg("change %d: %s", i, why);
        assert_int_equal(rename(path_of("%s/node0", w.base), path_of("%s/aside", w.base)), 0);
        assert_int_equal(rename(path_of("%s/node1", w.base), path_of("%s/node0", w.base)), 0);
        assert_int_equal(rename(path_of("%s/aside", w.base), path_of("%s/node1", w.base)), 0);
    }
    world_close(&w);
}

/* A rank that takes nothing is not given another rank's file either. */
static void
another_ranks_file_is_refused_where_nothing_moves(void **state)
{
    world w;

    (void)state;
    world_open(&w, &rset_scheme_xor, 1, 1, true);
    w.job.stays = true;
    expect_refused(&w, turned, 0);
    assert_non_null(strstr(job_text(&w.job), "was written by another rank"));
    expect_refused(&w, swapped, 1 << 2);
    world_close(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(MV6_one_name_files_follow_their_ranks),
        cmocka_unit_test(copies_make_room_too),
        cmocka_unit_test(another_ranks_file_is_refused_where_nothing_moves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
