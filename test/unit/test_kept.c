/* test_kept.c: older generations that are kept (keep=N): any of them is what it was, with any loss that its scheme covers, and
 * none lives longer than it should. Random lives of files, which are committed closed, open, or while they go on changing, and
 * of which older generations are read and dropped meanwhile; what each life may not meet has a test of its own.
 * REDSET_KEPT_LIVES: how many (default 40), REDSET_KEPT_SEED: the first. */
#include "lives.h"
#include "member/journal.h"

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

/* ---- lives ---- */

/* Some rank has read one, so that it is whole now; or all have dropped one. */
static void
read_or_drop(life *w)
{
    const int  n = (int)lives_draw((unsigned)w->commits), by = (int)lives_draw(LIVES_RANKS);
    const bool drops = lives_draw(3) == 0;

    if (!w->kept[n] || lives_draw(2))
        return;
    for (int r = 0; r < LIVES_RANKS; r++) {
        const char *names[1];
        rset_local  local;
        rset_dir   *dir = lives_files(w, r, names, &local);
        rset_err    err = RSET_ERR_NONE;

        if (drops && rset_kept_drop(&local, w->generation[n], &err) != RSET_OK)
            fail_msg("%s: generation %d: %s", w->what, n, err.text);
        rset_dir_close(dir);
        if (!drops && r == by)
            lives_make_whole(w, r, n);
    }
    w->kept[n] = !drops;
}

static void
live(unsigned seed, const rset_scheme *scheme, int parity, int keep)
{
    static const unsigned losses[] = {0, 1, 2, 4, 8};
    life                  w;
    int                   commits;

    srand(seed);
    commits = 3 + (int)lives_draw(LIVES_GENERATIONS - 3);
    lives_begin(&w, scheme, parity, keep);
    snprintf(w.what, sizeof w.what, "seed %u, %s, keep=%d", seed, scheme->name, keep);
    for (int i = 0; i < commits; i++) {
        const unsigned all = lives_draw(4); /* mostly all ranks do the same */

        w.update = lives_draw(2);
        w.hold = i > 0 && lives_draw(2) ? (lives_hold)lives_draw(LIVES_HOLDS) : LIVES_CLOSED;
        for (int r = 0; r < LIVES_RANKS; r++)
            lives_plan(&w, r,
                       i == 0     ? LIVES_OVER
                       : all == 0 ? (lives_way)lives_draw(LIVES_WAYS)
                       : all == 1 ? LIVES_IN_PLACE
                                  : LIVES_OVER);
        lives_commit(&w);
        lives_assert_kept(&w);
        read_or_drop(&w);
        if (lives_draw(6) == 0)
            lives_go_back(&w);
    }
    if (lives_draw(3) == 0)
        lives_leave_unprotected(&w);
    lives_assert_all(&w, scheme == &rset_scheme_single ? 0 : losses[lives_draw(5)]);
    lives_end(&w);
}

static void
random_lives(void **state)
{
    static const struct {
        const rset_scheme *scheme;
        int                parity;
    } kinds[] = {{&rset_scheme_xor, 1},
                 {&rset_scheme_rs, 2},
                 {&rset_scheme_partner, 1},
                 {&rset_scheme_single, 0}};
    const char    *lives = getenv("REDSET_KEPT_LIVES"), *first = getenv("REDSET_KEPT_SEED");
    const unsigned n = lives != NULL ? (unsigned)atoi(lives) : 40;
    const unsigned from = first != NULL ? (unsigned)atoi(first) : 1;

    (void)state;
    for (unsigned i = 0; i < n; i++) {
        const unsigned k = (from + i) % 4;

        live(from + i, kinds[k].scheme, kinds[k].parity, 1 + (int)((from + i) / 4 % 4));
    }
}

/* ---- one thing at a time ---- */

/* So many commits of files that are there, each changed in place, and no longer than before: so that it is an update. */
static void
change_in_place(life *w, int commits)
{
    w->update = w->stays = true;
    for (int i = 0; i < commits; i++) {
        lives_plan_all(w, LIVES_IN_PLACE);
        lives_commit(w);
    }
}

static void
begin_in_place(life *w, const rset_scheme *scheme, int parity, int keep, int commits)
{
    srand(7);
    lives_begin(w, scheme, parity, keep);
    lives_plan_all(w, LIVES_OVER);
    lives_commit(w);
    change_in_place(w, commits);
}

/* As a commit that did not come to be leaves it: what is there has a second name. */
static void
name_current(const life *w, int r)
{
    const char *names[1];
    rset_err    err = RSET_ERR_NONE;
    uint64_t    generation = 0;
    rset_local  local;
    rset_dir   *dir = lives_files(w, r, names, &local);

    local.shadow = "none";
    assert_int_equal(rset_kept_add(&local, NULL, &generation, &err), RSET_OK);
    assert_true(generation == w->generation[w->commits - 1]);
    rset_dir_close(dir);
}

/* Then the file changes in place, and nothing can be kept of it: there is no older generation, and not one that is another (M6). */
static void
left_by_a_commit_that_did_not_come_to_be(void **state)
{
    life w;

    (void)state;
    begin_in_place(&w, &rset_scheme_xor, 1, 2, 0);
    for (int r = 0; r < LIVES_RANKS; r++)
        name_current(&w, r);
    w.blind = true;
    change_in_place(&w, 1);
    for (int r = 0; r < LIVES_RANKS; r++)
        assert_false(lives_is_kept(&w, r, 0));
    lives_end(&w);
}

/* Those before it and after it are what they were (M6). */
static void
a_middle_one_is_dropped(void **state)
{
    (void)state;
    for (int n = 0; n < 4; n++) {
        life w;

        begin_in_place(&w, &rset_scheme_xor, 1, 5, 4);
        for (int r = 0; r < LIVES_RANKS; r++) {
            const char *names[1];
            rset_err    err = RSET_ERR_NONE;
            rset_local  local;
            rset_dir   *dir = lives_files(&w, r, names, &local);

            assert_int_equal(rset_kept_drop(&local, w.generation[n], &err), RSET_OK);
            rset_dir_close(dir);
        }
        w.kept[n] = false;
        lives_assert_kept(&w);
        lives_assert_all(&w, 1u << n);
        lives_end(&w);
    }
}

/* Where old bytes are not going to be kept, what rests on them is made whole first (M6). */
static void
before_a_change_without_a_journal(void **state)
{
    life w;

    (void)state;
    begin_in_place(&w, &rset_scheme_xor, 1, 4, 2);
    w.blind = true;
    change_in_place(&w, 1);
    w.kept[2] = false; /* that is lost, as atomic=no has it */
    lives_assert_kept(&w);
    lives_assert_all(&w, 4);
    lives_end(&w);
}

/* What it was is copied from the file and its undo journal, not from what is being committed while it is written on. */
static void
created_over_after_a_change_and_written_on(void **state)
{
    life w;

    (void)state;
    begin_in_place(&w, &rset_scheme_single, 0, 2, 0);
    lives_leave_unprotected(&w);
    w.hold = LIVES_BEHIND;
    lives_plan_all(&w, LIVES_OVER);
    lives_commit(&w);
    lives_assert_kept(&w);
    lives_assert_all(&w, 0);
    lives_end(&w);
}

/* The journal that is kept is not the one that is written next, whoever still holds it. */
static void
the_journal_is_not_written_again(void **state)
{
    life     w;
    size_t   size = 0, now = 0;
    uint8_t *was, *is;
    char    *name;

    (void)state;
    begin_in_place(&w, &rset_scheme_xor, 1, 3, 1);
    name = rset_back_name(w.job.ranks[0].prefix, w.generation[0]);
    was = read_file(path_of("%s/%s", w.job.ranks[0].dir, name), &size);
    lives_leave_unprotected(&w);
    is = read_file(path_of("%s/%s", w.job.ranks[0].dir, name), &now);
    assert_int_equal(now, size);
    assert_memory_equal(is, was, size);
    lives_assert_all(&w, 2);
    free(is);
    free(was);
    free(name);
    lives_end(&w);
}

/* What the newest has lost the older one has lost as well; it is repaired, or refused, and never taken for right (P2). */
static void
the_newest_is_damaged(void **state)
{
    (void)state;
    for (int covered = 0; covered <= 1; covered++) {
        life w;
        job  j = {0};

        begin_in_place(&w, covered ? &rset_scheme_xor : &rset_scheme_single, covered, 2, 1);
        w.by_size = true;
        flip_bit(job_data(&w.job, 1), w.at[1] > 0 ? 0 : w.now[1].size - 1);
        if (covered)
            lives_assert_is(&w, 0, 0);
        else
            assert_int_equal(lives_open(&w, 0, &j), RSET_LOST);
        job_free(&j);
        lives_end(&w);
    }
}

/* Two ranks run where the other one ran before: the newest is moved, and what rests on it is not lost. */
static void
ranks_have_moved(void **state)
{
    life        w;
    const char *a, *b, *aside;

    (void)state;
    begin_in_place(&w, &rset_scheme_xor, 1, 3, 2);
    a = w.job.ranks[0].dir;
    b = w.job.ranks[1].dir;
    aside = path_of("%s/aside", w.base);
    assert_int_equal(rename(a, aside), 0);
    assert_int_equal(rename(b, a), 0);
    assert_int_equal(rename(aside, b), 0);
    lives_assert_is(&w, 2, 0);
    lives_assert_is(&w, 1, 0);
    lives_assert_is(&w, 0, 0);
    lives_end(&w);
}

/* ---- cut short ---- */

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
    begin_in_place(&w, &rset_scheme_xor, 1, 4, 3);
    before = image_take(w.base);
    for (at = 1; !dies_at(&w, at); at++) {
        lives_assert_all(&w, 2);
        remove_tree(w.base);
        image_put(&before, w.base, NULL);
    }
    assert_true(at > 20);
    image_free(&before);
    lives_end(&w);
}

/* ---- a commit is cut short ---- */

static _Atomic int kept_by[LIVES_RANKS]; /* 1: is about to be kept by that rank, 2: is */

/* Ranks 0 and 1 come no further than this, and the job dies when the others have. */
static int
dying_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    const int rank = atoi(to + strcspn(to, "0123456789"));
    int       rc;

    if (strstr(to, ".back") == NULL)
        return rset_sys_posix.linkat(from_dir, from, to_dir, to, flags);
    kept_by[rank] = 1;
    for (; rank < 2; sched_yield())
        if (kept_by[0] + kept_by[1] + kept_by[2] + kept_by[3] == 1 + 1 + 2 + 2)
            _exit(7);
    rc = rset_sys_posix.linkat(from_dir, from, to_dir, to, flags);
    kept_by[rank] = 2;
    return rc;
}

static void
commit_until_dead(life *w, bool update)
{
    rset_sys sys = rset_sys_posix;
    int      status = 0;
    pid_t    child;

    sys.linkat = dying_linkat;
    fflush(NULL);
    child = fork();
    if (child == 0) {
        rset_sys_use(&sys);
        w->update = update;
        w->stays = true;
        lives_plan_all(w, LIVES_IN_PLACE);
        lives_commit(w);
        _exit(0);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
}

/* No rank is ready for a commit before it keeps what the commit replaces: with all of them ready an open goes forward. */
static void
kept_before_a_rank_is_ready(void **state)
{
    (void)state;
    for (int update = 0; update <= 1; update++) {
        life w;

        begin_in_place(&w, &rset_scheme_xor, 1, 3, 1);
        commit_until_dead(&w, update);
        assert_int_equal(job_recover(&w.job), RSET_OK);
        lives_assert_is(&w, 0, 0);
        lives_end(&w);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_lives),
                                       cmocka_unit_test(left_by_a_commit_that_did_not_come_to_be),
                                       cmocka_unit_test(a_middle_one_is_dropped),
                                       cmocka_unit_test(before_a_change_without_a_journal),
                                       cmocka_unit_test(created_over_after_a_change_and_written_on),
                                       cmocka_unit_test(the_journal_is_not_written_again),
                                       cmocka_unit_test(the_newest_is_damaged),
                                       cmocka_unit_test(ranks_have_moved),
                                       cmocka_unit_test(making_whole_is_cut_short),
                                       cmocka_unit_test(kept_before_a_rank_is_ready)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
