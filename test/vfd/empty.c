/* empty.c - an MPI + HDF5 program that takes the time of files without content. It is not linked with redset and knows nothing of it,
 * so it runs with the plugin of any commit (test/bench/compare_commit.sh).
 *
 *   empty DIR ROUNDS     in each round every rank creates and closes DIR/empty_<rank>_<round>.h5, then opens and closes it
 *
 * Rank 0 prints, for "create" and "open", the medians over the rounds of two times in milliseconds: that of the slowest rank, and the
 * processor time of a rank, threads included, in the mean of the ranks. The first round warms up. Exit status 0: done; 1: failed. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CREATE, OPEN, STEPS, WALL = 0, CPU, TIMES, ROUNDS_MAX = 1000 };

static double samples[STEPS][TIMES][ROUNDS_MAX]; /* milliseconds */

static double
clock_ms(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

/* All ranks begin at the same time. */
static void
time_step(int step, int round, const char *path)
{
    double time[TIMES];
    hid_t  file;

    MPI_Barrier(MPI_COMM_WORLD);
    time[WALL] = clock_ms(CLOCK_MONOTONIC);
    time[CPU] = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
    file = step == CREATE ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)
                          : H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    if (file < 0 || H5Fclose(file) < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    time[WALL] = clock_ms(CLOCK_MONOTONIC) - time[WALL];
    time[CPU] = clock_ms(CLOCK_PROCESS_CPUTIME_ID) - time[CPU];
    MPI_Reduce(&time[WALL], &samples[step][WALL][round], 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&time[CPU], &samples[step][CPU][round], 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static int
ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of all rounds but the first. */
static double
median(double *values, int rounds)
{
    qsort(values + 1, (size_t)rounds, sizeof *values, ascending);
    return (values[1 + (rounds - 1) / 2] + values[1 + rounds / 2]) / 2;
}

int
main(int argc, char **argv)
{
    char path[4096];
    int  rank, ranks, rounds = argc == 3 ? atoi(argv[2]) : 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rounds < 1 || rounds >= ROUNDS_MAX)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int round = 0; round <= rounds; round++)
        for (int step = CREATE; step < STEPS; step++) {
            snprintf(path, sizeof path, "%s/empty_%d_%d.h5", argv[1], rank, round);
            time_step(step, round, path);
        }
    for (int step = CREATE; rank == 0 && step < STEPS; step++)
        printf("%s %.6f %.6f\n", step == CREATE ? "create" : "open",
               median(samples[step][WALL], rounds), median(samples[step][CPU], rounds) / ranks);
    MPI_Finalize();
    return 0;
}
