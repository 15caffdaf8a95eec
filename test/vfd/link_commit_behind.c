/* link_commit_behind.c: the cases of link_commit.c in which commits are left to the background (async=yes) while the file is
 * written on. The judge is a copy that is taken before each commit. */
#include "link_commit.h"

#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void
write_and_copy(hid_t file, int row, int number)
{
    write_row(file, row, number);
    CHECK(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0);
    take_copy(file, number);
}

static int
wait_quietly(void)
{
    int st;

    H5E_BEGIN_TRY
    {
        st = H5FDredset_wait(data_path());
    }
    H5E_END_TRY
    return st;
}

/* Rank 0 commits and writes on; only then it tells the others, which commit: nobody has waited for them. */
static void
nobody_waits(hid_t file)
{
    int word = 0;

    write_and_copy(file, 3, 2);
    if (rank != 0)
        CHECK(MPI_Recv(&word, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == 0);
    CHECK(H5FDredset_commit(file) >= 0);
    if (rank == 0)
        CHECK(strstr(status().why, "what was committed is being protected") != NULL);
    if (rank < 2)
        write_row(file, 4, -1);
    for (int r = 1; rank == 0 && r < ranks; r++)
        CHECK(MPI_Send(&word, 1, MPI_INT, r, 9, MPI_COMM_WORLD) == 0);
    CHECK(H5FDredset_wait(data_path()) >= 0);
    CHECK(is(rank >= 2, 2, ""));
}

/* A rank does not come in time: an error for all who ask, and the next commit is one again. */
static void
one_is_late(hid_t file)
{
    write_row(file, 5, 3);
    if (rank != 3)
        CHECK(H5FDredset_commit(file) >= 0 && wait_quietly() < 0);
    together();
    if (rank == 3)
        CHECK(H5FDredset_commit(file) >= 0 && wait_quietly() < 0);
    together();
    write_and_copy(file, 6, 3);
    CHECK(H5FDredset_label(file, "the third") >= 0 && H5FDredset_commit(file) >= 0);
    write_row(file, 7, -1);
    CHECK(H5FDredset_wait(data_path()) >= 0 && is(false, 3, "the third"));
}

/* Does a flush that has to begin with news of the commit before fail? */
static bool
flush_fails(hid_t file, int row)
{
    herr_t ret;

    write_row(file, row, row);
    H5E_BEGIN_TRY
    {
        ret = H5Fflush(file, H5F_SCOPE_LOCAL);
    }
    H5E_END_TRY
    return ret < 0;
}

/* commit=flush: rank 3 stands still for two commits. Each flush tells what became of the commit that the one before it began, the
 * same on all ranks, and begins another one, until the files are protected again. */
void
case_behind_flush(void)
{
    hid_t fapl = driver(false), file = create_series(fapl);
    int   fails = 1, any = 1, least, most;

    CHECK(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0 && is(true, 1, ""));
    if (rank == 3)
        together();
    CHECK(!flush_fails(file, 1)); /* nobody knows yet */
    CHECK(flush_fails(file, 2));
    CHECK(flush_fails(file, 3));
    if (rank != 3)
        together();
    for (int row = 4; any && row < ROWS; row++) {
        fails = flush_fails(file, row);
        MPI_Allreduce(&fails, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        MPI_Allreduce(&fails, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        CHECK(least == most);
        any = most;
    }
    CHECK(!any && !flush_fails(file, 0) && H5FDredset_wait(data_path()) >= 0);
    CHECK(status().is_protected && H5Fclose(file) >= 0 && status().is_protected);
    H5Pclose(fapl);
}

/* With the last commit under way the file is closed: that is a commit, too, of what was written on. */
static void
close_over_a_commit(hid_t file)
{
    write_row(file, 8, 4);
    CHECK(H5FDredset_commit(file) >= 0);
    write_and_copy(file, 9, 5);
    CHECK(H5Fclose(file) >= 0 && H5FDredset_wait(data_path()) >= 0);
    CHECK(is(true, 5, ""));
}

/* What protects the file of rank 2 does not fit on its disk, when the others are ready: an error for all who ask, and the file goes on. */
void
case_behind_full(void)
{
    const struct rlimit little = {64 << 10, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
    hid_t               fapl = driver(false), file = create_series(fapl);

    CHECK(H5FDredset_commit(file) >= 0 && is(true, 1, ""));
    for (int row = 0; row < ROWS; row++)
        write_row(file, row, 2);
    CHECK(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0);
    if (rank == 2)
        CHECK(setrlimit(RLIMIT_FSIZE, &little) == 0);
    CHECK(H5FDredset_label(file, "again") >= 0);
    CHECK(H5FDredset_commit(file) >= 0 && wait_quietly() < 0 && is(false, 1, ""));
    if (rank == 2)
        CHECK(setrlimit(RLIMIT_FSIZE, &all) == 0);
    together();
    write_and_copy(file, 3, 2);
    CHECK(H5FDredset_commit(file) >= 0 && H5FDredset_wait(data_path()) >= 0);
    CHECK(is(true, 2, "again"));
    CHECK(H5Fclose(file) >= 0 && H5Pclose(fapl) >= 0);
}

/* Commit 2 of a file that this job has not created: nothing was encoded before in this thread. */
void
case_behind_first(void)
{
    hid_t fapl = driver(false), file = H5Fopen(data_path(), H5F_ACC_RDWR, fapl);

    CHECK(file >= 0);
    write_and_copy(file, 3, 2);
    CHECK(H5FDredset_commit(file) >= 0 && H5FDredset_wait(data_path()) >= 0 && is(true, 2, ""));
    CHECK(H5Fclose(file) >= 0 && H5Pclose(fapl) >= 0);
}

/* A child closes what its parent has open when it exits: the commit under way, and all that belongs to it, is the parent's. */
static void
exit_in_a_child(void)
{
    const pid_t child = fork();
    int         how = -1;

    if (child == 0) {
        alarm(20);
        exit(0);
    }
    CHECK(child > 0 && waitpid(child, &how, 0) == child && how == 0);
}

void
case_child(void)
{
    hid_t fapl = driver(false), file = create_series(fapl);

    CHECK(H5FDredset_commit(file) >= 0 && is(true, 1, ""));
    write_and_copy(file, 3, 2);
    if (rank != 0)
        together();
    CHECK(H5FDredset_commit(file) >= 0);
    if (rank == 0) { /* nothing can be complete yet */
        exit_in_a_child();
        together();
    }
    CHECK(H5FDredset_wait(data_path()) >= 0 && is(true, 2, ""));
    CHECK(H5Fclose(file) >= 0 && H5Pclose(fapl) >= 0);
}

void
case_behind(void)
{
    hid_t fapl = driver(false), file = create_series(fapl);

    CHECK(H5FDredset_commit(file) >= 0 && is(true, 1, "")); /* it has its name then */
    nobody_waits(file);
    one_is_late(file);
    close_over_a_commit(file);
    H5Pclose(fapl);
}
