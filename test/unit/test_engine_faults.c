/* test_engine_faults.c: a system call fails, or lies, on one rank during an encode or a rebuild
 * (P2, P4, P11, B5): all ranks get the same error, nothing is half published, and a retry works. */
#include "every.h"
#include "failing.h"
#include "twice_change.h"

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

static const unsigned calls[] = {FAILING_PWRITE, FAILING_FSYNC, FAILING_RENAME,
                                 FAILING_CREATE, FAILING_PREAD, FAILING_FSTAT};
enum { CALLS = sizeof calls / sizeof *calls };

/* An encode of new data fails at its Nth call of a twice_kind: what can be opened afterwards is the new data,
 * untouched, and the next encode protects it. */
static void
fail_encode_at(twice_kind k, unsigned which, int rank, int at, bool *hit)
{
    twice       w;
    image       data;
    rset_status st;

    twice_open(&w, k);
    snprintf(w.what, sizeof w.what, "%s, call %u no. %d of rank %d", k.scheme->name, which, at,
             rank);
    update_all(&w, CHANGES, END_CLOSED);
    data = image_take(w.base);
    st = failing_run(&w.job, job_protect, which, rank, at, hit);
    if (!*hit)
        assert_int_equal(st, RSET_OK);
    else if ((which == FAILING_PWRITE || which == FAILING_FSYNC) && st == RSET_OK)
        fail_msg("%s: what could not be written or made durable passes for done", w.what);
    if (job_recover(&w.job) != RSET_OK)
        fail_msg("%s: %s", w.what, job_text(&w.job));
    if (st == RSET_OK && !w.job.ranks[0].out.protected_)
        fail_msg("%s: an encode that was reported as done is not there", w.what);
    for (int r = 0; r < TWICE_RANKS; r++)
        twice_assert_image(&w, &data, path_of("node%d/ckpt_%d.h5", r, r), IMAGE_CONTENT);
    assert_int_equal(job_protect(&w.job), RSET_OK);
    image_free(&w.new);
    w.new = image_take(w.base);
    assert_int_equal(image_count(&w.new), 3 * TWICE_RANKS);
    twice_lose_node(&w, (rank + 1) % TWICE_RANKS);
    twice_assert_recovers_to(&w, &w.new);
    image_free(&data);
    twice_close(&w);
}

static void
every_failing_call_of_an_encode(void **state)
{
    (void)state;
    for (int k = 0; k < TWICE_KINDS; k++)
        for (int c = 0; c < CALLS; c++)
            for (int rank = 0; rank < TWICE_RANKS; rank += 2) {
                bool more = true;

                for (int at = 1 + every_skip(); more; at += every_step())
                    fail_encode_at(twice_kinds[k], calls[c], rank, at, &more);
            }
}

/* A rebuild fails at its Nth call: never a half that later passes for whole (B5). */
static void
every_failing_call_of_a_rebuild(void **state)
{
    (void)state;
    for (int k = 0; k < TWICE_KINDS; k++)
        for (int c = 0; c < CALLS; c++)
            for (int rank = 0; rank < TWICE_RANKS;
                 rank++) { /* rank 1 is rebuilt, the others are sources */
                twice w;
                bool  more = true;

                twice_open(&w, twice_kinds[k]);
                for (int at = 1 + every_skip(); more; at += every_step()) {
                    rset_status st;

                    snprintf(w.what, sizeof w.what, "%s, call %u no. %d of rank %d",
                             twice_kinds[k].scheme->name, calls[c], at, rank);
                    twice_lose_node(&w, 1);
                    st = failing_run(&w.job, job_recover, calls[c], rank, at, &more);
                    if (st == RSET_OK) /* one bad piece more may be covered too */
                        for (int r = 0; r < TWICE_RANKS; r++)
                            twice_assert_image(&w, &w.new, path_of("node%d/ckpt_%d.h5", r, r),
                                               IMAGE_CONTENT);
                    else
                        assert_true(more);
                    twice_assert_recovers_to(&w, &w.new);
                }
                twice_close(&w);
            }
}

/* P2: a disk that returns something else at one read: never wrong data under the file's name. What is
 * lost is rebuilt from what is verified while it is read, and all is looked at again when that fails; what is
 * damaged is looked at first, and a read that differs then is an error. */
static void
lying_reads_never_give_wrong_data(void **state)
{
    (void)state;
    for (int k = 0; k < 2 * TWICE_KINDS; k++)
        for (int rank = 0; rank < TWICE_RANKS; rank++) {
            twice w;
            int   errors = 0, before;
            bool  more = true, lost = k < TWICE_KINDS;

            twice_open(&w, twice_kinds[k % TWICE_KINDS]);
            for (int at = 1 + every_skip(); more; at += every_step()) {
                if (lost)
                    twice_lose_node(&w, 1);
                else
                    assert_int_equal(truncate(job_data(&w.job, 1), 7), 0);
                before = errors;
                errors += failing_run(&w.job, job_recover, FAILING_LIE, rank, at, &more) != RSET_OK;
                snprintf(w.what, sizeof w.what, "%s, read no. %d of rank %d",
                         twice_kinds[k % TWICE_KINDS].scheme->name, at, rank);
                for (int r = 0; r < TWICE_RANKS; r++)
                    if (exists(job_data(&w.job, r)) && (lost || r != 1 || errors == before))
                        twice_assert_image(&w, &w.new, path_of("node%d/ckpt_%d.h5", r, r),
                                           IMAGE_CONTENT);
                for (int r = 0; r < TWICE_RANKS; r++)
                    twice_node_as(&w, &w.new, r);
            }
            if (rank == 2 && !lost &&
                every_step() == 1) /* its pieces are needed for rank 1's data */
                assert_true(errors > 0);
            twice_close(&w);
        }
}

/* The same where redundancy is computed: what it is computed from was verified, and is read again. A
 * checksum over wrong bytes would make them right for ever. What of rank 1 is lost: 0 its redundancy, 1
 * its node, 2 a block of its redundancy, so that others are copied. */
static void
lose_redundancy_of_one(twice *w, int what)
{
    if (what == 1) {
        twice_lose_node(w, 1);
    } else if (what == 0) {
        unlink(job_redundancy(&w->job, 1));
        unlink(job_descriptor(&w->job, 1));
    } else {
        struct stat sb;

        assert_int_equal(stat(job_redundancy(&w->job, 1), &sb), 0);
        flip_bit(job_redundancy(&w->job, 1), (size_t)sb.st_size - 1);
    }
}

static void
lying_reads_never_give_wrong_redundancy(void **state)
{
    (void)state;
    for (int k = 0; k < TWICE_KINDS; k++)
        for (int what = 0; what < 3; what++)
            for (int rank = 0; rank < TWICE_RANKS; rank++) {
                twice w;
                bool  more = true;

                twice_open(&w, twice_kinds[k]);
                for (int at = 1 + every_skip(); more; at += every_step()) {
                    rset_status st;

                    lose_redundancy_of_one(&w, what);
                    st = failing_run(&w.job, job_recover, FAILING_LIE, rank, at, &more);
                    snprintf(w.what, sizeof w.what, "%s, loss %d, read no. %d of rank %d: %s",
                             twice_kinds[k].scheme->name, what, at, rank, rset_status_name(st));
                    if (st == RSET_OK && w.job.ranks[0].out.protected_)
                        twice_assert_image(&w, &w.new, NULL, IMAGE_CONTENT);
                    twice_assert_recovers_to(&w, &w.new);
                    for (int r = 0; r < TWICE_RANKS; r++)
                        twice_node_as(&w, &w.new, r);
                }
                twice_close(&w);
            }
}

/* ---- a file that does not hold still ---- */

static ino_t growing;
static int   looks;

/* The file is a byte longer each time it is looked at. */
static int
growing_fstat(int fd, struct stat *st)
{
    int result = rset_sys_posix.fstat(fd, st);

    if (result == 0 && st->st_ino == growing)
        st->st_size += looks++;
    return result;
}

static void
a_file_that_grows_is_not_protected(twice *w)
{
    rset_sys    sys = rset_sys_posix;
    struct stat sb;

    assert_int_equal(stat(job_data(&w->job, 1), &sb), 0);
    growing = sb.st_ino;
    looks = 0;
    sys.fstat = growing_fstat;
    rset_sys_use(&sys);
    assert_int_equal(job_protect(&w->job), RSET_BUSY);
    rset_sys_use(NULL);
    assert_non_null(strstr(w->job.ranks[0].err.text, "changed while it was being protected"));
    twice_assert_recovers_to(w, &w->new);
}

/* ---- one process alone ---- */

static int
no_stat_of_rank_2(int dirfd, const char *name, struct stat *sb, int flags)
{
    if (strcmp(name, "ckpt_2.h5") == 0) {
        errno = EACCES;
        return -1;
    }
    return rset_sys_posix.fstatat(dirfd, name, sb, flags);
}

/* Under MPI each rank's own disk has to say what is there; of others a process alone takes what it can get. */
static void
serial_without_a_look_at_another(twice *w)
{
    rset_sys sys = rset_sys_posix;

    sys.fstatat = no_stat_of_rank_2;
    twice_lose_node(w, 0);
    rset_sys_use(&sys);
    assert_int_equal(job_recover(&w->job), RSET_IO);
    assert_int_equal(job_recover_serial(&w->job, 0), RSET_OK);
    rset_sys_use(NULL);
    twice_assert_recovers_to(w, &w->new);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TWICE_TEST(serial_without_a_look_at_another, KIND_XOR),
        TWICE_TEST(a_file_that_grows_is_not_protected, KIND_XOR),
        cmocka_unit_test(every_failing_call_of_an_encode),
        cmocka_unit_test(every_failing_call_of_a_rebuild),
        cmocka_unit_test(lying_reads_never_give_wrong_data),
        cmocka_unit_test(lying_reads_never_give_wrong_redundancy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
