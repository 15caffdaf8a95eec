/* link_again.c - what went wrong with one communicator is no matter for the next (P5): the program gives
 * redset another one, and the same files are protected. And where a rank has only stood still, its communicator is renewed.
 * Any MPI; run by test_hang.sh on 4 ranks.
 *
 *   link_again again DIR TIMEOUT CASE
 *     late   rank 2 comes to the first close when the others have given up
 *     aside  rank 1 is stopped in the middle of encoding, so long that the others give up, and goes on
 *     same   the same, of ranks 1 and 0 in turn, and the next files are protected with that communicator
 *     set    rank 3 does not come to H5Pset_fapl_redset in time */
#include "mpi_job.h"

#include <H5FDredset.h>
#include <signal.h>
#include <string.h>

static bool behind; /* the files of now are protected in the background */
enum { TRIES = 5 }; /* a communicator that was freed gives its place in memory to one of the next */

static hid_t
driver(MPI_Comm comm, double timeout)
{
    H5FD_redset_config_t config;
    hid_t                fapl = H5Pcreate(H5P_FILE_ACCESS);

    H5FD_redset_config_init(&config);
    config.comm = comm;
    config.timeout = timeout;
    config.async = behind;
    if (job_took(H5Pset_fapl_redset(fapl, &config)) >= 0)
        return fapl;
    H5Pclose(fapl);
    return H5I_INVALID_HID;
}

static bool
close_in_time(hid_t file)
{
    double start = now();
    bool   ok = job_took(H5Fclose(file)) >= 0 && (!behind || job_took(H5FDredset_wait(NULL)) >= 0);

    CHECK(now() - start < PATIENCE * limit);
    return ok;
}

static void
late(MPI_Comm comm)
{
    hid_t fapl = driver(comm, limit), file = job_create(job_mine(), fapl, OLD);

    job_meet(MPI_COMM_WORLD);
    if (rank != 2)
        CHECK(!close_in_time(file));
    job_meet(MPI_COMM_WORLD);
    if (rank == 2)
        CHECK(!close_in_time(file));
    H5Pclose(fapl);
}

/* Rank `who` stands still in the middle of encoding, until the others have given up. */
static void
stand_still(hid_t fapl, int who)
{
    MPI_Comm others;
    hid_t    file;

    MPI_Comm_split(MPI_COMM_WORLD, rank == who, rank, &others);
    file = job_create(job_mine(), fapl, OLD);
    job_meet(MPI_COMM_WORLD);
    if (rank == who)
        strike_arm("send", 10, "stop");
    CHECK(!close_in_time(file) || rank == who);
    (void)strike_disarm();
    if (rank != who)
        job_meet(others);
    if (rank == (who == 0))
        job_signal(who, SIGCONT);
    MPI_Comm_free(&others);
}

static void
aside(MPI_Comm comm)
{
    hid_t fapl = driver(comm, limit);

    stand_still(fapl, 1);
    H5Pclose(fapl);
}

/* One step after the other: how many fail until one is protected. */
static int
failed_steps(hid_t fapl)
{
    int ok = 0, all = 0, n = 0;

    for (; !all && n < TRIES; n++) {
        hid_t file = job_create(job_mine(), fapl, NEW);

        job_meet(MPI_COMM_WORLD);
        ok = file >= 0 && close_in_time(file);
        MPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    return n - 1;
}

/* The file of rank 3 comes back with what was protected last, so that was protected. */
static void
one_is_lost_and_back(hid_t fapl)
{
    hid_t file;

    if (rank == 3)
        job_lose(job_path("ckpt_3.h5"));
    job_meet(MPI_COMM_WORLD);
    file = job_took(H5Fopen(job_mine(), H5F_ACC_RDONLY, fapl));
    CHECK(file >= 0 && job_content(file) == NEW);
    CHECK(H5Fclose(file) >= 0);
}

static void
same(MPI_Comm comm)
{
    hid_t fapl;

    behind = job_async();
    fapl = driver(comm, limit);
    job_protect(job_mine(), fapl, OLD);
    CHECK(job_took(H5FDredset_wait(NULL)) >= 0);
    for (int who = 1; who >= 0; who--) {
        stand_still(fapl, who);
        CHECK(failed_steps(fapl) < TRIES - 1);
        one_is_lost_and_back(fapl);
        job_meet(MPI_COMM_WORLD);
    }
    H5Pclose(fapl);
    behind = false;
}

static void
set(MPI_Comm comm)
{
    hid_t fapl;

    if (rank != 3)
        CHECK(driver(comm, limit) < 0 && strstr(said, "called H5Pset_fapl_redset") != NULL);
    job_meet(MPI_COMM_WORLD);
    if (rank == 3) { /* that of the others is still under way */
        fapl = driver(comm, limit);
        if (fapl >= 0)
            H5Pclose(fapl);
    }
}

/* With another communicator all is well. */
static void
again(void)
{
    MPI_Comm comm;
    hid_t    fapl;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    job_ask();
    fapl = driver(comm, 20);
    CHECK(fapl >= 0);
    job_protect(job_mine(), fapl, NEW);
    one_is_lost_and_back(fapl);
    H5Pclose(fapl);
    MPI_Comm_free(&comm);
}

int
main(int argc, char **argv)
{
    MPI_Comm comm;

    if (argc != 5)
        return 2;
    job_begin(&argc, &argv, argv[2], argv[3]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    job_ask();
    if (strcmp(argv[4], "late") == 0)
        late(comm);
    else if (strcmp(argv[4], "aside") == 0)
        aside(comm);
    else if (strcmp(argv[4], "same") == 0)
        same(comm);
    else if (strcmp(argv[4], "set") == 0)
        set(comm);
    else
        CHECK(!"a known case");
    job_meet(MPI_COMM_WORLD);
    MPI_Comm_free(&comm);
    for (int i = 0; i < TRIES; i++)
        again();
    job_goes_on();
    return job_end();
}
