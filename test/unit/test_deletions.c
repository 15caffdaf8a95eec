/* test_deletions.c: which files a program has deleted, and when what protects them goes (deleted/deletions.h; DL1 to DL3). One rank's
 * side of it, with files of several steps; what all ranks say is compared by the rendezvous (test_rendezvous_kinds.c). */
#include "deleted/deletions.h"
#include "image.h"
#include "job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { STEPS = 12 };

static char           *base;
static job             of[STEPS]; /* one rank in one directory, whose file is ckpt_<step>.h5 */
static rset_dir       *dir;
static rset_deletions *d;
static uint64_t        said[RSET_GONE_MAX];

static int listings;

static DIR *
count_listings(int fd)
{
    listings++;
    return rset_sys_posix.fdopendir(fd);
}

static rset_local
local_of(const job *j)
{
    return (rset_local){.dir = dir,
                        .prefix = j->ranks[0].prefix,
                        .nfiles = 1,
                        .names = (const char *const *)j->ranks[0].names,
                        .paths = (const char *const *)j->ranks[0].names};
}

static uint64_t
generation(int step)
{
    return of[step].ranks[0].desc.generation;
}

static void
write_step(int step)
{
    const size_t size = 1000 + (size_t)step;

    job_write_data(&of[step], &size, 1, step);
    assert_int_equal(job_protect(&of[step]), RSET_OK);
}

/* As this run has protected it. */
static void
note(int step)
{
    const rset_local local = local_of(&of[step]);

    write_step(step);
    rset_deletions_note(d, &local, generation(step));
}

static int
set_up(void **state)
{
    rset_err err = RSET_ERR_NONE;

    (void)state;
    base = scratch_make();
    for (int s = 0; s < STEPS; s++) {
        job_rank *r = &of[s].ranks[0];

        job_init(&of[s], base, 1, &rset_scheme_single, 0, 1);
        free(r->names[0]);
        free(r->prefix);
        assert_true(asprintf(&r->names[0], "ckpt_%d.h5", s) > 0);
        assert_true(asprintf(&r->prefix, "ckpt_%d.h5.", s) > 0);
        of[s].salt = (uint64_t)s;
    }
    d = rset_deletions_new();
    assert_non_null(d);
    return rset_dir_open(of[0].ranks[0].dir, false, &dir, &err) == RSET_OK ? 0 : -1;
}

static int
tear_down(void **state)
{
    (void)state;
    rset_sys_use(NULL);
    rset_deletions_free(d);
    rset_dir_close(dir);
    for (int s = 0; s < STEPS; s++)
        job_free(&of[s]);
    remove_tree(base);
    free(base);
    return 0;
}

/* What this rank says is gone: these steps, and no others. */
static void
assert_said(int n, const int *steps)
{
    rset_deletions_say(d, said);
    for (int i = 0; i < RSET_GONE_MAX; i++) {
        bool found = i >= n && said[i] == 0;

        for (int k = 0; k < n; k++)
            found = found || (i < n && said[i] == generation(steps[k]));
        if (!found || (i > 0 && said[i] >= said[i - 1] && said[i] != 0))
            fail_msg("entry %d of %d is %016llx", i, n, (unsigned long long)said[i]);
    }
}

static void
assert_nothing_said(void)
{
    assert_said(0, NULL);
}

static void
what_is_deleted_is_said_and_goes(void **state)
{
    const int three[] = {3};

    (void)state;
    for (int s = 0; s < 5; s++)
        note(s);
    assert_nothing_said();
    unlink(job_data(&of[3], 0));
    assert_said(1, three);
    rset_deletions_remove(d, (uint64_t[RSET_GONE_MAX]){0}); /* another rank has its file */
    assert_true(exists(job_redundancy(&of[3], 0)));
    assert_said(1, three);
    rset_deletions_remove(d, said);
    assert_false(exists(job_redundancy(&of[3], 0)));
    assert_false(exists(job_descriptor(&of[3], 0)));
    for (int s = 0; s < 5; s++)
        assert_true(s == 3 || (exists(job_data(&of[s], 0)) && exists(job_redundancy(&of[s], 0))));
    assert_nothing_said();
}

/* All have said it, and then the program has made a new file of that name. */
static void
what_is_there_again_stays(void **state)
{
    const int one[] = {1};

    (void)state;
    note(1);
    unlink(job_data(&of[1], 0));
    assert_said(1, one);
    write_file(job_data(&of[1], 0), "new", 3);
    rset_deletions_remove(d, said);
    assert_true(exists(job_redundancy(&of[1], 0)));
}

/* Nor does what another process has open to change it, though it has no data file yet. */
static void
what_is_in_use_stays(void **state)
{
    const int  one[] = {1};
    rset_file *claim = NULL;
    rset_err   err = RSET_ERR_NONE;

    (void)state;
    note(1);
    unlink(job_data(&of[1], 0));
    assert_said(1, one);
    assert_int_equal(rset_claim(dir, of[1].ranks[0].prefix, "it", RSET_CLAIM_USE, &claim, &err),
                     RSET_OK);
    rset_deletions_remove(d, said);
    assert_true(exists(job_redundancy(&of[1], 0)));
    rset_claim_end(claim);
}

static void
what_was_renamed_is_not_gone(void **state)
{
    const int two[] = {2};

    (void)state;
    note(2);
    assert_int_equal(rename(job_data(&of[2], 0), path_of("%s/final.h5", of[2].ranks[0].dir)), 0);
    assert_nothing_said();
    assert_int_equal(rename(path_of("%s/final.h5", of[2].ranks[0].dir),
                            path_of("%s/again.h5", of[2].ranks[0].dir)),
                     0);
    assert_nothing_said();
    unlink(path_of("%s/again.h5", of[2].ranks[0].dir));
    assert_said(1, two);
}

/* Another step that was written within one tick of the file system's clock, and has the size of this one. */
static void
one_of_the_same_time_is_another(void **state)
{
    const int             two[] = {2};
    const size_t          size = 1000;
    const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};

    (void)state;
    for (int s = 2; s < 4; s++) {
        const rset_local local = local_of(&of[s]);

        job_write_data(&of[s], &size, 1, s);
        assert_int_equal(utimensat(AT_FDCWD, job_data(&of[s], 0), times, 0), 0);
        assert_int_equal(job_protect(&of[s]), RSET_OK);
        rset_deletions_note(d, &local, generation(s));
    }
    unlink(job_data(&of[2], 0));
    assert_said(1, two);
}

/* What this rank wrote in an earlier run, of as many ranks, and nobody else's. */
static void
what_earlier_runs_left_is_found(void **state)
{
    const int found[] = {4, 6};

    (void)state;
    for (int s = 4; s < 8; s++)
        write_step(s);
    unlink(job_data(&of[4], 0));
    unlink(job_data(&of[6], 0));
    rset_deletions_find(d, dir, "ckpt_9.h5", 1, 2);
    assert_nothing_said();
    rset_deletions_free(d);
    d = rset_deletions_new();
    rset_deletions_find(d, dir, "other_9.h5", 0, 1);
    assert_nothing_said();
    rset_deletions_free(d);
    d = rset_deletions_new();
    rset_deletions_find(d, dir, "ckpt_9.h5", 0, 1);
    assert_said(2, found);
    rset_deletions_remove(d, said);
    for (int s = 4; s < 8; s++)
        assert_int_equal(exists(job_redundancy(&of[s], 0)), s == 5 || s == 7);
}

/* More than can be said at once, and of some no other rank ever says so. */
static void
none_stands_in_the_way_of_others(void **state)
{
    bool heard[STEPS] = {false};
    int  left = STEPS;

    (void)state;
    for (int s = 0; s < STEPS; s++)
        note(s);
    for (int s = 0; s < STEPS; s++)
        unlink(job_data(&of[s], 0));
    for (int times = 0; times < 3 && left > 0; times++) {
        rset_deletions_say(d, said);
        for (int s = 0; s < STEPS; s++)
            for (int i = 0; i < RSET_GONE_MAX; i++)
                if (said[i] == generation(s) && !heard[s]) {
                    heard[s] = true;
                    left--;
                }
    }
    assert_int_equal(left, 0);
}

static void
a_directory_is_listed_only_where_one_is_newly_gone(void **state)
{
    static rset_sys counting;
    const int       one[] = {1};

    (void)state;
    for (int s = 0; s < 4; s++)
        note(s);
    rset_deletions_find(d, dir, "ckpt_9.h5", 0, 1);
    counting = rset_sys_posix;
    counting.fdopendir = count_listings;
    rset_sys_use(&counting);
    listings = 0;
    for (int times = 0; times < 5; times++) {
        rset_deletions_find(d, dir, "ckpt_9.h5", 0, 1);
        assert_nothing_said();
    }
    assert_int_equal(listings, 0);
    unlink(job_data(&of[1], 0));
    for (int times = 0; times < 5; times++)
        assert_said(1, one);
    assert_int_equal(listings, 1);
}

/* A disk that cannot say so has deleted nothing. */
static int
fail_fstatat(int fd, const char *name, struct stat *sb, int flags)
{
    (void)fd, (void)name, (void)sb, (void)flags;
    errno = EIO;
    return -1;
}

static void
what_cannot_be_looked_at_is_there(void **state)
{
    static rset_sys failing;

    (void)state;
    note(1);
    unlink(job_data(&of[1], 0));
    failing = rset_sys_posix;
    failing.fstatat = fail_fstatat;
    rset_sys_use(&failing);
    assert_nothing_said();
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_is_deleted_is_said_and_goes),
        CASE(what_is_there_again_stays),
        CASE(what_is_in_use_stays),
        CASE(what_was_renamed_is_not_gone),
        CASE(one_of_the_same_time_is_another),
        CASE(what_earlier_runs_left_is_found),
        CASE(none_stands_in_the_way_of_others),
        CASE(a_directory_is_listed_only_where_one_is_newly_gone),
        CASE(what_cannot_be_looked_at_is_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
