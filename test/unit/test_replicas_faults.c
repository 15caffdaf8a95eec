/* test_replicas_faults.c: each allocation, and each file call that changes or reads something, fails in turn while files of one
 * rank (replicas/replicas.h) are opened or sent: where the sweeps do not come (test/sweep/scene_root.c): files of several pieces,
 * two ranks that look at one directory, two files at a time. Ranks are threads, each with storage of its own under one path. */
#include "comm/comm_local.h"
#include "every.h"
#include "image.h"
#include "job.h"
#include "mapped.h"
#include "no_memory.h"
#include "replicas/replicas.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { RANKS = 3, SIZE = 530001, FILES = 2, OLD = 1, NEW = 2 };

static const char *const names[FILES] = {"a.h5", "b.h5"};
static const size_t      sizes[FILES] = {SIZE, 3001}; /* two pieces, and one */

static char   *base;
static char    storage[2048]; /* as all ranks call what is theirs */
static image   start;
static uint8_t content[FILES][NEW + 1][SIZE];

/* ---- files ---- */

static const char *
path_on(int node, int file)
{
    return path_of("%s/node%d/%s", base, node, names[file]);
}

/* That version is there, protected by one rank alone. */
static void
put(int node, int file, int version)
{
    job       j;
    job_rank *k = &j.ranks[0];

    job_init(&j, base, 1, &rset_scheme_single, 0, 1);
    free(k->dir);
    free(k->names[0]);
    free(k->prefix);
    k->dir = strdup(path_of("%s/node%d", base, node));
    k->names[0] = strdup(names[file]);
    assert_true(asprintf(&k->prefix, "%s.", names[file]) > 0);
    mkdir(k->dir, 0777);
    write_file(path_on(node, file), content[file][version], sizes[file]);
    k->desc.generation = (uint64_t)version << 40 | 1;
    job_run(&j, job_body_protect);
    assert_int_equal(k->st, RSET_OK);
    job_free(&j);
}

static bool
has(int node, int file, int version)
{
    size_t   size = 0;
    uint8_t *data = exists(path_on(node, file)) ? read_file(path_on(node, file), &size) : NULL;
    bool     same =
        data != NULL && size == sizes[file] && memcmp(data, content[file][version], size) == 0;

    free(data);
    return same;
}

static void
begin(void)
{
    base = scratch_make();
    snprintf(storage, sizeof storage, "%s/storage", base);
    for (int f = 0; f < FILES; f++)
        for (int v = OLD; v <= NEW; v++)
            fill_random(content[f][v], SIZE, (uint64_t)(10 * f + v));
    for (int r = 0; r < RANKS; r++)
        mkdir(path_of("%s/node%d", base, r), 0777);
}

static void
end(void)
{
    image_free(&start);
    remove_tree(base);
    free(base);
}

/* The test's own allocations do not fail. */
static int
spare_the_test(void)
{
    const int may_fail = left;

    left = NEVER;
    return may_fail;
}

static void
begin_again(void)
{
    const int may_fail = spare_the_test();

    for (int r = 0; r < RANKS; r++) {
        remove_tree(path_of("%s/node%d", base, r));
        mkdir(path_of("%s/node%d", base, r), 0777);
    }
    image_put(&start, base, NULL);
    left = may_fail;
}

/* ---- what ranks come to ---- */

static struct {
    rset_status  st[RANKS];
    rset_err     err[RANKS];
    rset_replica sent[RANKS][FILES];
} seen;

static void
run_ranks(void (*body)(rset_comm *comm, void *arg))
{
    rset_err err = RSET_ERR_NONE;

    memset(&seen, 0, sizeof seen);
    for (int r = 0; r < RANKS; r++)
        seen.err[r] = (rset_err)RSET_ERR_NONE;
    if (rset_local_run(RANKS, 60, body, NULL, &err) != RSET_OK)
        seen.st[0] = rset_fail(&seen.err[0], err.status, "%s", err.text);
}

/* The first failure of any rank; or that of a wait that came to its end. */
static rset_status
worst(rset_err *err)
{
    rset_status st = RSET_OK;

    for (int r = 0; r < RANKS; r++) {
        if (strstr(seen.err[r].text, "gave up after") != NULL ||
            strstr(seen.err[r].text, "no data came") != NULL)
            fail_msg("rank %d waited: %s", r, seen.err[r].text);
        if (st == RSET_OK && seen.st[r] != RSET_OK)
            st = rset_fail(err, seen.st[r], "%s", seen.err[r].text);
    }
    return silent_or(st, err);
}

/* ---- all open it: ranks 0 and 1 look at one directory ---- */

static int
node_of(int rank)
{
    return rank == 1 ? 0 : rank;
}

static void
open_body(rset_comm *comm, void *arg)
{
    const int            r = comm->rank;
    rset_local           local = {.prefix = "a.h5.", .nfiles = 1, .names = names, .paths = names};
    rset_evidence        ev = {0};
    char                 dir[4096], host[32];
    rset_replica_args    args = {.world = comm,
                                 .local = &local,
                                 .evidence = &ev,
                                 .host = host,
                                 .content = RSET_CONTENT_ALL,
                                 .tidy = true};
    rset_replica_outcome out;

    (void)arg;
    snprintf(dir, sizeof dir, "%s/node%d", base, node_of(r));
    snprintf(host, sizeof host, "host%d", node_of(r));
    args.before = rset_dir_open(dir, false, &local.dir, &seen.err[r]);
    if (args.before == RSET_OK)
        args.before = rset_survey_local(&local, &ev, &seen.err[r]);
    seen.st[r] = rset_replica_open(&args, &out, &seen.err[r]);
    rset_evidence_free(&ev);
    rset_dir_close(local.dir);
}

static rset_status
open_again(void *arg, rset_err *err)
{
    rset_status st;
    int         may_fail;

    (void)arg;
    begin_again();
    run_ranks(open_body);
    may_fail = spare_the_test();
    st = worst(err);
    if (!(has(0, 0, OLD) || has(0, 0, NEW)) || !has(2, 0, NEW) ||
        (st == RSET_OK && !has(0, 0, NEW)))
        fail_msg("%s (%s), and the files are not what they should be", rset_status_name(st),
                 err->text);
    left = may_fail;
    return st;
}

static void
RP6_no_memory_to_open_it(void **state)
{
    (void)state;
    begin();
    put(0, 0, OLD);
    put(2, 0, NEW);
    start = image_take(base);
    each_failure_of("opening a file of one rank", true, open_again, NULL);
    end();
}

/* ---- replicas of two files ---- */

static _Thread_local int calls;      /* until one of this rank fails; 0: none does */
static int               faulty, at; /* rank and call */
static uint64_t          version = NEW;

static bool
is_its_turn(void)
{
    errno = EIO;
    return calls > 0 && --calls == 0;
}

static ssize_t
failing_pwrite(int fd, const void *buf, size_t len, off_t off)
{
    return is_its_turn() ? -1 : rset_sys_posix.pwrite(fd, buf, len, off);
}

static ssize_t
failing_pread(int fd, void *buf, size_t len, off_t off)
{
    return is_its_turn() ? -1 : rset_sys_posix.pread(fd, buf, len, off);
}

static int
failing_fsync(int fd)
{
    return is_its_turn() ? -1 : rset_sys_posix.fsync(fd);
}

static int
failing_rename(int from_dir, const char *from, int to_dir, const char *to)
{
    return is_its_turn() ? -1 : rset_sys_posix.renameat(from_dir, from, to_dir, to);
}

static int
failing_openat(int dir, const char *name, int flags, mode_t mode)
{
    return is_its_turn() ? -1 : rset_sys_posix.openat(dir, name, flags, mode);
}

static void
send_body(rset_comm *comm, void *arg)
{
    const int     r = comm->rank;
    char          dir[4096];
    rset_replicas args = {.set = comm, .host = "host", .mine = seen.sent[r], .may = mapped_may};

    (void)arg;
    snprintf(dir, sizeof dir, "%s/node%d", base, r);
    mapped_to(dir);
    args.n = r == 0 ? FILES : 0;
    for (size_t f = 0; f < args.n; f++) {
        seen.sent[r][f] = (rset_replica){
            .generation = version << 40 | 1, .copies = RANKS - 1, .why = RSET_ERR_NONE};
        snprintf(seen.sent[r][f].path, sizeof seen.sent[r][f].path, "%s/%s", storage, names[f]);
    }
    calls = r == faulty ? at : 0;
    seen.st[r] = rset_replicas_send(&args, &seen.err[r]);
    if (r == faulty)
        at = calls;
    calls = 0;
    mapped_to(NULL);
}

/* What was said to be copied is there, and whatever else is one or the other. Returns how many were said to be. */
static int
check_sent(void)
{
    int done = 0;

    for (int f = 0; f < FILES; f++) {
        done += seen.sent[0][f].done;
        for (int r = 1; r < RANKS; r++)
            if (!has(r, f, NEW) && (seen.sent[0][f].done != 0 || !has(r, f, OLD)))
                fail_msg("%s on rank %d: not what it should be, and the writer was told %d %s",
                         names[f], r, seen.sent[0][f].done, seen.sent[0][f].why.text);
        if (seen.sent[0][f].done == 0 && seen.st[0] == RSET_OK &&
            seen.sent[0][f].why.text[0] == '\0')
            fail_msg("%s: not copied, and not said why (%s; %s; %s)", names[f], seen.err[0].text,
                     seen.err[1].text, seen.err[2].text);
    }
    return done;
}

static void
put_to_send(void)
{
    begin();
    for (int f = 0; f < FILES; f++)
        for (int r = 0; r < RANKS; r++)
            put(r, f, r == 0 ? NEW : OLD);
    start = image_take(base);
    faulty = -1;
}

static rset_status
send_again(void *arg, rset_err *err)
{
    rset_status st;
    int         done, may_fail;

    (void)arg;
    begin_again();
    mapped_use(&rset_sys_posix, storage);
    run_ranks(send_body);
    rset_sys_use(NULL);
    may_fail = spare_the_test();
    st = worst(err);
    done = check_sent();
    if (st == RSET_OK && done < FILES) {
        const rset_replica *r = &seen.sent[0][seen.sent[0][0].done != 0 ? 1 : 0];

        st = rset_fail(err, r->why.status, "%s", r->why.text);
    }
    left = may_fail;
    return silent_or(st, err);
}

static void
RP6_no_memory_to_send_them(void **state)
{
    (void)state;
    put_to_send();
    each_failure_of("sending replicas", true, send_again, NULL);
    end();
}

/* One call fails: at most one file is concerned. */
static void
RP7_one_that_fails_of_two(void **state)
{
    rset_sys sys = rset_sys_posix;
    rset_err err = RSET_ERR_NONE;
    int      failed = 0;

    (void)state;
    sys.pwrite = failing_pwrite;
    sys.pread = failing_pread;
    sys.fsync = failing_fsync;
    sys.renameat = failing_rename;
    sys.openat = failing_openat;
    put_to_send();
    for (faulty = 0; faulty < 2; faulty++)
        for (int n = 1 + every_skip(), over = 0; over == 0; n += every_step()) {
            int done;

            begin_again();
            mapped_use(&sys, storage);
            at = n;
            run_ranks(send_body);
            rset_sys_use(NULL);
            over = at > 0;
            assert_int_equal(worst(&err), RSET_OK);
            done = check_sent();
            if (done < FILES - 1 || (over != 0 && done < FILES))
                fail_msg("rank %d call %d: %d files copied: %s; %s", faulty, n, done,
                         seen.sent[0][0].why.text, seen.sent[0][1].why.text);
            failed += done < FILES;
            assert_true(n < 1000);
        }
    assert_true(failed > 20 / every_step());
    end();
}

/* Where a file was to come and none came, no directory was left for it. */
static void
RP7_no_directory_for_nothing(void **state)
{
    (void)state;
    put_to_send();
    remove_tree(path_of("%s/node1", base));
    mapped_use(&rset_sys_posix, storage);
    version = NEW + 1; /* which the writer has not any more */
    run_ranks(send_body);
    version = NEW;
    assert_int_equal(seen.st[1], RSET_OK);
    assert_false(exists(path_of("%s/node1", base)));
    run_ranks(send_body);
    rset_sys_use(NULL);
    assert_int_equal(check_sent(), FILES);
    end();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(RP6_no_memory_to_open_it),
        cmocka_unit_test(RP6_no_memory_to_send_them),
        cmocka_unit_test(RP7_one_that_fails_of_two),
        cmocka_unit_test(RP7_no_directory_for_nothing),
    };

    alloc_fails = fails;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
