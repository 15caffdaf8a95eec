/* test_move.c: ranks that run on other nodes than before get their files (move/move.h): whatever the order of the nodes is, with
 * losses that the scheme covers; with one more nothing changes. */
#include "comm/comm_local.h"
#include "move/move_internal.h"
#include "move_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* The same with what a crashed run left where the files of rank 1 were to come. */
static void
expect_refused_beside(world *w, const char *name, image_strictness how)
{
    static const int turned[NODES] = {1, 2, 3, 0};
    image            before;

    world_rearrange(w, turned, 1 << 0 | 1 << 2);
    write_file(path_of("%s/node1/%s", w->base, name), "left", 4);
    before = image_take(w->base);
    assert_int_equal(job_recover(&w->job), RSET_LOST);
    world_assert_image(w, &before, NULL, how, name);
    image_free(&before);
}

/* MV2, MV3: nothing is lost, or as much as the scheme covers: bit for bit, where it belongs, and nowhere else. */
static void
MV3_files_follow_their_ranks(void **state)
{
    world w;

    (void)state;
    world_open(&w, &rset_scheme_xor, 1, 1, false);
    each_order(&w, expect_back, 0);
    each_order(&w, expect_back, 1);
    each_order(&w, expect_refused, 2);
    expect_refused_beside(&w, "ckpt_1.h5.1.redset.0.fix", IMAGE_UNTOUCHED);
    expect_refused_beside(&w, "ckpt_1.h5.redset.names", IMAGE_REFUSED); /* N1 */
    world_close(&w);
    world_open(&w, &rset_scheme_rs, 2, 2, false);
    each_order(&w, expect_back, 0);
    each_order(&w, expect_back, 2);
    world_close(&w);
    world_open(&w, &rset_scheme_partner, 1, 2, false);
    each_order(&w, expect_back, 1);
    world_close(&w);
}

/* MV4: a rank that has its file takes no other one, be it newer or not; of two copies elsewhere the newer one comes. */
static void
MV4_the_newest_copy_comes(world *w)
{
    const int as_they_are[NODES] = {0, 1, 2, 3};
    image     newer;

    job_write_data(&w->job, world_sizes, 4, 2);
    assert_int_equal(job_protect(&w->job), RSET_OK);
    newer = image_take(w->base);
    for (int older_first = 0; older_first < 2; older_first++) {
        world_rearrange(w, as_they_are, 15);
        image_put(&newer, w->base, NULL);
        for (int k = 0; k < 2; k++) { /* rank 0's files on nodes 2 and 3, and not on its own */
            const image *from = (k == 0) == (older_first != 0) ? &w->image : &newer;

            for (size_t i = 0; i < from->n; i++)
                if (strncmp(from->at[i].path, "node0/", 6) == 0) {
                    const image_file *f = &from->at[i];

                    write_file(path_of("%s/node%d/%s", w->base, 2 + k, f->path + 6), f->data,
                               f->size);
                }
        }
        remove_tree(path_of("%s/node0", w->base));
        mkdir(path_of("%s/node0", w->base), 0777);
        assert_int_equal(job_recover(&w->job), RSET_OK);
        assert_int_equal(rset_outcome_action(&w->job.ranks[0].out), RSET_ACTION_NOTHING);
        world_assert_image(w, &newer, "node0", IMAGE_CONTENT, "the newest");
    }
    image_free(&newer);
}

/* A rank has what protects its file, which is lost, and gets a copy of both that has other times. Where too much else is lost, it has
 * its own again, the very same file; where not, nothing stays of it but one. */
static void
MV3_what_a_rank_had_comes_back(world *w)
{
    static const int stay[NODES] = {0, 1, 2, 3};

    for (int lost = 1; lost <= 2; lost++) {
        image before;

        world_rearrange(w, stay, lost == 2 ? 1 << 2 | 1 << 3 : 1 << 3);
        for (size_t i = 0; i < w->image.n; i++) {
            const image_file *f = &w->image.at[i];

            if (strncmp(f->path, "node0/", 6) == 0)
                write_file(path_of("%s/node1/%s", w->base, f->path + 6), f->data, f->size);
        }
        assert_int_equal(unlink(job_data(&w->job, 0)), 0);
        before = image_take(w->base);
        assert_int_equal(job_recover(&w->job), lost == 2 ? RSET_LOST : RSET_OK);
        if (lost == 2)
            world_assert_image(w, &before, NULL, IMAGE_BACK, "two are lost");
        else
            world_assert_image(w, &w->image, NULL, IMAGE_CONTENT, "one is lost");
        image_free(&before);
    }
}

/* What a user may want instead: files stay where they were as well, or are not looked for at all. */
static void
not_moved_where_not_wanted(world *w)
{
    const int turned[NODES] = {1, 2, 3, 0};
    image     before;

    w->job.copies = true;
    world_rearrange(w, turned, 0);
    assert_int_equal(job_recover(&w->job), RSET_OK);
    for (int r = 0; r < NODES; r++) {
        assert_true(w->job.ranks[r].out.copied);
        assert_true(exists(job_data(&w->job, r)));
        assert_true(exists(path_of("%s/node%d/ckpt_%d.h5", w->base, turned[r], r)));
    }
    w->job.copies = false;
    w->job.stays = true;
    world_rearrange(w, turned, 0);
    before = image_take(w->base);
    assert_int_equal(job_recover(&w->job), RSET_ABSENT); /* no rank has any sign of its file */
    world_assert_image(w, &before, NULL, IMAGE_UNTOUCHED, "moved=no");
    image_free(&before);
}

/* What is sent is what has moved, data and redundancy, and little more. */
static void
no_more_is_sent_than_moves(world *w)
{
    static const size_t large[] = {3000000};
    const int           turned[NODES] = {1, 2, 3, 0};
    uint64_t            sent = 0, moved = 0;

    job_write_data(&w->job, large, 1, 2);
    assert_int_equal(job_protect(&w->job), RSET_OK);
    image_free(&w->image);
    w->image = image_take(w->base);
    expect_back(w, turned, 0);
    for (size_t i = 0; i < w->image.n; i++)
        moved += w->image.at[i].size;
    for (int r = 0; r < NODES; r++)
        sent += w->job.ranks[r].sent;
    assert_true(sent >= moved - 4096 && sent <= moved + moved / 20);
}

/* Two nodes see one directory by different names, and one of them has missed the file that is there: what the taker has put
 * in its place is the only one left. */
static void
MV5_one_directory_is_not_emptied(void **state)
{
    char        *base = scratch_make();
    rset_err     err = RSET_ERR_NONE;
    rset_dir    *dir = NULL;
    struct stat  sb;
    char        *name = (char *)"ckpt_1.h5";
    uint64_t     inode;
    rset_located one = {.prefix = (char *)"ckpt_1.h5.",
                        .base = name,
                        .name = name,
                        .names = &name,
                        .inodes = &inode,
                        .n = 1};

    (void)state;
    write_file(path_of("%s/ckpt_1.h5", base), "content", 7);
    assert_int_equal(rset_dir_open(base, false, &dir, &err), RSET_OK);
    one.dir = dir;
    assert_int_equal(stat(path_of("%s/ckpt_1.h5", base), &sb), 0);
    inode = (uint64_t)sb.st_ino;
    assert_true(rset_move_is_same(&one, 0));
    write_file(path_of("%s/copy", base), "content", 7);
    assert_int_equal(rename(path_of("%s/copy", base), path_of("%s/ckpt_1.h5", base)), 0);
    assert_false(rset_move_is_same(&one, 0));
    unlink(path_of("%s/ckpt_1.h5", base));
    assert_false(rset_move_is_same(&one, 0));
    rset_dir_close(dir);
    remove_tree(base);
    free(base);
}

/* ---- what a message says ---- */

typedef struct parcel {
    const char *base;
    bool        complete;
    size_t      nfiles;
    bool last_is_first; /* the file that came last is the first of those that belong together */
    rset_status st[2];
} parcel;

/* Rank 1 gives three files that belong together, of which rank 0 has the second already. */
static void
give_several(rset_comm *comm, void *arg)
{
    parcel             *p = arg;
    const char         *names[] = {"a.bin", "b.bin", "c.bin"};
    rset_located        three = {.prefix = (char *)"a.bin.",
                                 .base = (char *)"a.bin",
                                 .name = (char *)"a.bin",
                                 .names = (char **)(uintptr_t)names,
                                 .n = 3,
                                 .there = true};
    const rset_located *gives[] = {&three};
    int                 to[] = {0};
    rset_err            err = RSET_ERR_NONE;
    rset_dir           *dir = NULL;
    char                path[256];
    rset_local          local = {.prefix = "a.bin.", .nfiles = 3, .names = names, .paths = names};
    rset_move_job       move = {
              .world = comm, .local = &local, .host = "host", .from = 1 - 2 * comm->rank};

    snprintf(path, sizeof path, "%s/node%d", p->base, comm->rank);
    if (rset_dir_open(path, false, &dir, &err) != RSET_OK)
        return;
    local.dir = three.dir = dir;
    if (comm->rank == 1) {
        move.gives = gives;
        move.to = to;
        move.ngives = 1;
    }
    p->st[comm->rank] = rset_move_copy(&move, &err);
    if (comm->rank == 0) {
        p->complete = move.complete;
        p->nfiles = move.nfiles;
        p->last_is_first =
            move.nfiles > 0 && strcmp(move.files[move.nfiles - 1].name, "a.bin") == 0;
    }
    free(move.files);
    rset_dir_close(dir);
}

/* Until the first of several files has its name, all of them are missing; and one that is there is not replaced. */
static void
MV2_the_first_of_several_comes_last(void **state)
{
    char    *base = scratch_make();
    parcel   p = {.base = base};
    rset_err err = RSET_ERR_NONE;

    (void)state;
    mkdir(path_of("%s/node0", base), 0777);
    mkdir(path_of("%s/node1", base), 0777);
    write_file(path_of("%s/node1/a.bin", base), "first", 5);
    write_file(path_of("%s/node1/b.bin", base), "second", 6);
    write_file(path_of("%s/node1/c.bin", base), "", 0);
    assert_int_equal(rset_local_run(2, 60, give_several, &p, &err), RSET_OK);
    assert_int_equal(p.st[0], RSET_OK);
    assert_int_equal(p.st[1], RSET_OK);
    assert_true(p.complete && p.nfiles == 3 && p.last_is_first);
    write_file(path_of("%s/node0/b.bin", base), "another", 7);
    assert_int_equal(rset_local_run(2, 60, give_several, &p, &err), RSET_OK);
    assert_int_equal(p.st[0], RSET_OK);
    assert_false(p.complete);
    remove_tree(base);
    free(base);
}

/* Rank 1 gives files that are not those of the name that rank 0 opens. */
static void
give_another_name(rset_comm *comm, void *arg)
{
    parcel      *p = arg;
    const char  *names[] = {"mine.h5"};
    char        *name = (char *)"other.h5";
    rset_located other = {
        .prefix = (char *)"other.h5.", .base = name, .names = &name, .n = 1, .there = true};
    const rset_located *gives[] = {&other};
    int                 to[] = {0};
    rset_err            err = RSET_ERR_NONE;
    rset_dir           *dir = NULL;
    char                path[256];
    rset_local          local = {.prefix = "mine.h5.", .nfiles = 1, .names = names, .paths = names};
    rset_move_job       move = {.world = comm, .local = &local, .host = "host", .from = -1};

    snprintf(path, sizeof path, "%s/node%d", p->base, comm->rank);
    if (rset_dir_open(path, true, &dir, &err) != RSET_OK)
        return;
    local.dir = other.dir = dir;
    if (comm->rank == 1) {
        move.gives = gives;
        move.to = to;
        move.ngives = 1;
    } else {
        move.from = 1;
    }
    p->st[comm->rank] = rset_move_copy(&move, &err);
    if (comm->rank == 0) {
        p->complete = move.complete;
        p->nfiles = move.nfiles;
    }
    free(move.files);
    rset_dir_close(dir);
}

static void
MV1_no_other_name_is_made(void **state)
{
    char    *base = scratch_make();
    parcel   p = {.base = base, .complete = true, .nfiles = 9};
    rset_err err = RSET_ERR_NONE;
    image    after;

    (void)state;
    mkdir(path_of("%s/node0", base), 0777);
    mkdir(path_of("%s/node1", base), 0777);
    write_file(path_of("%s/node1/other.h5", base), "content", 7);
    assert_int_equal(rset_local_run(2, 20, give_another_name, &p, &err), RSET_OK);
    assert_int_equal(p.st[0], RSET_PEER);
    assert_int_equal(p.st[1], RSET_OK);
    assert_false(p.complete);
    assert_int_equal(p.nfiles, 0);
    after = image_take(base);
    assert_int_equal(image_count(&after), 1);
    image_free(&after);
    remove_tree(base);
    free(base);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(MV1_no_other_name_is_made),
        cmocka_unit_test(MV2_the_first_of_several_comes_last),
        cmocka_unit_test(MV3_files_follow_their_ranks),
        MOVE_TEST(MV3_what_a_rank_had_comes_back, false),
        MOVE_TEST(MV4_the_newest_copy_comes, false),
        cmocka_unit_test(MV5_one_directory_is_not_emptied),
        MOVE_TEST(not_moved_where_not_wanted, false),
        MOVE_TEST(no_more_is_sent_than_moves, false),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
