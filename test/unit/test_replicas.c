/* test_replicas.c: files of one rank (replicas/replicas.h): all ranks open the newest, or none does; members get replicas. */
#include "comm/comm_local.h"
#include "image.h"
#include "newest_world.h"
#include "replicas/replicas.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS = NEWEST_RANKS, SIZE = NEWEST_SIZE };

static void
never_protected(void **state)
{
    (void)state;
    newest_begin();
    assert_int_equal(newest_open(), RSET_ABSENT);
    assert_true(newest_seen.out[3].never);
    write_file(newest_file(2), newest_content[0], SIZE);
    assert_int_equal(newest_open(), RSET_ABSENT);
    assert_true(newest_seen.out[2].never && newest_has(2, 0));
}

static void
RP1_the_newest_on_all_ranks(void **state)
{
    (void)state;
    newest_begin();
    newest_put(2, 3);
    newest_expect(3);
    newest_begin();
    newest_put(0, 1);
    newest_put(1, 2);
    newest_put(4, 3); /* the newest counts, whoever has it */
    newest_expect(3);
    flip_bit(newest_file(0), 700000);
    newest_expect(3);
    truncate(newest_file(3), 0);
    unlink(newest_file(4));
    unlink(path_of("%s/node1/meta.h5.0.redset", newest_base));
    newest_expect(3);
    for (int r = 0; r < RANKS; r++) { /* small, and empty */
        truncate(newest_file(r), r < 2 ? 0 : 100);
        if (r < 2)
            newest_protect(r, UINT64_C(9) << 40 | 1);
    }
    assert_int_equal(newest_open(), RSET_OK);
}

static void
RP1_no_older_one_in_its_place(void **state)
{
    (void)state;
    newest_begin();
    newest_put(0, 1);
    newest_put(1, 2);
    newest_put(4, 3);
    flip_bit(newest_file(4), 5);
    newest_expect_refused(RSET_LOST, "the newest one that any rank knows of, on rank 4 (host4)");
    unlink(newest_file(4));
    newest_expect_refused(RSET_LOST, "no rank has a replica");
    assert_true(newest_seen.out[0].gone);
    newest_put(4, 3);
    for (int r = 0; r < RANKS; r++) {
        newest_want.readonly = 1u << r;
        newest_expect_refused(RSET_LOST, "readonly_rebuild=no");
        assert_false(newest_seen.out[0].gone);
    }
    write_file(newest_file(4), newest_content[0], SIZE);
    utimensat(AT_FDCWD, newest_file(4), (const struct timespec[]){{1, 0}, {1, 0}}, 0);
    newest_expect_refused(RSET_LOST, "rank 4 (host4), was changed by another program");
}

/* ---- file calls that fail ---- */

/* On rank `fails` file call number `at` of those that change something fails. */
static int               fails, at;
static _Thread_local int calls;

static void
count_from_here(int rank)
{
    calls = rank == fails ? at : 0;
}

static bool
is_its_turn(void)
{
    return calls > 0 && --calls == 0;
}

static ssize_t
failing_pwrite(int fd, const void *buf, size_t len, off_t off)
{
    errno = ENOSPC;
    return is_its_turn() ? -1 : rset_sys_posix.pwrite(fd, buf, len, off);
}

static int
failing_fsync(int fd)
{
    errno = EIO;
    return is_its_turn() ? -1 : rset_sys_posix.fsync(fd);
}

static int
failing_rename(int from_dir, const char *from, int to_dir, const char *to)
{
    errno = EIO;
    return is_its_turn() ? -1 : rset_sys_posix.renameat(from_dir, from, to_dir, to);
}

static int
failing_openat(int dir, const char *name, int flags, mode_t mode)
{
    errno = EIO;
    return is_its_turn() ? -1 : rset_sys_posix.openat(dir, name, flags, mode);
}

/* Whatever fails on a rank that gets it: all ranks hear it, what lies there is as before or the newest, and the next open has
 * it. */
static void
RP3_nothing_that_is_not_complete(void **state)
{
    rset_sys sys = rset_sys_posix;
    int      n = 1, refused = 0;

    (void)state;
    sys.pwrite = failing_pwrite;
    sys.fsync = failing_fsync;
    sys.renameat = failing_rename;
    sys.openat = failing_openat;
    for (bool over = false; !over; n++) {
        newest_begin();
        newest_put(0, 1);
        newest_put(1, 2);
        fails = 0;
        at = n;
        newest_want.ready = count_from_here;
        rset_sys_use(&sys);
        over = newest_open() == RSET_OK && n > 25;
        rset_sys_use(NULL);
        refused += newest_seen.st[0] != RSET_OK;
        if (newest_seen.st[0] != RSET_OK && newest_seen.err[3].text[0] == '\0')
            fail_msg("call %d: not said why", n);
        if (!newest_has(0, 1) && !newest_has(0, 2))
            fail_msg("call %d: half a file", n);
        fails = -1;
        if (newest_open() != RSET_OK || !newest_has(0, 2) || !newest_has(3, 2))
            fail_msg("call %d: not there: %s", n, newest_seen.err[0].text);
        assert_true(n < 300);
    }
    assert_true(refused > 10);
}

/* Who gives it has not looked whether it is whole. */
static void
RP3_nothing_else_than_was_recorded(void **state)
{
    (void)state;
    newest_begin();
    newest_want.by_size = true;
    newest_put(1, 1);
    newest_put(2, 2);
    flip_bit(newest_file(2), 900000);
    assert_int_equal(newest_open(), RSET_DAMAGED);
    assert_non_null(strstr(newest_seen.err[0].text, "is not what was protected there"));
    assert_true(newest_has(1, 1));
    assert_false(exists(newest_file(0)) || exists(newest_file(4)));
}

static void
RP4_what_nobody_protects_stays(void **state)
{
    (void)state;
    newest_begin();
    newest_put(1, 2);
    write_file(newest_file(3), newest_content[0], SIZE);
    newest_expect_refused(RSET_LOST, "rank 3 (host3) has such a file that is not protected");
    newest_put(0, 1);
    newest_want.written[0] = 1; /* and that is not made the newest meanwhile */
    newest_expect_refused(RSET_LOST, "rank 3 (host3) has such a file that is not protected");
    newest_want.written[0] = 0;
    flip_bit(newest_file(1), 5);
    newest_expect_refused(RSET_LOST, "rank 3 (host3) has such a file that is not protected");
    assert_false(newest_seen.out[0].gone); /* it may be the newest */
}

/* A program begins to write it where it sees none; it dies, or closes it, or is at it still while all ranks open it. */
typedef enum { DIES, CLOSES, IS_AT_IT } unprotected;

static void
write_unprotected(int node, unprotected what)
{
    static const char *const names[] = {"meta.h5"};
    const rset_label         label = {.job = 1, .step = 1, .ranks = 1};
    rset_local    local = {.prefix = "meta.h5.", .nfiles = 1, .names = names, .paths = names};
    rset_evidence ev = {0};
    rset_journal *journal = NULL;
    rset_err      err = RSET_ERR_NONE;

    assert_int_equal(rset_dir_open(path_of("%s/node%d", newest_base, node), true, &local.dir, &err),
                     0);
    assert_int_equal(rset_survey_local(&local, &ev, &err), RSET_OK);
    assert_int_equal(rset_change_begin_first(&local, &ev, &journal, &err), RSET_OK);
    write_file(newest_file(node), newest_content[0], what == DIES ? SIZE / 2 : SIZE);
    if (what == IS_AT_IT)
        newest_expect_refused(RSET_BUSY, "another process is changing");
    if (what == CLOSES)
        assert_int_equal(rset_journal_close(journal, &label, &err), RSET_OK);
    else
        rset_journal_leave(journal);
    rset_evidence_free(&ev);
    rset_dir_close(local.dir);
}

static void
RP4_what_a_program_died_over_is_replaced(void **state)
{
    (void)state;
    newest_begin();
    newest_put(1, 2);
    write_unprotected(3, DIES);
    newest_expect(2);
    newest_begin();
    newest_put(1, 2);
    write_unprotected(3, IS_AT_IT);
    newest_expect(2);
    newest_begin();
    newest_put(1, 2);
    write_unprotected(3, CLOSES); /* it may be newer */
    newest_expect_refused(RSET_LOST, "rank 3 (host3) has such a file that is not protected");
    newest_begin();
    write_unprotected(3, DIES);
    assert_int_equal(newest_open(), RSET_ABSENT); /* and there is nothing better */
    assert_true(newest_seen.out[3].never && exists(newest_file(3)));
}

static void
RP5_one_rank_of_each_directory(void **state)
{
    (void)state;
    newest_begin();
    newest_want.together[1] = newest_want.together[0];
    newest_want.together[4] = newest_want.together[3];
    newest_put(2, 2);
    newest_expect(2);
    newest_put(2, 4);
    flip_bit(newest_file(0), 5);
    newest_expect(4);
}

/* All have it, under a number that is newer than any before, and it is no other one afterwards. */
static void
expect_last(int which)
{
    uint64_t generation;

    if (newest_open() != RSET_OK)
        fail_msg("%s", newest_seen.err[0].text);
    generation = newest_seen.out[0].generation;
    memset(newest_want.written, 0, sizeof newest_want.written);
    assert_int_equal(newest_open(), RSET_OK);
    for (int r = 0; r < RANKS; r++) {
        assert_true(newest_has(newest_want.together[r], which));
        assert_true(!newest_seen.out[r].acted && newest_seen.out[r].generation == generation);
    }
}

static void
RP1_what_was_written_last_is_the_newest(void **state)
{
    (void)state;
    newest_begin();
    newest_put(0, 1);
    newest_put(1, 3);
    newest_put(2, 2);
    newest_want.written[0] = 1;
    expect_last(1);
    newest_put(
        3,
        4); /* by a clock that was right before, of ranks that are not the first in their directory */
    newest_want.together[1] = newest_want.together[0];
    newest_want.together[4] = newest_want.together[2];
    newest_put(2, 2);
    newest_want.written[4] = 2;
    expect_last(2);
    newest_begin();
    newest_put(0, 3);
    newest_want.written[0] = 3; /* it is the newest as it is */
    newest_expect(3);
    newest_begin();
    newest_put(0, 2);
    newest_put(1, 3);
    newest_want.written[0] = 1; /* it does not lie there any more */
    newest_expect(3);
}

/* Nothing older instead: of a rank that knows that there was something newer. */
static void
RP1_or_nothing_is_opened(void **state)
{
    (void)state;
    newest_begin();
    newest_put(0, 1);
    newest_put(1, 3);
    newest_want.written[0] = 1;
    newest_want.readonly = 1;
    newest_expect_refused(RSET_LOST, "readonly_rebuild=no");
    newest_want.readonly = 0;
    flip_bit(newest_file(0), 5);
    newest_expect_refused(RSET_DAMAGED, "though it was written last");
}

static void
other_names_are_refused(void **state)
{
    (void)state;
    newest_begin();
    newest_want.name[3] = "other.h5";
    newest_expect_refused(RSET_USAGE, "ranks open files of other names");
    newest_put(2, 2);
    newest_expect_refused(RSET_USAGE, "ranks open files of other names");
    newest_put(0, 1);
    newest_want.written[0] = 1;
    newest_expect_refused(RSET_USAGE, "ranks open files of other names");
    newest_want.written[0] = 0;
    flip_bit(newest_file(2), 5);
    newest_expect_refused(RSET_USAGE, "ranks open files of other names");
    assert_false(newest_seen.out[0].gone);
}

/* ---- replicas ---- */

static int  copies;
static bool refused; /* no rank takes them */

static rset_status
may(void *arg, const char *path, rset_err *err)
{
    (void)arg;
    return refused ? rset_fail(err, RSET_USAGE, "%s: not here", path) : RSET_OK;
}

static rset_replica sent[RANKS];

/* Storage is seen under its own path by each rank: so the path says which rank it is of. */
static void
send_body(rset_comm *comm, void *arg)
{
    const int     r = comm->rank;
    char          host[32];
    rset_replicas args = {.set = comm, .host = host, .mine = &sent[r], .n = 1, .may = may};

    (void)arg;
    snprintf(host, sizeof host, "host%d", r);
    args.n = sent[r].generation != 0;
    newest_seen.st[r] = rset_replicas_send(&args, &newest_seen.err[r]);
}

/* Rank 0 sends what has that path; on the others, which see the same directory here, it was lost. */
static void
send(const char *path, uint64_t generation)
{
    rset_err err = RSET_ERR_NONE;

    memset(sent, 0, sizeof sent);
    sent[0] =
        (rset_replica){.generation = generation << 40 | 1, .copies = copies, .why = RSET_ERR_NONE};
    snprintf(sent[0].path, sizeof sent[0].path, "%s", path);
    assert_int_equal(rset_local_run(RANKS, 60, send_body, NULL, &err), RSET_OK);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(newest_seen.st[r], RSET_OK);
}

static void
members_that_have_it_keep_it(void **state)
{
    image before;
    char  why[1024];

    (void)state;
    newest_begin();
    newest_put(0, 2);
    copies = 99;
    before = image_take(newest_base);
    send(newest_file(0), 2);
    assert_true(sent[0].done);
    send(newest_file(0), 1); /* it is another one now */
    assert_true(sent[0].done);
    send(path_of("%s/nowhere/meta.h5", newest_base), 1);
    assert_true(sent[0].done);
    refused = true;
    send(newest_file(0), 2);
    assert_false(sent[0].done);
    assert_non_null(strstr(sent[0].why.text, "not here"));
    assert_int_equal(sent[0].why.rank, 1);
    assert_true(image_same(&before, newest_base, NULL, IMAGE_UNTOUCHED, why));
    image_free(&before);
}

static void
generations_are_of_the_time(void **state)
{
    const uint64_t ms = 186000000000, g = rset_generation_at(0, ms, 77);

    (void)state;
    assert_int_equal(g >> 22, ms);
    assert_true(rset_generation_newer(rset_generation_at(g, ms, 0), g)); /* in the same moment */
    assert_true(
        rset_generation_newer(rset_generation_at(g, ms - 500000, 0), g));    /* clock set back */
    assert_true(rset_generation_newer(rset_generation_at(0, ms + 1, 0), g)); /* not knowing it */
    assert_true(rset_generation_newer(rset_generation_next(g, 0), g));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_protected),
        cmocka_unit_test(RP1_the_newest_on_all_ranks),
        cmocka_unit_test(RP1_no_older_one_in_its_place),
        cmocka_unit_test(RP3_nothing_that_is_not_complete),
        cmocka_unit_test(RP3_nothing_else_than_was_recorded),
        cmocka_unit_test(RP4_what_nobody_protects_stays),
        cmocka_unit_test(RP4_what_a_program_died_over_is_replaced),
        cmocka_unit_test(RP5_one_rank_of_each_directory),
        cmocka_unit_test(RP1_what_was_written_last_is_the_newest),
        cmocka_unit_test(RP1_or_nothing_is_opened),
        cmocka_unit_test(other_names_are_refused),
        cmocka_unit_test(members_that_have_it_keep_it),
        cmocka_unit_test(generations_are_of_the_time),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    newest_end();
    return failed;
}
