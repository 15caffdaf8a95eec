/* timeseries.c - one file that is written for days, and never closed: a time series that survives the death of its job.
 *
 * Each rank follows a pendulum that is pushed, each with another strength, and records angle and speed of every step in a file of
 * its own in DIR, which may be private to its node:
 *
 *     DIR/series_<rank>.h5      dataset "motion", STEPS rows of angle and speed; attribute "steps": how many are valid
 *
 * Every K steps it writes what is new, and commits the file, which stays open: from then on that much is safe, also from the loss
 * of nodes. When the program starts, it opens the file, and goes on from the last commit: what was written after that is gone,
 * and is computed once more. The result is the same to the last bit, killed or not.
 *
 * The dataset has its final extent from the start, so that the file keeps its size, and a commit encodes only what is new.
 * It links the driver for H5FDredset_commit. With commit=flush in HDF5_DRIVER_CONFIG, H5Fflush does the same without.
 *
 *     mpirun -n 8 timeseries DIR STEPS K          or, to see what it is for: timeseries DIR STEPS K KILLED_AT
 */
#include <H5FDredset.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

struct point {
    double angle, speed;
};

static int rank;

static int
over_all(int value, MPI_Op op) /* the lowest, or highest, value of any rank */
{
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, op, MPI_COMM_WORLD);
    return value;
}

static struct point
next_point(struct point p, long step)
{
    const double dt = 0.01, push = 0.5 + 0.1 * rank;

    p.speed += dt * (push * cos(0.66 * dt * (double)step) - 0.1 * p.speed - sin(p.angle));
    p.angle += dt * p.speed;
    return p;
}

/* ---- the file ------------------------------------------------------------------------------------ */

static hid_t
create_file(const char *name, long steps, hid_t fapl)
{
    /* not over a file that is there: if that could not be opened, it is not ours to replace */
    hid_t   file = H5Fcreate(name, H5F_ACC_EXCL, H5P_DEFAULT, fapl);
    hsize_t size[2] = {(hsize_t)steps, 2};
    int     none = 0;

    if (file < 0)
        return file;
    hid_t how = H5Pcreate(H5P_DATASET_CREATE);
    hid_t rows = H5Screate_simple(2, size, NULL), point = H5Screate(H5S_SCALAR);
    H5Pset_alloc_time(how, H5D_ALLOC_TIME_EARLY);
    H5Pset_obj_track_times(how, 0); /* so that two runs write the same bytes */
    hid_t motion = H5Dcreate2(file, "motion", H5T_IEEE_F64LE, rows, H5P_DEFAULT, how, H5P_DEFAULT);
    hid_t valid = H5Acreate2(file, "steps", H5T_STD_I32LE, point, H5P_DEFAULT, H5P_DEFAULT);
    int   bad = H5Awrite(valid, H5T_NATIVE_INT, &none) < 0;

    bad |= H5Aclose(valid) < 0 || H5Dclose(motion) < 0;
    bad |= H5Sclose(point) < 0 || H5Sclose(rows) < 0 || H5Pclose(how) < 0;
    return bad ? -1 : file;
}

/* Rows first .. first + n - 1, in either direction. */
static int
rows_of(hid_t file, long first, long n, struct point *points, int writes)
{
    hsize_t start[2] = {(hsize_t)first, 0}, size[2] = {(hsize_t)n, 2};
    hid_t   motion = H5Dopen2(file, "motion", H5P_DEFAULT), all = H5Dget_space(motion);
    hid_t   some = H5Screate_simple(2, size, NULL);
    int     bad = H5Sselect_hyperslab(all, H5S_SELECT_SET, start, NULL, size, NULL) < 0;

    if (writes)
        bad |= H5Dwrite(motion, H5T_NATIVE_DOUBLE, some, all, H5P_DEFAULT, points) < 0;
    else
        bad |= H5Dread(motion, H5T_NATIVE_DOUBLE, some, all, H5P_DEFAULT, points) < 0;
    bad |= H5Sclose(some) < 0 || H5Sclose(all) < 0 || H5Dclose(motion) < 0;
    return bad ? -1 : 0;
}

/* How many rows are valid; `now`: from now on, -1: asks. Negative: it cannot be told. */
static int
valid_rows(hid_t file, int now)
{
    hid_t valid = H5Aopen(file, "steps", H5P_DEFAULT);
    int   bad = now >= 0 ? H5Awrite(valid, H5T_NATIVE_INT, &now) < 0
                         : H5Aread(valid, H5T_NATIVE_INT, &now) < 0;

    bad |= H5Aclose(valid) < 0;
    return bad ? -1 : now;
}

/* What is new is written, and then protected. Each rank has to come, also one that could not write. */
static int
commit(hid_t file, long first, long n, struct point *points)
{
    int bad = rows_of(file, first, n, points, 1) < 0 || valid_rows(file, (int)(first + n)) < 0;

    if (over_all(bad, MPI_MAX) != 0)
        return -1;
    if (H5FDredset_commit(file) < 0) { /* the next one may succeed; a crash goes back to the last */
        fprintf(stderr, "rank %d: step %ld is not protected\n", rank, first + n);
        return 0;
    }
    if (rank == 0)
        printf("step %ld: committed\n", first + n);
    return 0;
}

/* On all ranks, or on none. */
static hid_t
open_or_create(const char *name, long steps, hid_t fapl)
{
    hid_t file;

    H5E_BEGIN_TRY
    {
        file = H5Fopen(name, H5F_ACC_RDWR, fapl); /* a file missing on this rank may be rebuilt */
    }
    H5E_END_TRY
    if (over_all(file >= 0, MPI_MAX) == 0)
        file = create_file(name, steps, fapl);
    return over_all(file >= 0, MPI_MIN) != 0 ? file : -1;
}

/* ---- the run ------------------------------------------------------------------------------------- */

static int
run(hid_t file, long steps, long every, long killed_at)
{
    struct point *points = calloc((size_t)every, sizeof *points), p = {0.1 * rank, 0};
    long          first = valid_rows(file, -1);
    int           bad = points == NULL || first < 0;

    if (!bad && first > 0) {
        bad = rows_of(file, first - 1, 1, &p, 0) < 0;
        if (rank == 0)
            printf("step %ld: goes on\n", first);
    }
    for (long n; !bad && first < steps; first += n) {
        for (n = 0; n < every && first + n < steps; n++) {
            points[n] = p = next_point(p, first + n);
            if (first + n + 1 == killed_at)
                raise(SIGKILL);
        }
        bad = commit(file, first, n, points) < 0;
    }
    free(points);
    return bad ? -1 : 0;
}

int
main(int argc, char **argv)
{
    char name[4096];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    setvbuf(stdout, NULL, _IOLBF, 0);
    long steps = argc > 3 ? atol(argv[2]) : 0, every = argc > 3 ? atol(argv[3]) : 0;
    if (steps < 1 || every < 1) {
        fprintf(stderr, "usage: timeseries DIR STEPS K [KILLED_AT]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    snprintf(name, sizeof name, "%s/series_%d.h5", argv[1], rank);

    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    int   bad = H5Pset_fapl_redset(fapl, NULL) < 0; /* NULL: HDF5_DRIVER_CONFIG */
    hid_t file = open_or_create(name, steps, fapl);
    bad |= file < 0 || run(file, steps, every, argc > 4 ? atol(argv[4]) : 0) < 0;
    bad |= file >= 0 && H5Fclose(file) < 0;
    bad |= H5Pclose(fapl) < 0;
    if (rank == 0 && !bad)
        printf("step %ld: finished\n", steps);
    MPI_Finalize();
    return bad;
}
