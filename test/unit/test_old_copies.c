/* test_old_copies.c: ranks create their files anew on other nodes, and come home (encode/move/old_copies.h). What lay at home is put aside
 * when all have published, at whatever call the job dies there; it stays where the commit did not come to be. */
#include "comm/comm_local.h"
#include "every.h"
#include "image.h"
#include "job.h"
#include "move/old_copies.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 4 };

/* Files that were protected twice at home, and then created anew where the ranks run now. */
typedef struct away {
    char            *base;
    job              job;
    image            home, abroad; /* after the last commit there */
    rset_old_copies *copies[RANKS];
    uint64_t         newest[RANKS];
} away;

/* ---- a job that dies: no call changes anything from then on ---- */

static int calls, dies_at; /* 0: it lives */

static bool
is_dead(void)
{
    errno = EIO;
    return ++calls >= dies_at && dies_at > 0;
}

static int
dead_openat(int dirfd, const char *name, int flags, mode_t mode)
{
    return (flags & O_CREAT) != 0 && is_dead() ? -1
                                               : rset_sys_posix.openat(dirfd, name, flags, mode);
}

static ssize_t
dead_pwrite(int fd, const void *buf, size_t len, off_t off)
{
    return is_dead() ? -1 : rset_sys_posix.pwrite(fd, buf, len, off);
}

static int
dead_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    return is_dead() ? -1 : rset_sys_posix.renameat(from_dir, from, to_dir, to);
}

static int
dead_rename_new(int from_dir, const char *from, int to_dir, const char *to)
{
    return is_dead() ? -1 : rset_sys_posix.rename_new(from_dir, from, to_dir, to);
}

static int
dead_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    return is_dead() ? -1 : rset_sys_posix.linkat(from_dir, from, to_dir, to, flags);
}

static int
dead_unlinkat(int dirfd, const char *name, int flags)
{
    return is_dead() ? -1 : rset_sys_posix.unlinkat(dirfd, name, flags);
}

/* ---- away, and home ---- */

/* Ranks 0 and 1 run where the other one ran before, and ranks 2 and 3. */
static void
exchange(job *j)
{
    for (int r = 0; r < RANKS; r += 2) {
        char *dir = j->ranks[r].dir;

        j->ranks[r].dir = j->ranks[r + 1].dir;
        j->ranks[r + 1].dir = dir;
    }
}

static void
protect_at_home(away *a, const rset_scheme *scheme, int parity)
{
    static const size_t sizes[] = {3000, 5000};

    *a = (away){.base = scratch_make()};
    job_init(&a->job, a->base, RANKS, scheme, parity, RANKS);
    for (int version = 1; version <= 2; version++) {
        job_write_data(&a->job, sizes, 2, version);
        assert_int_equal(job_protect(&a->job), RSET_OK);
    }
    a->home = image_take(a->base);
    exchange(&a->job);
}

static void
ask(rset_comm *world, void *arg)
{
    away       *a = arg;
    const int   r = world->rank;
    job_rank   *k = &a->job.ranks[r];
    rset_local  local = {.prefix = k->prefix,
                         .nfiles = 1,
                         .names = (const char *const *)k->names,
                         .paths = (const char *const *)k->names};
    rset_status st = rset_dir_open(k->dir, true, &local.dir, &k->err);

    rset_evidence_free(&k->evidence);
    if (st == RSET_OK)
        st = rset_survey_local(&local, &k->evidence, &k->err);
    if (st == RSET_OK)
        st = rset_old_copies_find(
            &(rset_look_at){.path = k->dir, .like = k->names[0], .host = "host"}, &a->copies[r],
            &k->err);
    k->st = rset_old_copies_ask(a->copies[r],
                                &(rset_old_copies_args){.world = world,
                                                        .local = &local,
                                                        .evidence = &k->evidence,
                                                        .host = "host",
                                                        .anew = true},
                                st, &a->newest[r], &k->err);
    rset_dir_close(local.dir);
}

/* All have created their files anew, and ask; nothing is published yet. */
static void
create_anew(away *a, const rset_scheme *scheme, int parity)
{
    static const size_t sizes[] = {4000, 2000};
    uint64_t            last;
    rset_err            err = RSET_ERR_NONE;

    protect_at_home(a, scheme, parity);
    last = a->job.ranks[0].desc.generation;
    job_write_data(&a->job, sizes, 2, 3);
    assert_int_equal(rset_local_run(RANKS, a->job.timeout, ask, a, &err), RSET_OK);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(a->job.ranks[r].st, RSET_OK);
        assert_true(a->newest[r] == last);
    }
}

static void
publish(away *a)
{
    for (int r = 0; r < RANKS; r++)
        a->job.ranks[r].desc.generation = rset_generation_next(a->newest[r], 7);
    job_run(&a->job, job_body_protect);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(a->job.ranks[r].st, RSET_OK);
    a->abroad = image_take(a->base);
}

static void
settle(away *a, rset_old_copies_end end, int at)
{
    rset_sys sys = rset_sys_posix;

    sys.openat = dead_openat;
    sys.pwrite = dead_pwrite;
    sys.renameat = dead_renameat;
    sys.rename_new = dead_rename_new;
    sys.linkat = dead_linkat;
    sys.unlinkat = dead_unlinkat;
    calls = 0;
    dies_at = at;
    rset_sys_use(&sys);
    for (int r = 0; r < RANKS; r++)
        rset_old_copies_settle(a->copies[r], end);
    rset_sys_use(NULL);
}

static void
end(away *a)
{
    for (int r = 0; r < RANKS; r++)
        rset_old_copies_free(a->copies[r]);
    job_free(&a->job);
    image_free(&a->home);
    image_free(&a->abroad);
    remove_tree(a->base);
    free(a->base);
}

/* How many files at home have lost their names? */
static int
put_aside(const away *a)
{
    int n = 0;

    for (int r = 0; r < RANKS; r++)
        n += !exists(path_of("%s/node%d/ckpt_%d.h5", a->base, r, r));
    return n;
}

/* How many ranks have what they wrote at home, or away from it (`wrote`), where they run now? */
static int
have(const away *a, const image *wrote)
{
    const bool abroad = wrote == &a->abroad;
    int        n = 0;

    for (int r = 0; r < RANKS; r++) {
        char why[1024];

        n += image_same_file(wrote, path_of("node%d/ckpt_%d.h5", abroad ? r ^ 1 : r, r),
                             job_data(&a->job, r), why);
    }
    return n;
}

static rset_status
open_elsewhere(away *a)
{
    exchange(&a->job);
    return job_recover(&a->job);
}

static void
come_home(away *a)
{
    if (open_elsewhere(a) != RSET_OK)
        fail_msg("refused: %s", job_text(&a->job));
}

/* ---- the tests ---- */

static void
what_was_replaced_is_put_aside(void **state)
{
    away a;

    (void)state;
    create_anew(&a, &rset_scheme_xor, 1);
    publish(&a);
    settle(&a, RSET_OLD_COPIES_REPLACED, 0);
    assert_int_equal(put_aside(&a), RANKS);
    for (int r = 0; r < RANKS; r++) {
        char *lost = rset_name_of(RSET_NAME_LOST, a.job.ranks[r].prefix, a.newest[r]);
        char  why[1024];

        assert_true(image_same_file(&a.home, path_of("node%d/ckpt_%d.h5", r, r),
                                    path_of("%s/node%d/%s", a.base, r, lost), why));
        free(lost);
    }
    come_home(&a);
    assert_int_equal(have(&a, &a.abroad), RANKS);
    end(&a);
}

/* Until all have voted, the files at home are what was protected last. */
static void
without_the_commit_nothing_has_changed(void **state)
{
    away a;
    char why[1024];

    (void)state;
    for (int i = 0; i < 2; i++) { /* the second names go, or the job has died before that */
        create_anew(&a, &rset_scheme_xor, 1);
        settle(&a, RSET_OLD_COPIES_STAY, i);
        assert_true(i > 0 || image_kept(&a.home, a.base, ".h5", IMAGE_BACK, why));
        come_home(&a);
        assert_int_equal(have(&a, &a.home), RANKS);
        end(&a);
    }
}

static void
in_doubt_both_names_stay(void **state)
{
    away a;

    (void)state;
    create_anew(&a, &rset_scheme_xor, 1);
    settle(&a, RSET_OLD_COPIES_DOUBT, 0);
    assert_int_equal(calls, 0);
    assert_int_equal(put_aside(&a), 0);
    for (int r = 0; r < RANKS; r++) {
        char *lost = rset_name_of(RSET_NAME_LOST, a.job.ranks[r].prefix, a.newest[r]);

        assert_true(exists(path_of("%s/node%d/%s", a.base, r, lost)));
        free(lost);
    }
    end(&a);
}

/* Whatever call the job dies at once all have published: whoever comes next has what was published, at home, and where it was written. */
static void
a_kill_while_they_are_put_aside(const rset_scheme *scheme, int parity)
{
    bool hit = true;

    for (int at = 1 + every_skip(); hit; at += every_step()) {
        away a;

        create_anew(&a, scheme, parity);
        publish(&a);
        settle(&a, RSET_OLD_COPIES_REPLACED, at);
        hit = calls >= at;
        for (int i = 0; i < 2; i++) {
            if (open_elsewhere(&a) != RSET_OK)
                fail_msg("call %d, %s: %s", at, i == 0 ? "at home" : "where they were written",
                         job_text(&a.job));
            assert_int_equal(have(&a, &a.abroad), RANKS);
        }
        end(&a);
    }
}

static void
kills_xor(void **state)
{
    (void)state;
    a_kill_while_they_are_put_aside(&rset_scheme_xor, 1);
}

static void
kills_single(void **state)
{
    (void)state;
    a_kill_while_they_are_put_aside(&rset_scheme_single, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_replaced_is_put_aside),
                                       cmocka_unit_test(without_the_commit_nothing_has_changed),
                                       cmocka_unit_test(in_doubt_both_names_stay),
                                       cmocka_unit_test(kills_xor), cmocka_unit_test(kills_single)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
