/* test_kept.c: older generations that are kept (keep=N): any of them is what it was, with any loss that its scheme covers, and
 * none lives longer than it should. Random lives of files, which are committed closed, open, or while they go on changing, and
 * of which older generations are read and dropped meanwhile; what each life may not meet has a test of its own.
 * REDSET_KEPT_LIVES: how many (default 40), REDSET_KEPT_SEED: the first. */
#include "lives.h"
#include "member/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
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
    assert_int_equal(rset_kept_add(&local, &generation, &err), RSET_OK);
    assert_true(generation == w->generation[w->commits - 1]);
    rset_dir_close(dir);
}

/* Then the file changes in place, and nothing can be kept of it: there is no older generation, and not one that is another (CO3). */
static void
left_by_a_commit_that_did_not_come_to_be(void **state)
{
    life w;

    (void)state;
    lives_begin_in_place(&w, &rset_scheme_xor, 1, 2, 0);
    for (int r = 0; r < LIVES_RANKS; r++)
        name_current(&w, r);
    w.blind = true;
    lives_change_in_place(&w, 1);
    for (int r = 0; r < LIVES_RANKS; r++)
        assert_false(lives_is_kept(&w, r, 0));
    lives_end(&w);
}

/* The generations before it and after it are what they were (CO3). */
static void
a_middle_one_is_dropped(void **state)
{
    (void)state;
    for (int n = 0; n < 4; n++) {
        life w;

        lives_begin_in_place(&w, &rset_scheme_xor, 1, 5, 4);
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

/* Notes that all ranks together could not have that older generation. False: this file system has no place for that. */
static bool
refuse(const life *w, int n)
{
    bool noted = true;

    for (int r = 0; r < LIVES_RANKS; r++) {
        const char   *names[1];
        rset_err      err = RSET_ERR_NONE;
        rset_local    local, older;
        rset_dir     *dir = lives_files(w, r, names, &local);
        char         *name = rset_name_of(RSET_NAME_DATA, local.prefix, w->generation[n]);
        char         *prefix = rset_join_names(name, ".");
        rset_evidence ev = {0};

        older = local;
        older.prefix = prefix;
        older.names = (const char *const *)&name;
        assert_int_equal(rset_survey_local(&older, &ev, &err), RSET_OK);
        rset_mark_refused(&older, &ev, true);
        assert_int_equal(rset_survey_local(&older, &ev, &err), RSET_OK);
        noted = noted && ev.refused;
        rset_evidence_free(&ev);
        rset_dir_close(dir);
        free(prefix);
        free(name);
    }
    return noted;
}

static bool
is_kept(const life *w, int n)
{
    int is = 0;

    for (int r = 0; r < LIVES_RANKS; r++) {
        const char *names[1];
        rset_local  local;
        rset_dir   *dir = lives_files(w, r, names, &local);
        char       *name = rset_name_of(RSET_NAME_DATA, local.prefix, w->generation[n]);

        is += rset_dir_has_file(dir, name);
        free(name);
        rset_dir_close(dir);
    }
    assert_true(is == 0 || is == LIVES_RANKS);
    return is > 0;
}

/* keep=3: the newest, and two that can be had; what could not goes when it is older than these. */
static void
what_could_not_be_had_does_not_count(void **state)
{
    life w;

    (void)state;
    lives_begin(&w, &rset_scheme_xor, 1, 3);
    for (int n = 0; n < 5; n++) {
        if (n == 3 && !refuse(&w, 1))
            skip();
        for (int r = 0; r < LIVES_RANKS; r++)
            lives_plan(&w, r, LIVES_OVER);
        lives_commit(&w);
        if (n == 3)
            assert_true(is_kept(&w, 0) && is_kept(&w, 1) && is_kept(&w, 2));
    }
    assert_true(!is_kept(&w, 0) && !is_kept(&w, 1) && is_kept(&w, 2) && is_kept(&w, 3));
    lives_end(&w);
}

/* Where old bytes are not going to be kept, what rests on them is made whole first (CO3). */
static void
before_a_change_without_a_journal(void **state)
{
    life w;

    (void)state;
    lives_begin_in_place(&w, &rset_scheme_xor, 1, 4, 2);
    w.blind = true;
    lives_change_in_place(&w, 1);
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
    lives_begin_in_place(&w, &rset_scheme_single, 0, 2, 0);
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
    lives_begin_in_place(&w, &rset_scheme_xor, 1, 3, 1);
    name = rset_name_of(RSET_NAME_UNDO, w.job.ranks[0].prefix, w.generation[0]);
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

static ino_t unreadable;

static ssize_t
pread_but_one(int fd, void *buf, size_t len, off_t off)
{
    struct stat sb;

    if (fstat(fd, &sb) == 0 && sb.st_ino == unreadable) {
        errno = EIO;
        return -1;
    }
    return rset_sys_posix.pread(fd, buf, len, off);
}

/* What was protected last has changed, and is created over: it is copied, as far as it can be read. The rest is rebuilt when it is
 * opened, and the new content is protected all the same. */
static void
what_is_copied_cannot_be_read(void **state)
{
    (void)state;
    for (int cut = 0; cut <= 1; cut++) {
        life        w;
        struct stat sb;
        rset_sys    sys = rset_sys_posix;

        lives_begin_in_place(&w, &rset_scheme_xor, 1, 2, 0);
        lives_leave_unprotected(&w);
        assert_int_equal(stat(job_data(&w.job, 1), &sb), 0);
        unreadable = cut ? 0 : sb.st_ino;
        if (cut)
            assert_int_equal(truncate(job_data(&w.job, 1), 1), 0);
        sys.pread = pread_but_one;
        rset_sys_use(&sys);
        for (int r = 0; r < LIVES_RANKS; r++)
            free(w.next[r].data);
        lives_plan_all(&w, LIVES_OVER);
        lives_commit(&w);
        rset_sys_use(NULL);
        w.dirty = false;
        lives_assert_is(&w, 1, 0);
        lives_assert_is(&w, 0, 0);
        lives_end(&w);
    }
}

/* With async=yes the program learns late that what it was writing has been committed: until then it has its journal open, and
 * locked, which is kept already. Whoever reads the older generation does not wait for that. */
static void
the_journal_is_still_locked(void **state)
{
    life       w;
    char      *name;
    rset_dir  *dir = NULL;
    rset_file *journal = NULL;

    (void)state;
    lives_begin_in_place(&w, &rset_scheme_xor, 1, 2, 1);
    name = rset_name_of(RSET_NAME_UNDO, w.job.ranks[0].prefix, w.generation[0]);
    assert_non_null(name);
    assert_int_equal(rset_dir_open(w.job.ranks[0].dir, false, &dir, NULL), RSET_OK);
    assert_int_equal(rset_file_open_update(dir, name, &journal, NULL), RSET_OK);
    assert_true(rset_file_guard_as(journal, RSET_GUARD_CHANGED, true));
    lives_assert_is(&w, 0, 0);
    (void)rset_file_close(journal, NULL);
    rset_dir_close(dir);
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

        lives_begin_in_place(&w, covered ? &rset_scheme_xor : &rset_scheme_single, covered, 2, 1);
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

/* What cannot be read here is lost to the generations that rest on it, and is repaired as what is lost is; but it is not removed from
 * below them. `name`: in the directory of rank 1. */
static void
assert_is_without(life *w, const char *name)
{
    struct stat sb;
    rset_sys    sys = rset_sys_posix;
    rset_err    err = RSET_ERR_NONE;
    const char *names[1];
    rset_local  local;
    rset_dir   *dir = lives_files(w, 1, names, &local);

    assert_int_equal(stat(path_of("%s/%s", w->job.ranks[1].dir, name), &sb), 0);
    unreadable = sb.st_ino;
    sys.pread = pread_but_one;
    rset_sys_use(&sys);
    assert_int_equal(rset_kept_drop(&local, w->generation[1], &err), RSET_DAMAGED);
    lives_assert_is(w, 0, 0);
    lives_assert_is(w, 1, 0);
    rset_sys_use(NULL);
    lives_assert_is(w, 2, 0);
    rset_dir_close(dir);
}

static void
what_it_rests_on_cannot_be_read(void **state)
{
    (void)state;
    for (int back = 0; back <= 1; back++) {
        life  w;
        char *name;

        lives_begin_in_place(&w, &rset_scheme_xor, 1, 3, 2);
        name = rset_name_of(RSET_NAME_UNDO, w.job.ranks[1].prefix, w.generation[1]);
        assert_non_null(name);
        assert_is_without(&w, back ? name : w.job.ranks[1].names[0]);
        free(name);
        lives_end(&w);
    }
}

static char
    committing[512]; /* a file that is there, or not, each time that a data file is complete */

static int
fsync_while_committing(int fd)
{
    char path[512], link[64];
    int  file;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    file = (int)readlink(link, path, sizeof path - 1);
    if (file > 6 && strncmp(path + file - 6, ".0.fix", 6) == 0 && unlink(committing) != 0) {
        file = open(committing, O_CREAT | O_WRONLY, 0600);
        (void)close(file);
    }
    return rset_sys_posix.fsync(fd);
}

/* One commit after the other makes the newest another one, while what rests on it is made whole: it is not taken for lost, and what it
 * rests on is not removed. */
static void
the_newest_is_committed_again_and_again(void **state)
{
    life        w;
    rset_sys    sys = rset_sys_posix;
    rset_err    err = RSET_ERR_NONE;
    const char *names[1];
    char       *shadow;
    rset_local  local;
    rset_dir   *dir;

    (void)state;
    lives_begin_in_place(&w, &rset_scheme_xor, 1, 3, 2);
    shadow = rset_name_of(RSET_NAME_SHADOW, w.job.ranks[0].prefix, w.generation[2]);
    assert_non_null(shadow);
    snprintf(committing, sizeof committing, "%s/%s", w.job.ranks[0].dir, shadow);
    dir = lives_files(&w, 0, names, &local);
    sys.fsync = fsync_while_committing;
    rset_sys_use(&sys);
    assert_int_equal(rset_kept_drop(&local, w.generation[1], &err), RSET_BUSY);
    (void)unlink(committing);
    assert_int_equal(rset_kept_make_ready(&local, w.generation[0], false, &err), RSET_BUSY);
    rset_sys_use(NULL);
    (void)unlink(committing);
    rset_dir_close(dir);
    lives_assert_is(&w, 0, 0);
    lives_assert_is(&w, 1, 0);
    free(shadow);
    lives_end(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_lives),
                                       cmocka_unit_test(left_by_a_commit_that_did_not_come_to_be),
                                       cmocka_unit_test(a_middle_one_is_dropped),
                                       cmocka_unit_test(what_could_not_be_had_does_not_count),
                                       cmocka_unit_test(before_a_change_without_a_journal),
                                       cmocka_unit_test(created_over_after_a_change_and_written_on),
                                       cmocka_unit_test(the_journal_is_not_written_again),
                                       cmocka_unit_test(what_is_copied_cannot_be_read),
                                       cmocka_unit_test(the_journal_is_still_locked),
                                       cmocka_unit_test(the_newest_is_damaged),
                                       cmocka_unit_test(what_it_rests_on_cannot_be_read),
                                       cmocka_unit_test(the_newest_is_committed_again_and_again)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
