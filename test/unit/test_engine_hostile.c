/* test_engine_hostile.c: what the sweep of hostile files (test/sweep/sweep_hostile.c) found, each as a case
 * of its own: special files are never taken for data, a header gives no file away. */
#include "image.h"
#include "job.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { N = 4 };

typedef struct world {
    char *base;
    job   job;
    image image;
} world;

static void
open_world(world *w, const rset_scheme *scheme, int parity)
{
    static const size_t size = 3000;

    *w = (world){.base = scratch_make()};
    job_init(&w->job, w->base, N, scheme, parity, N);
    job_write_data(&w->job, &size, 1, 1);
    assert_int_equal(job_protect(&w->job), RSET_OK);
    w->image = image_take(w->base);
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
lose_redundancy(const world *w, int r)
{
    unlink(job_redundancy(&w->job, r));
    unlink(job_descriptor(&w->job, r));
}

/* What stands in the place of a data file. */
static void
put_object(int what, const char *path)
{
    unlink(path);
    if (what == 0)
        assert_int_equal(mkfifo(path, 0600), 0);
    else if (what == 1)
        assert_int_equal(symlink("/dev/null", path), 0);
    else
        assert_int_equal(mkdir(path, 0700), 0);
}

static void
assert_refused(world *w)
{
    image before = image_take(w->base);
    char  why[1024];

    assert_int_equal(job_recover(&w->job), RSET_LOST);
    if (!image_same(&before, w->base, NULL, IMAGE_UNTOUCHED, why))
        fail_msg("%s", why);
    image_free(&before);
}

/* Nothing is recorded of rank 0 any more: its file could stay if it were one. */
static void
no_special_file_passes_for_unrecorded_data(void **state)
{
    (void)state;
    for (int what = 0; what < 3; what++)
        for (int alone = 0; alone < 2; alone++) {
            world w;

            open_world(&w, alone ? &rset_scheme_single : &rset_scheme_xor, alone ? 0 : 1);
            lose_redundancy(&w, 0);
            if (!alone)
                lose_redundancy(&w, 1); /* which recorded rank 0 */
            put_object(what, job_data(&w.job, 0));
            assert_refused(&w);
            close_world(&w);
        }
}

/* A void file is opened as it is; what is no file is lost, and all are rolled back. */
static void
no_special_file_passes_for_changed_data(void **state)
{
    (void)state;
    for (int what = 0; what < 2; what++) {
        world w;
        char  why[1024];

        open_world(&w, &rset_scheme_xor, 1);
        assert_int_equal(
            rename(job_redundancy(&w.job, 0), path_of("%s.void", job_redundancy(&w.job, 0))), 0);
        put_object(what, job_data(&w.job, 0));
        assert_int_equal(job_recover(&w.job), RSET_OK);
        if (!image_same(&w.image, w.base, NULL, IMAGE_CONTENT, why))
            fail_msg("%s", why);
        put_object(what, job_data(&w.job, 0));
        assert_int_equal(
            rename(job_redundancy(&w.job, 0), path_of("%s.void", job_redundancy(&w.job, 0))), 0);
        assert_int_equal(job_recover_serial(&w.job, 0), RSET_OK);
        if (!image_same(&w.image, w.base, path_of("node0/ckpt_0.h5"), IMAGE_CONTENT, why))
            fail_msg("%s", why);
        close_world(&w);
    }
}

/* Owner of rank 0's file after it was rebuilt as root from records that say `uid`. */
static struct stat
rebuilt(uid_t uid, gid_t gid, uid_t dir_uid, gid_t dir_gid)
{
    world       w;
    rset_attrs  attrs = {.uid = uid, .gid = gid, .mode = 0100640, .size = 3000};
    struct stat sb;

    w = (world){.base = scratch_make()};
    job_init(&w.job, w.base, N, &rset_scheme_partner, 1, N);
    job_write_data(&w.job, &(size_t){3000}, 1, 1);
    w.job.ranks[0].attrs = &attrs;
    assert_int_equal(job_protect(&w.job), RSET_OK);
    assert_int_equal(chown(w.job.ranks[0].dir, dir_uid, dir_gid), 0);
    unlink(job_data(&w.job, 0));
    assert_int_equal(job_recover(&w.job), RSET_OK);
    assert_int_equal(stat(job_data(&w.job, 0), &sb), 0);
    close_world(&w);
    return sb;
}

/* Whoever can write a redundancy file could otherwise have root make any file his. */
static void
root_gives_files_to_nobody_but_the_directorys_owner(void **state)
{
    struct stat sb;

    (void)state;
    if (geteuid() != 0) {
        print_message("SKIP: not root\n");
        skip();
    }
    sb = rebuilt(1234, 5678, 0, 0); /* where nobody else can have written the records */
    assert_int_equal(sb.st_uid, 0);
    assert_int_equal(sb.st_gid, 5678);
    assert_int_equal(sb.st_mode & 0777, 0640);
    sb = rebuilt(1234, 5678, 1234, 0);
    assert_int_equal(sb.st_uid, 1234);
    assert_int_equal(sb.st_gid, 0);
    assert_int_equal(sb.st_mode & 0777, 0600); /* of its group it had been, and not of this one */
    sb = rebuilt(1234, 5678, 1234, 5678);
    assert_int_equal(sb.st_uid, 1234);
    assert_int_equal(sb.st_gid, 5678);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_special_file_passes_for_unrecorded_data),
        cmocka_unit_test(no_special_file_passes_for_changed_data),
        cmocka_unit_test(root_gives_files_to_nobody_but_the_directorys_owner),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
