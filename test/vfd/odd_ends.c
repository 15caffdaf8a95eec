/* odd_ends.c: the beginning and the end of a program: probes for files that are not there; files that are open when
 * MPI ends, and ranks that stop. */
#include "odd.h"

#include "seconds.h"

#include <signal.h>
#include <unistd.h>

/* A program that looks for a checkpoint to begin with, and there is none. */
void
case_fresh(void)
{
    double start = now();

    probe(mine("ckpt"));
    CHECK(now() - start < limit);
    checkpoint();
    application_goes_on();
}

void
case_fresh_one(void)
{
    if (rank == 0)
        probe(in_dir("ckpt_0.h5"));
    MPI_Barrier(MPI_COMM_WORLD);
    application_goes_on();
    checkpoint();
}

void
case_fresh_other(void)
{
    double start;

    checkpoint();
    if (rank == 3) {
        probe(in_dir("none.h5"));
        start = now();
        probe(in_dir("none.h5"));
        CHECK(now() - start < limit);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    checkpoint();
    application_goes_on();
}

/* ---- ends ---- */

/* Rank 3 goes to MPI_Finalize with a file open, while the others close theirs. */
static void
early(bool met)
{
    hid_t file;

    if (met)
        checkpoint();
    file = create(mine("last"), H5F_ACC_TRUNC);
    CHECK(file >= 0);
    if (rank != 3)
        CHECK(H5Fclose(file) >= 0);
}

void
case_early(void)
{
    early(true);
}

void
case_early_unmet(void)
{
    early(false);
}

hid_t left_open;

/* All close after MPI_Finalize, see main(). */
void
case_after(void)
{
    checkpoint();
    left_open = create(mine("after"), H5F_ACC_TRUNC);
    CHECK(left_open >= 0);
}

/* HDF5 closes it from its exit handler. */
void
case_never_closed(void)
{
    CHECK(create(mine("never"), H5F_ACC_TRUNC) >= 0);
}

/* Rank 1 stops for good, is continued when the others are done with two files, and closes its own. */
void
case_stopped(void)
{
    hid_t  file[2];
    double start;
    int    pid = (int)getpid(), stopped = 0;

    checkpoint();
    for (int i = 0; i < 2; i++)
        file[i] = create(in_dir("stop%d_%d.h5", i, rank), H5F_ACC_TRUNC);
    MPI_Bcast(&pid, 1, MPI_INT, 1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) { /* same host */
        usleep(300000);
        kill(pid, SIGSTOP);
        stopped = 1;
    }
    if (rank == 1)
        usleep(1000000); /* is stopped in here */
    else
        MPI_Bcast(&stopped, 1, MPI_INT, 0, MPI_COMM_SELF);
    for (int i = 0; i < 2 && rank != 1; i++) {
        start = now();
        CHECK(H5Fclose(file[i]) >= 0);
        CHECK(now() - start < limit + 1.5); /* with the second a quarter of it at most */
    }
    if (rank == 0) {
        kill(pid, SIGCONT);
    }
    for (int i = 0; i < 2 && rank == 1; i++)
        CHECK(H5Fclose(file[i]) >= 0);
    MPI_Barrier(MPI_COMM_WORLD);
    application_goes_on();
}
