/* test_comm_mpi_first.c: ranks come for the first time, and some do not: what the others learn of each other (comm_mpi_first.h). Exit
 * status 0 or 1.
 *
 *   test_comm_mpi_first goneon    rank 0 comes when the others have waited, and gone on
 *   test_comm_mpi_first failed    one rank says that it will not come
 *   test_comm_mpi_first confer    those that open files of one kind say whether they need who has not come (P4)
 *   test_comm_mpi_first needs     one of them knows that from the first
 */
#include "comm/comm.h"
#include "comm/mpi/comm_mpi.h"
#include "modes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double limit = 2;

/* All come together at last. */
static void
meet_and_end(void)
{
    rset_comm *comm = NULL;
    rset_err   err = RSET_ERR_NONE;

    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(rset_mpi_private(NULL, 20, NULL, &comm, &err) == RSET_OK);
    CHECK(comm != NULL && rset_agree(comm, RSET_OK, "", NULL) == RSET_OK);
    MPI_Finalize();
}

/* Rank 0 comes when all others have waited for the same, and gone on: it is told so at once. And a rank that rank 0 waits for no longer
 * does not wait for rank 0. */
static void
gone_on(void)
{
    const double long_wait = 60;
    rset_comm   *comm = NULL;
    rset_err     err = RSET_ERR_NONE;
    double       start;

    if (my_rank > 0) {
        CHECK(rset_mpi_private(NULL, limit, &(rset_purpose){.what = 7}, &comm, &err) == RSET_PEER);
        CHECK(strstr(err.text, "rank 0 has not answered") != NULL);
        CHECK(rset_mpi_apart(NULL) == RSET_APART_SILENT);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    start = rset_clock();
    if (my_rank == 0) {
        CHECK(rset_mpi_private(NULL, long_wait, &(rset_purpose){.what = 7}, &comm, &err) ==
              RSET_PEER);
        CHECK(strstr(err.text, "this rank is late: rank 1 was here") != NULL);
        CHECK(rset_clock() - start < long_wait / 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    start = rset_clock();
    err = RSET_ERR_NONE;
    if (my_rank < my_size - 1)
        CHECK(rset_mpi_private(NULL, my_rank == 0 ? limit : long_wait, &(rset_purpose){.what = 8},
                               &comm, &err) == RSET_PEER);
    CHECK(rset_clock() - start < long_wait / 2);
    meet_and_end();
}

/* The last rank has failed in what the others come for: they hear it at once, and come together the next time. */
static void
failed_first(void)
{
    rset_comm     *comm = NULL;
    rset_err       err = RSET_ERR_NONE;
    double         start = rset_clock();
    rset_mpi_known known;

    CHECK(rset_mpi_know(NULL, &known, &err) == RSET_OK);
    if (my_rank == my_size - 1)
        rset_mpi_will_not_come(NULL, 7);
    else {
        CHECK(rset_mpi_private(NULL, 60, &(rset_purpose){.what = 7}, &comm, &err) == RSET_PEER);
        CHECK(strstr(err.text, "could not create its file") != NULL &&
              rset_mpi_apart(NULL) == RSET_APART_FAILED);
        CHECK(rset_clock() - start < 30);
    }
    meet_and_end();
}

/* Opens a file of the kind `kind`, for which the last rank does not come. */
static rset_mpi_others
open_without_last(uint64_t kind, rset_need need)
{
    rset_comm *comm = NULL;
    rset_err   err = RSET_ERR_NONE;

    CHECK(rset_mpi_private(NULL, limit, &(rset_purpose){.opens = kind, .need = need}, &comm,
                           &err) == RSET_PEER);
    return rset_mpi_others_of(NULL);
}

/* `needy` finds out that it needs the others, and `slow` takes longer than they to find out what it needs; -1: nobody. Those that opened
 * files of that kind all hear of it; rank 1 had opened another one. Rank 0 comes later than the others, which wait no longer than for themselves. */
static void
confer_once(int needy, int slow)
{
    const bool      other = my_rank == 1, last = my_rank == my_size - 1;
    const int       conferring = my_size - 2;
    rset_mpi_others others;
    rset_err        err = RSET_ERR_NONE;

    MPI_Barrier(MPI_COMM_WORLD);
    if (last) {
        MPI_Barrier(MPI_COMM_WORLD);
        return;
    }
    if (my_rank == 0)
        usleep((useconds_t)(limit / 2 * 1e6));
    others = open_without_last(other ? 8 : 9, RSET_NEED_UNKNOWN);
    CHECK(others.needy == -1);
    CHECK(others.came == (other ? 0 : conferring));
    if (!other) {
        if (my_rank == slow)
            usleep((useconds_t)(limit / 2 * 1e6));
        CHECK(rset_mpi_confer(NULL, 30, my_rank == needy, &err) == RSET_PEER);
        CHECK(rset_mpi_others_of(NULL).needy == needy && rset_mpi_others_of(NULL).came == 0);
        CHECK((strstr(err.text, "cannot have its file by itself") != NULL) == (needy >= 0));
        CHECK(strstr(err.text, "waiting for rank") != NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void
confer(void)
{
    for (int needy = -1; needy < my_size - 1; needy++)
        if (needy != 1)
            confer_once(needy, needy);
    confer_once(2, 0);
    meet_and_end();
}

static void
needs(void)
{
    for (int needy = 0; needy < my_size - 1; needy++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (my_rank < my_size - 1) {
            const rset_mpi_others others =
                open_without_last(9, my_rank == needy ? RSET_NEED_OTHERS : RSET_NEED_UNKNOWN);

            CHECK(others.came == 0 && others.needy == needy);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    meet_and_end();
}

int
main(int argc, char **argv)
{
    static const mode modes[] = {
        {"goneon", gone_on}, {"failed", failed_first}, {"confer", confer}, {"needs", needs}};

    return run_mode(argc, argv, modes, sizeof modes / sizeof modes[0]);
}
