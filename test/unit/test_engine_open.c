/* test_engine_open.c: files are protected as they are at one moment while their programs write on (PR6): what is protected is what
 * was there then, bit for bit, whatever has been written meanwhile and since; and if it comes to nothing, what was
 * protected before is. Saved copies are the judge. Cut short at any call: the operations "write on" of the sweeps. */
#include "common/bytes.h"
#include "image.h"
#include "job.h"
#include "member/journal.h"
#include "moment_world.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS = MOMENT_RANKS, SIZE = MOMENT_SIZE, LITTLE = 3 };

/* ---- what is read afterwards ---- */

static void
assert_is(const moment_world *w, int rank, const uint8_t *data)
{
    size_t   size = 0;
    uint8_t *now = read_file(job_data(&w->job, rank), &size);

    assert_int_equal(size, SIZE);
    assert_memory_equal(now, data, SIZE);
    free(now);
}

static ino_t
inode_of(const char *path)
{
    struct stat sb;

    assert_int_equal(stat(path, &sb), 0);
    return sb.st_ino;
}

/* The file has changed since: nobody takes its redundancy for valid (P3). */
static void
redundancy_is_void(const moment_world *w)
{
    for (int r = 0; r < RANKS; r++) {
        assert_false(exists(job_redundancy(&w->job, r)));
        assert_true(exists(path_of("%s.void", job_redundancy(&w->job, r))));
    }
}

/* The job dies; all ranks open their files. */
static void
recovers_to_the_moment(moment_world *w, int lost)
{
    bool gone[RANKS] = {false};

    w->job.change = NULL;
    w->job.settle = NULL;
    if (lost >= 0) {
        gone[lost] = true;
        job_lose(&w->job, gone);
    }
    if (job_recover(&w->job) != RSET_OK)
        fail_msg("%s", job_text(&w->job));
    for (int r = 0; r < RANKS; r++)
        assert_is(w, r, moment_programs[r].was);
}

static const struct kind {
    const rset_scheme *scheme;
    int                parity;
} kinds[] = {{&rset_scheme_xor, 1}, {&rset_scheme_rs, 2}, {&rset_scheme_partner, 1}};

/* Of all of it, while much is written. */
static void
the_moment_is_protected(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int lost = -1; lost < 2; lost++) {
            moment_world w;

            moment_begin(&w, kinds[k].scheme, kinds[k].parity);
            if (job_protect(&w.job) != RSET_OK)
                fail_msg("%s", job_text(&w.job));
            redundancy_is_void(&w);
            recovers_to_the_moment(&w, lost);
            moment_end(&w);
        }
}

/* Of so little that redundancy is updated: the first of three blocks in all. */
static void
an_update_is_of_the_moment(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        moment_world w;
        ino_t        inode;

        moment_begin(&w, kinds[k].scheme, kinds[k].parity);
        inode = inode_of(job_redundancy(&w.job, 0));
        w.job.update = true;
        moment_pieces = LITTLE;
        if (job_protect(&w.job) != RSET_OK)
            fail_msg("%s", job_text(&w.job));
        redundancy_is_void(&w);
        assert_int_equal(inode_of(path_of("%s.void", job_redundancy(&w.job, 0))), inode);
        recovers_to_the_moment(&w, (int)k);
        moment_end(&w);
    }
}

/* ---- the job dies in the commit ---- */

/* Where the head of an undo journal has its flags, and its second place. */
enum { HEAD = 96, HEAD_FLAGS = 24, HEAD_PLACE = 512 };

/* All publish, and die before a next journal becomes the one that counts. */
static ssize_t
finish_nothing(int fd, const void *buf, size_t n, off_t off)
{
    uint8_t was[HEAD];

    if (n == HEAD && off <= HEAD_PLACE && memcmp(buf, "RSETJRN", 7) == 0 &&
        (rset_get64((const uint8_t *)buf + HEAD_FLAGS) & RSET_UNDO_NEXT) == 0 &&
        pread(fd, was, HEAD, HEAD_PLACE - off) == HEAD &&
        (rset_get64(was + HEAD_FLAGS) & RSET_UNDO_NEXT) != 0) {
        errno = EIO;
        return -1;
    }
    return rset_sys_posix.pwrite(fd, buf, n, off);
}

static void
die(job *j, int rank, rset_local *local, rset_status st)
{
    moment_program *p = &moment_programs[rank];

    (void)j, (void)local, (void)st;
    p->enough = true;
    if (p->running)
        (void)pthread_join(p->thread, NULL);
    rset_file_close(p->file, NULL);
    rset_journal_leave(p->next);
    rset_journal_leave(p->journal);
}

/* One process alone rebuilds its file, of a node that is lost, from those of ranks that have published and not finished: of these, too,
 * that moment counts. */
static void
one_process_reads_the_moment_of_others(void **state)
{
    const bool gone[RANKS] = {[1] = true};

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        rset_sys     sys = rset_sys_posix;
        moment_world w;

        moment_begin(&w, kinds[k].scheme, kinds[k].parity);
        w.job.settle = die;
        sys.pwrite = finish_nothing;
        rset_sys_use(&sys);
        assert_int_equal(job_protect(&w.job), RSET_OK); /* it is said once more at the next head */
        rset_sys_use(NULL);
        job_lose(&w.job, gone);
        if (job_recover_serial(&w.job, 1) != RSET_OK)
            fail_msg("%s", w.job.ranks[1].err.text);
        assert_is(&w, 1, moment_programs[1].was);
        recovers_to_the_moment(&w, -1);
        moment_end(&w);
    }
}

/* ---- a disk does not say what is there ---- */

static bool
ends_in(const char *name, const char *end)
{
    const size_t n = strlen(name), m = strlen(end);

    return n > m && strcmp(name + n - m, end) == 0;
}

/* Rank 0 cannot look at a name that ends so, once: at that look from now on, 1 being the next. */
static const char *unseen;
static _Atomic int unseen_at;

static int
blind_once(int dirfd, const char *name, struct stat *out, int flags)
{
    if (strncmp(name, "ckpt_0.", 7) == 0 && ends_in(name, unseen) &&
        atomic_fetch_sub(&unseen_at, 1) == 1) {
        errno = EIO;
        return -1;
    }
    return rset_sys_posix.fstatat(dirfd, name, out, flags);
}

static int
blind_when_decided(int from_dir, const char *from, int to_dir, const char *to)
{
    if (strncmp(to, "ckpt_0.", 7) == 0 && ends_in(to, ".redo"))
        unseen_at = 1;
    return rset_sys_posix.renameat(from_dir, from, to_dir, to);
}

/* An update has been decided on, and a rank cannot see what it is to go into: that is an error, and the journal does not take its
 * place before the update is there. A node is lost before the next open. */
static void
an_update_waits_for_what_it_goes_into(void **state)
{
    const bool   gone[RANKS] = {[1] = true};
    rset_sys     sys = rset_sys_posix;
    moment_world w;

    (void)state;
    unseen = ".void";
    unseen_at = 0;
    sys.renameat = blind_when_decided;
    sys.fstatat = blind_once;
    moment_begin(&w, &rset_scheme_xor, 1);
    w.job.update = true;
    moment_pieces = LITTLE;
    rset_sys_use(&sys);
    assert_int_equal(job_protect(&w.job), RSET_IO);
    rset_sys_use(NULL);
    assert_true(unseen_at < 1);
    w.job.change = NULL;
    job_lose(&w.job, gone);
    recovers_to_the_moment(&w, -1);
    moment_end(&w);
}

/* A rank does not go along: nothing is left of it, and the files go back to what was protected before. */
static void
what_comes_to_nothing_leaves_nothing(void **state)
{
    moment_world w;
    char         why[1024];

    (void)state;
    moment_begin(&w, &rset_scheme_xor, 1);
    moment_unwilling = 2;
    assert_int_equal(job_protect(&w.job), RSET_USAGE);
    w.job.change = NULL;
    w.job.settle = NULL;
    assert_int_equal(job_recover(&w.job), RSET_OK);
    if (!image_same(&w.first, w.base, NULL, IMAGE_CONTENT, why))
        fail_msg("%s", why);
    moment_end(&w);
}

/* A program that cannot keep what was there any more: nothing is read that is not what it was. */
static void
without_the_old_bytes_nothing_is_read(void **state)
{
    moment_world  w;
    rset_err      err = RSET_ERR_NONE;
    rset_evidence ev = {0};
    rset_journal *next = NULL;
    uint8_t       byte;
    size_t        got = 0;

    (void)state;
    moment_begin(&w, &rset_scheme_xor, 1);
    {
        job_rank         *k = &w.job.ranks[0];
        rset_local        local = {.prefix = k->prefix, .nfiles = 1};
        const char *const name = k->names[0];

        local.names = local.paths = &name;
        assert_int_equal(rset_dir_open(k->dir, false, &local.dir, &err), RSET_OK);
        assert_int_equal(rset_survey_local(&local, &ev, &err), RSET_OK);
        assert_int_equal(rset_journal_begin_next(&local, &ev, &next, &err), RSET_OK);
        assert_int_equal(rset_journal_size(next), SIZE);
        assert_int_equal(rset_journal_read(next, SIZE - 1, &byte, 9, &got, &err), RSET_OK);
        assert_int_equal(got, 1);
        assert_int_equal(rset_journal_give_up(next, &err), RSET_OK);
        assert_int_equal(rset_journal_read(next, 5, &byte, 1, &got, &err), RSET_IO);
        rset_journal_drop(next);
        rset_evidence_free(&ev);
        rset_dir_close(local.dir);
    }
    moment_end(&w);
}

/* ---- its name ---- */

enum { KEPT = 10, STEM = 7 + 16 };

static _Atomic int unnoted;

/* Is the stem of this name, which is of a next journal, in the names file? */
static bool
is_noted(int dirfd, const char *name)
{
    const char *stem = strstr(name, "redset.");
    char        names[256], bytes[8192];
    ssize_t     got;
    int         fd;

    if (stem == NULL || strlen(stem) != STEM + strlen(".undo") || strcmp(stem + STEM, ".undo") != 0)
        return true;
    snprintf(names, sizeof names, "%.*sredset.names", (int)(stem - name), name);
    fd = openat(dirfd, names, O_RDONLY);
    got = read(fd, bytes, sizeof bytes);
    (void)close(fd);
    return got > 0 && memmem(bytes, (size_t)got, stem, STEM) != NULL;
}

static int
noted_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    unnoted += !is_noted(to_dir, to);
    return rset_sys_posix.renameat(from_dir, from, to_dir, to);
}

/* Before it has it (N1): else what a crash leaves of it is never found. Also where there are so many names that those of which no
 * file is there are left out. */
static void
its_name_is_noted(void **state)
{
    rset_sys     sys = rset_sys_posix;
    moment_world w;

    (void)state;
    moment_begin(&w, &rset_scheme_xor, 1);
    sys.renameat = noted_renameat;
    rset_sys_use(&sys);
    moment_pieces = LITTLE;
    moment_writes_long = false;
    w.job.keep = KEPT;
    for (int i = 0; i < KEPT; i++) {
        if (job_protect(&w.job) != RSET_OK)
            fail_msg("%s", job_text(&w.job));
        for (int r = 0; r < RANKS; r++)
            free(moment_programs[r].was);
    }
    for (int r = 0; r < RANKS; r++)
        moment_programs[r].was = NULL;
    rset_sys_use(NULL);
    assert_int_equal(unnoted, 0);
    moment_end(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_moment_is_protected),
        cmocka_unit_test(an_update_is_of_the_moment),
        cmocka_unit_test(one_process_reads_the_moment_of_others),
        cmocka_unit_test(an_update_waits_for_what_it_goes_into),
        cmocka_unit_test(what_comes_to_nothing_leaves_nothing),
        cmocka_unit_test(without_the_old_bytes_nothing_is_read),
        cmocka_unit_test(its_name_is_noted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
