/* test_replicas.c: files of one rank (replicas/replicas.h): all ranks open the newest, or none does; members get replicas. Ranks
 * are threads, each with a directory of its own, unless two of them share one. */
#include "comm/comm_alone.h"
#include "comm/comm_local.h"
#include "image.h"
#include "protect/protect.h"
#include "replicas/replicas.h"

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

enum { RANKS = 5, SIZE = 1300001 }; /* several pieces */

static char   *base;
static uint8_t content[10][SIZE];

/* What came out on each rank. */
static struct {
    rset_status          st[RANKS];
    rset_err             err[RANKS];
    rset_replica_outcome out[RANKS];
    rset_evidence        evidence[RANKS];
} seen;

/* What the test wants of the next run. */
static struct {
    unsigned    readonly;        /* ranks, a bit for each */
    int         together[RANKS]; /* the directory of each rank */
    const char *name[RANKS];
    int         written[RANKS]; /* what this process has written itself; 0: nothing */
    int         copies;
    int         fails, at; /* on this rank file call number `at` that changes something fails */
    bool        refused;   /* no rank takes replicas */
    bool        by_size;   /* ranks do not verify what they have */
} want;

/* ---- file calls that fail ---- */

static _Thread_local int calls;

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

/* ---- files ---- */

static const char *
file_of(int node)
{
    return path_of("%s/node%d/meta.h5", base, node);
}

/* Protects what has the name, as a rank does that is alone. */
static void
protect(int node, uint64_t generation)
{
    static const char *const names[] = {"meta.h5"};
    const rset_wish          wish = {.scheme = &rset_scheme_single, .set_size = 1, .group = "g"};
    rset_local  local = {.prefix = "meta.h5.", .nfiles = 1, .names = names, .paths = names};
    rset_comm   alone;
    rset_layout layout;
    rset_err    err = RSET_ERR_NONE;

    assert_int_equal(rset_dir_open(path_of("%s/node%d", base, node), true, &local.dir, &err), 0);
    rset_comm_alone(&alone, 1);
    assert_int_equal(rset_layout_form(&alone, &wish, "host", &layout, &err), RSET_OK);
    rset_protect_args args = {.world = &alone,
                              .set = &layout.set,
                              .ranks = layout.ranks,
                              .local = &local,
                              .desc = layout.desc,
                              .extra = true,
                              .host = "host"};

    args.desc.generation = generation;
    assert_int_equal(rset_protect(&args, &err), RSET_OK);
    rset_layout_free(&layout);
    rset_comm_free(&alone);
    rset_dir_close(local.dir);
}

static void
put(int node, uint64_t generation)
{
    write_file(file_of(node), content[generation], SIZE);
    protect(node, generation << 40 | 1);
}

static bool
has(int node, int which)
{
    size_t   size = 0;
    uint8_t *data = exists(file_of(node)) ? read_file(file_of(node), &size) : NULL;
    bool     same = data != NULL && size == SIZE && memcmp(data, content[which], SIZE) == 0;

    free(data);
    return same;
}

static void
begin(void)
{
    if (base != NULL)
        remove_tree(base);
    free(base);
    base = scratch_make();
    memset(&want, 0, sizeof want);
    for (int r = 0; r < RANKS; r++) {
        mkdir(path_of("%s/node%d", base, r), 0777);
        want.together[r] = r;
        want.name[r] = "meta.h5";
        fill_random(content[r], SIZE, (uint64_t)r);
    }
}

/* ---- all ranks open it ---- */

static void
open_body(rset_comm *comm, void *arg)
{
    const int   r = comm->rank;
    const char *names[] = {want.name[r]};
    char        path[4096], prefix[64], host[32];
    rset_local  local = {.prefix = prefix, .nfiles = 1, .names = names, .paths = names};

    (void)arg;
    snprintf(path, sizeof path, "%s/node%d", base, want.together[r]);
    snprintf(prefix, sizeof prefix, "%s.", want.name[r]);
    snprintf(host, sizeof host, "host%d", want.together[r]);
    rset_replica_args args = {.world = comm,
                              .local = &local,
                              .evidence = &seen.evidence[r],
                              .host = host,
                              .content = want.by_size ? RSET_CONTENT_NONE : RSET_CONTENT_ALL,
                              .readonly = (want.readonly >> r & 1) != 0,
                              .tidy = true};

    if (want.written[r] != 0)
        args.written = (uint64_t)want.written[r] << 40 | 1;

    args.before = rset_dir_open(path, false, &local.dir, &seen.err[r]);
    if (args.before == RSET_OK)
        args.before = rset_survey_local(&local, &seen.evidence[r], &seen.err[r]);
    calls = r == want.fails ? want.at : 0;
    seen.st[r] = rset_replica_open(&args, &seen.out[r], &seen.err[r]);
    rset_evidence_free(&seen.evidence[r]);
    rset_dir_close(local.dir);
}

static rset_status
open_all(void)
{
    rset_err err = RSET_ERR_NONE;

    memset(&seen, 0, sizeof seen);
    for (int r = 0; r < RANKS; r++)
        seen.err[r] = (rset_err)RSET_ERR_NONE;
    assert_int_equal(rset_local_run(RANKS, 60, open_body, NULL, &err), RSET_OK);
    for (int r = 1; r < RANKS; r++)
        if (seen.st[r] != seen.st[0])
            fail_msg("rank 0: %d %s; rank %d: %d %s", seen.st[0], seen.err[0].text, r, seen.st[r],
                     seen.err[r].text);
    return seen.st[0];
}

static void
expect_all(int which)
{
    if (open_all() != RSET_OK)
        fail_msg("%s", seen.err[0].text);
    for (int r = 0; r < RANKS; r++)
        assert_true(has(want.together[r], which));
    assert_int_equal(open_all(), RSET_OK); /* and it is protected there */
    for (int r = 0; r < RANKS; r++) {
        assert_false(seen.out[r].acted);
        assert_int_equal(seen.out[r].generation, (uint64_t)which << 40 | 1);
    }
}

static void
expect_refused(rset_status st, const char *text)
{
    image before = image_take(base);
    char  why[1024];

    assert_int_equal(open_all(), st);
    for (int r = 0; r < RANKS; r++)
        if (strstr(seen.err[r].text, text) == NULL)
            fail_msg("rank %d: %s", r, seen.err[r].text);
    if (!image_same(&before, base, NULL, IMAGE_UNTOUCHED, why))
        fail_msg("%s", why);
    image_free(&before);
}

static void
never_protected(void **state)
{
    (void)state;
    begin();
    assert_int_equal(open_all(), RSET_ABSENT);
    assert_true(seen.out[3].never);
    write_file(file_of(2), content[0], SIZE);
    assert_int_equal(open_all(), RSET_ABSENT);
    assert_true(seen.out[2].never && has(2, 0));
}

static void
RP1_the_newest_on_all_ranks(void **state)
{
    (void)state;
    begin();
    put(2, 3);
    expect_all(3);
    begin();
    put(0, 1);
    put(1, 2);
    put(4, 3); /* the newest counts, whoever has it */
    expect_all(3);
    flip_bit(file_of(0), 700000);
    expect_all(3);
    truncate(file_of(3), 0);
    unlink(file_of(4));
    unlink(path_of("%s/node1/meta.h5.0.redset", base));
    expect_all(3);
    for (int r = 0; r < RANKS; r++) { /* small, and empty */
        truncate(file_of(r), r < 2 ? 0 : 100);
        if (r < 2)
            protect(r, UINT64_C(9) << 40 | 1);
    }
    assert_int_equal(open_all(), RSET_OK);
}

static void
RP1_no_older_one_in_its_place(void **state)
{
    (void)state;
    begin();
    put(0, 1);
    put(1, 2);
    put(4, 3);
    flip_bit(file_of(4), 5);
    expect_refused(RSET_LOST, "the newest one that any rank knows of, on rank 4 (host4)");
    unlink(file_of(4));
    expect_refused(RSET_LOST, "no rank has a replica");
    assert_true(seen.out[0].gone);
    put(4, 3);
    for (int r = 0; r < RANKS; r++) {
        want.readonly = 1u << r;
        expect_refused(RSET_LOST, "readonly_rebuild=no");
        assert_false(seen.out[0].gone);
    }
    write_file(file_of(4), content[0], SIZE);
    utimensat(AT_FDCWD, file_of(4), (const struct timespec[]){{1, 0}, {1, 0}}, 0);
    expect_refused(RSET_LOST, "rank 4 (host4), was changed by another program");
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
        begin();
        put(0, 1);
        put(1, 2);
        want.fails = 0;
        want.at = n;
        rset_sys_use(&sys);
        over = open_all() == RSET_OK && n > 25;
        rset_sys_use(NULL);
        refused += seen.st[0] != RSET_OK;
        if (seen.st[0] != RSET_OK && seen.err[3].text[0] == '\0')
            fail_msg("call %d: not said why", n);
        if (!has(0, 1) && !has(0, 2))
            fail_msg("call %d: half a file", n);
        want.fails = -1;
        if (open_all() != RSET_OK || !has(0, 2) || !has(3, 2))
            fail_msg("call %d: not there: %s", n, seen.err[0].text);
        assert_true(n < 300);
    }
    assert_true(refused > 10);
}

/* Who gives it has not looked whether it is whole. */
static void
RP3_nothing_else_than_was_recorded(void **state)
{
    (void)state;
    begin();
    want.by_size = true;
    put(1, 1);
    put(2, 2);
    flip_bit(file_of(2), 900000);
    assert_int_equal(open_all(), RSET_DAMAGED);
    assert_non_null(strstr(seen.err[0].text, "is not what was protected there"));
    assert_true(has(1, 1));
    assert_false(exists(file_of(0)) || exists(file_of(4)));
}

static void
RP4_what_nobody_protects_stays(void **state)
{
    (void)state;
    begin();
    put(1, 2);
    write_file(file_of(3), content[0], SIZE);
    expect_refused(RSET_LOST, "rank 3 (host3) has such a file that is not protected");
    put(0, 1);
    want.written[0] = 1; /* and that is not made the newest meanwhile */
    expect_refused(RSET_LOST, "rank 3 (host3) has such a file that is not protected");
    want.written[0] = 0;
    flip_bit(file_of(1), 5);
    expect_refused(RSET_LOST, "rank 3 (host3) has such a file that is not protected");
    assert_false(seen.out[0].gone); /* it may be the newest */
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

    assert_int_equal(rset_dir_open(path_of("%s/node%d", base, node), true, &local.dir, &err), 0);
    assert_int_equal(rset_survey_local(&local, &ev, &err), RSET_OK);
    assert_int_equal(rset_change_begin_first(&local, &ev, &journal, &err), RSET_OK);
    write_file(file_of(node), content[0], what == DIES ? SIZE / 2 : SIZE);
    if (what == IS_AT_IT)
        expect_refused(RSET_BUSY, "another process is changing");
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
    begin();
    put(1, 2);
    write_unprotected(3, DIES);
    expect_all(2);
    begin();
    put(1, 2);
    write_unprotected(3, IS_AT_IT);
    expect_all(2);
    begin();
    put(1, 2);
    write_unprotected(3, CLOSES); /* it may be newer */
    expect_refused(RSET_LOST, "rank 3 (host3) has such a file that is not protected");
    begin();
    write_unprotected(3, DIES);
    assert_int_equal(open_all(), RSET_ABSENT); /* and there is nothing better */
    assert_true(seen.out[3].never && exists(file_of(3)));
}

static void
RP5_one_rank_of_each_directory(void **state)
{
    (void)state;
    begin();
    want.together[1] = want.together[0];
    want.together[4] = want.together[3];
    put(2, 2);
    expect_all(2);
    put(2, 4);
    flip_bit(file_of(0), 5);
    expect_all(4);
}

/* All have it, under a number that is newer than any before, and it is no other one afterwards. */
static void
expect_last(int which)
{
    uint64_t generation;

    if (open_all() != RSET_OK)
        fail_msg("%s", seen.err[0].text);
    generation = seen.out[0].generation;
    memset(want.written, 0, sizeof want.written);
    assert_int_equal(open_all(), RSET_OK);
    for (int r = 0; r < RANKS; r++) {
        assert_true(has(want.together[r], which));
        assert_true(!seen.out[r].acted && seen.out[r].generation == generation);
    }
}

static void
RP1_what_was_written_last_is_the_newest(void **state)
{
    (void)state;
    begin();
    put(0, 1);
    put(1, 3);
    put(2, 2);
    want.written[0] = 1;
    expect_last(1);
    put(3,
        4); /* by a clock that was right before, of ranks that are not the first in their directory */
    want.together[1] = want.together[0];
    want.together[4] = want.together[2];
    put(2, 2);
    want.written[4] = 2;
    expect_last(2);
    begin();
    put(0, 3);
    want.written[0] = 3; /* it is the newest as it is */
    expect_all(3);
    begin();
    put(0, 2);
    put(1, 3);
    want.written[0] = 1; /* it does not lie there any more */
    expect_all(3);
}

/* Nothing older instead: of a rank that knows that there was something newer. */
static void
RP1_or_nothing_is_opened(void **state)
{
    (void)state;
    begin();
    put(0, 1);
    put(1, 3);
    want.written[0] = 1;
    want.readonly = 1;
    expect_refused(RSET_LOST, "readonly_rebuild=no");
    want.readonly = 0;
    flip_bit(file_of(0), 5);
    expect_refused(RSET_DAMAGED, "though it was written last");
}

static void
other_names_are_refused(void **state)
{
    (void)state;
    begin();
    want.name[3] = "other.h5";
    expect_refused(RSET_USAGE, "ranks open files of other names");
    put(2, 2);
    expect_refused(RSET_USAGE, "ranks open files of other names");
    put(0, 1);
    want.written[0] = 1;
    expect_refused(RSET_USAGE, "ranks open files of other names");
    want.written[0] = 0;
    flip_bit(file_of(2), 5);
    expect_refused(RSET_USAGE, "ranks open files of other names");
    assert_false(seen.out[0].gone);
}

/* ---- replicas ---- */

static rset_status
may(void *arg, const char *path, rset_err *err)
{
    (void)arg;
    return want.refused ? rset_fail(err, RSET_USAGE, "%s: not here", path) : RSET_OK;
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
    seen.st[r] = rset_replicas_send(&args, &seen.err[r]);
}

/* Rank 0 sends what has that path; on the others, which see the same directory here, it was lost. */
static void
send(const char *path, uint64_t generation)
{
    rset_err err = RSET_ERR_NONE;

    memset(sent, 0, sizeof sent);
    sent[0] = (rset_replica){
        .generation = generation << 40 | 1, .copies = want.copies, .why = RSET_ERR_NONE};
    snprintf(sent[0].path, sizeof sent[0].path, "%s", path);
    assert_int_equal(rset_local_run(RANKS, 60, send_body, NULL, &err), RSET_OK);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(seen.st[r], RSET_OK);
}

static void
members_that_have_it_keep_it(void **state)
{
    image before;
    char  why[1024];

    (void)state;
    begin();
    put(0, 2);
    want.copies = 99;
    before = image_take(base);
    send(file_of(0), 2);
    assert_true(sent[0].done);
    send(file_of(0), 1); /* it is another one now */
    assert_true(sent[0].done);
    send(path_of("%s/nowhere/meta.h5", base), 1);
    assert_true(sent[0].done);
    want.refused = true;
    send(file_of(0), 2);
    assert_false(sent[0].done);
    assert_non_null(strstr(sent[0].why.text, "not here"));
    assert_int_equal(sent[0].why.rank, 1);
    assert_true(image_same(&before, base, NULL, IMAGE_UNTOUCHED, why));
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

    remove_tree(base);
    free(base);
    return failed;
}
