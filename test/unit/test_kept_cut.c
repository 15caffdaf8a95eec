/* test_kept_cut.c: older generations that are kept (keep=N), where a process or a job ends in the middle: making one whole is gone on
 * with, and of a commit that is rolled forward all is kept that it was to keep (CO3). */
#include "every.h"
#include "lives.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- making it whole ---- */

static int countdown; /* calls that change something, until the process ends */

static void
count(void)
{
    if (--countdown == 0)
        _exit(7);
}

static int
dying_openat(int dirfd, const char *name, int flags, mode_t mode)
{
    if ((flags & O_CREAT) != 0)
        count();
    return rset_sys_posix.openat(dirfd, name, flags, mode);
}

static ssize_t
dying_pwrite(int fd, const void *buf, size_t len, off_t off)
{
    count();
    return rset_sys_posix.pwrite(fd, buf, len, off);
}

static int
dying_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    count();
    return rset_sys_posix.renameat(from_dir, from, to_dir, to);
}

static int
dying_unlinkat(int dirfd, const char *name, int flags)
{
    count();
    return rset_sys_posix.unlinkat(dirfd, name, flags);
}

/* A process that makes generation 0 of rank 0 whole, until it dies. True: it did not. */
static bool
dies_at(const life *w, int at)
{
    rset_sys sys = rset_sys_posix;
    int      status = 0;
    pid_t    child;

    sys.openat = dying_openat;
    sys.pwrite = dying_pwrite;
    sys.renameat = dying_renameat;
    sys.unlinkat = dying_unlinkat;
    fflush(NULL);
    child = fork();
    if (child == 0) {
        countdown = at;
        rset_sys_use(&sys);
        lives_make_whole(w, 0, 0);
        _exit(0);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 7);
    return WEXITSTATUS(status) == 0;
}

/* Whoever reads it next gets it, and the others are what they were, without another rank: nothing was lost. */
static void
making_whole_is_cut_short(void **state)
{
    life  w;
    image before;
    int   at;

    (void)state;
    lives_begin_in_place(&w, &rset_scheme_xor, 1, 4, 3);
    before = image_take(w.base);
    for (at = 1 + every_skip(); !dies_at(&w, at); at += every_step()) {
        lives_assert_all(&w, 2);
        remove_tree(w.base);
        image_put(&before, w.base, NULL);
    }
    assert_true(at > 20);
    image_free(&before);
    lives_end(&w);
}

/* ---- a commit ---- */

static int               end_at;  /* which of its syncs a rank does not come back from, */
static _Thread_local int synced;  /* how many it has made, */
static _Atomic int       arrived; /* and how many ranks are there: all of them end with the last */

static int
ending_fsync(int fd)
{
    if (++synced == end_at && ++arrived == LIVES_RANKS)
        _exit(7);
    while (synced == end_at)
        (void)sched_yield();
    return rset_sys_posix.fsync(fd);
}

/* All ranks at once, at that sync. False: they commit. */
static bool
commit_ends(life *w, int at)
{
    rset_sys sys = rset_sys_posix;
    int      status = 0;
    pid_t    child;

    sys.fsync = ending_fsync;
    fflush(NULL);
    child = fork();
    if (child == 0) {
        end_at = at;
        rset_sys_use(&sys);
        lives_commit(w);
        _exit(0);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 7);
    return WEXITSTATUS(status) == 7;
}

/* All open their files, which were protected by one commit or the other; the one before that is kept. */
static void
assert_one_is_kept(life *w)
{
    job_rank *k = &w->job.ranks[0];

    assert_int_equal(job_recover(&w->job), RSET_OK);
    if (rset_evidence_generation(&k->evidence) == w->generation[1]) {
        lives_assert_is(w, 0, 0);
        return;
    }
    w->generation[w->commits++] = rset_evidence_generation(&k->evidence);
    lives_assert_is(w, 1, 0);
    w->commits--;
}

static void
a_commit_is_cut_short(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) { /* anew; in place, all of it or an update */
        life  w;
        image before;
        int   at;

        lives_begin_in_place(&w, &rset_scheme_xor, 1, 2, 1);
        w.update = how == 2;
        lives_plan_all(&w, how == 0 ? LIVES_OVER : LIVES_IN_PLACE);
        before = image_take(w.base);
        for (at = 1; commit_ends(&w, at); at++) {
            snprintf(w.what, sizeof w.what, "%d, sync %d", how, at);
            assert_one_is_kept(&w);
            remove_tree(w.base);
            image_put(&before, w.base, NULL);
        }
        assert_true(at > 5);
        image_free(&before);
        lives_end(&w);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(making_whole_is_cut_short),
                                       cmocka_unit_test(a_commit_is_cut_short)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
