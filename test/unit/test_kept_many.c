/* test_kept_many.c: what a commit costs does not grow with the older generations that are kept (keep=N): file calls are counted. And
 * what is listed of so many of them is what there is. */
#include "lives.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    EARLY = 12, /* a commit, when there are few generations */
    LATE = 72,  /* and when there are more than a names file has stems */
    SLACK = 4   /* calls of a rank that depend on what is written, and when */
};

/* ---- file calls of all ranks, but reads and writes ---- */

static _Atomic unsigned long calls;

static int
count_openat(int dirfd, const char *name, int flags, mode_t mode)
{
    calls++;
    return rset_sys_posix.openat(dirfd, name, flags, mode);
}

static int
count_fstat(int fd, struct stat *st)
{
    calls++;
    return rset_sys_posix.fstat(fd, st);
}

static int
count_fstatat(int dirfd, const char *name, struct stat *st, int flags)
{
    calls++;
    return rset_sys_posix.fstatat(dirfd, name, st, flags);
}

static int
count_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    calls++;
    return rset_sys_posix.renameat(from_dir, from, to_dir, to);
}

static int
count_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    calls++;
    return rset_sys_posix.linkat(from_dir, from, to_dir, to, flags);
}

static int
count_unlinkat(int dirfd, const char *name, int flags)
{
    calls++;
    return rset_sys_posix.unlinkat(dirfd, name, flags);
}

static int
count_fsync(int fd)
{
    calls++;
    return rset_sys_posix.fsync(fd);
}

static struct dirent *
count_readdir(DIR *dir)
{
    calls++;
    return rset_sys_posix.readdir(dir);
}

static ssize_t
count_fgetxattr(int fd, const char *name, void *value, size_t size)
{
    calls++;
    return rset_sys_posix.fgetxattr(fd, name, value, size);
}

static void
count_calls(void)
{
    static rset_sys sys;

    sys = rset_sys_posix;
    sys.openat = count_openat;
    sys.fstat = count_fstat;
    sys.fstatat = count_fstatat;
    sys.renameat = count_renameat;
    sys.linkat = count_linkat;
    sys.unlinkat = count_unlinkat;
    sys.fsync = count_fsync;
    sys.readdir = count_readdir;
    sys.fgetxattr = count_fgetxattr;
    rset_sys_use(&sys);
}

/* ---- what a commit costs ---- */

static const struct kind {
    const char *what;
    lives_way   way;
    lives_hold  hold;
    bool        update;
} kinds[] = {{"created over", LIVES_OVER, LIVES_CLOSED, false},
             {"changed in place", LIVES_IN_PLACE, LIVES_CLOSED, true},
             {"changed in place, encoded anew", LIVES_IN_PLACE, LIVES_CLOSED, false},
             {"committed open", LIVES_IN_PLACE, LIVES_OPEN, true},
             {"committed while it is written on", LIVES_IN_PLACE, LIVES_BEHIND, true}};

enum { KINDS = sizeof kinds / sizeof *kinds };

static void
commit_as(life *w, const struct kind *k)
{
    w->update = w->stays = k->update;
    w->hold = k->hold;
    lives_plan_all(w, k->way);
    lives_commit(w);
}

static void
begin(life *w, const rset_scheme *scheme, int keep)
{
    srand(7);
    lives_begin(w, scheme, scheme == &rset_scheme_xor, keep);
    lives_plan_all(w, LIVES_OVER);
    lives_commit(w);
}

/* Calls of a rank for an early commit, and for the last one. */
static void
count_commits(const struct kind *k, int keep, unsigned long *early_out, unsigned long *late_out)
{
    life w;

    begin(&w, &rset_scheme_xor, keep);
    w.job.counted = true;
    count_calls();
    for (int i = 1; i <= LATE; i++) {
        calls = 0;
        commit_as(&w, k);
        if (i == EARLY)
            *early_out = calls / LIVES_RANKS;
    }
    *late_out = calls / LIVES_RANKS;
    rset_sys_use(NULL);
    lives_assert_kept(&w);
    lives_end(&w);
}

/* keep=all: the 72nd commit takes no more of them than the 12th. */
static void
a_commit_does_not_cost_more_with_each_that_is_kept(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        unsigned long early = 0, late = 0;

        count_commits(&kinds[i], RSET_KEEP_ALL, &early, &late);
        printf("%s: %lu file calls of a rank for commit %d, %lu for commit %d\n", kinds[i].what,
               early, EARLY, late, LATE);
        if (late > early + SLACK)
            fail_msg("%s: %lu calls for commit %d, %lu for commit %d", kinds[i].what, early, EARLY,
                     late, LATE);
    }
}

/* keep=N, and each commit removes one: with 60 of them it takes no more than with 3. */
static void
nor_where_the_oldest_goes(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        unsigned long few = 0, many = 0, ignored = 0;

        count_commits(&kinds[i], 3, &ignored, &few);
        count_commits(&kinds[i], LATE - EARLY, &ignored, &many);
        printf("%s: %lu file calls of a rank with keep=3, %lu with keep=%d\n", kinds[i].what, few,
               many, LATE - EARLY);
        if (many > few + SLACK)
            fail_msg("%s: %lu calls with keep=3, %lu with keep=%d", kinds[i].what, few, many,
                     LATE - EARLY);
    }
}

/* ---- what is listed ---- */

/* As a survey lists them, and as they are there. */
static void
assert_listed(const life *w, size_t listed, size_t there)
{
    for (int r = 0; r < LIVES_RANKS; r++) {
        const char   *names[1];
        rset_err      err = RSET_ERR_NONE;
        rset_evidence ev = {0};
        rset_local    local;
        rset_dir     *dir = lives_files(w, r, names, &local);

        assert_int_equal(rset_survey_local(&local, &ev, &err), RSET_OK);
        assert_int_equal(ev.nkept, listed);
        for (size_t i = 1; i < ev.nkept; i++)
            assert_true(rset_generation_newer(ev.kept[i - 1], ev.kept[i]));
        rset_kept_look(&local, &ev);
        assert_int_equal(ev.nkept, there);
        rset_evidence_free(&ev);
        rset_dir_close(dir);
    }
}

/* A later run keeps fewer: those that are too many all go with its next commit, and are listed no more. */
static void
fewer_are_kept_from_now_on(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        life w;

        begin(&w, &rset_scheme_xor, RSET_KEEP_ALL);
        for (int n = 0; n < EARLY; n++)
            commit_as(&w, &kinds[i]);
        assert_listed(&w, EARLY, EARLY);
        w.job.keep = 3;
        commit_as(&w, &kinds[i]);
        lives_assert_kept(&w);
        assert_listed(&w, 2, 2);
        lives_assert_all(&w, 1);
        lives_end(&w);
    }
}

/* Somebody has removed one by hand. It is listed until it would have been removed, and is there for nobody who looks. What rests on it
 * is rebuilt like what is lost. */
static void
one_was_removed_by_hand(void **state)
{
    life        w;
    const char *names[1];
    rset_err    err = RSET_ERR_NONE;
    rset_local  local;
    rset_dir   *dir;
    char       *back;

    (void)state;
    lives_begin_in_place(&w, &rset_scheme_xor, 1, 5, 4);
    dir = lives_files(&w, 1, names, &local);
    back = rset_name_of(RSET_NAME_UNDO, local.prefix, w.generation[3]);
    assert_int_equal(rset_dir_unlink(dir, back, &err), RSET_OK);
    for (int n = 0; n < 4; n++)
        assert_int_equal(rset_kept_is_there(&local, w.generation[n]), n != 3);
    lives_assert_all(&w, 0);
    free(back);
    rset_dir_close(dir);
    lives_end(&w);
}

/* Somebody has given the files a second name: it is none of a generation that is kept, and nothing goes for it. */
static void
the_files_have_a_second_name(void **state)
{
    life w;

    (void)state;
    lives_begin_in_place(&w, &rset_scheme_xor, 1, 3, 1);
    for (int r = 0; r < LIVES_RANKS; r++) {
        char *data = strdup(job_data(&w.job, r));

        assert_non_null(data);
        assert_int_equal(link(data, path_of("%s/mine", w.job.ranks[r].dir)), 0);
        free(data);
    }
    lives_change_in_place(&w, 3);
    lives_assert_kept(&w);
    assert_listed(&w, 2, 2);
    lives_assert_all(&w, 1);
    lives_end(&w);
}

static uint64_t
another_boot(void)
{
    return 0x600d;
}

/* The machine was started again: what its names files say is looked for, and counts again from the next commit on. */
static void
the_machine_was_started_again(void **state)
{
    life     w;
    rset_sys sys = rset_sys_posix;

    (void)state;
    begin(&w, &rset_scheme_xor, 4);
    for (int n = 0; n < 5; n++)
        commit_as(&w, &kinds[n % 2]);
    sys.boot = another_boot;
    rset_sys_use(&sys);
    assert_listed(&w, 3, 3);
    for (int n = 0; n < 2; n++)
        commit_as(&w, &kinds[n]);
    lives_assert_kept(&w);
    assert_listed(&w, 3, 3);
    lives_assert_all(&w, 2);
    rset_sys_use(NULL);
    lives_end(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_commit_does_not_cost_more_with_each_that_is_kept),
        cmocka_unit_test(nor_where_the_oldest_goes),
        cmocka_unit_test(fewer_are_kept_from_now_on),
        cmocka_unit_test(one_was_removed_by_hand),
        cmocka_unit_test(the_files_have_a_second_name),
        cmocka_unit_test(the_machine_was_started_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
