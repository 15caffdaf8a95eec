/* heat.c - the heat equation on a plate, with checkpoints: how a simulation is made to survive.
 *
 * An nx x ny plate is cut into bands of rows, one per rank. Every K steps each rank writes its band
 * to an HDF5 file of its own in a directory that may be private to its node (DIR), taking two file
 * names in turn, so that the last good checkpoint stays whole while the next one is written:
 *
 *     DIR/heat_a.<rank>.h5      DIR/heat_b.<rank>.h5
 *
 * When the program starts, it goes on from the newest checkpoint that every rank can read. It is
 * plain MPI and plain HDF5 and knows nothing of how those files are kept safe. Two habits make it
 * easy to protect from outside, and they are good habits anyhow:
 *   - all ranks create, close and open the same files in the same order, and agree on the outcome;
 *   - to find out whether a checkpoint is there, it opens it. It does not look for the file first:
 *     a file missing on this rank may well be rebuilt by opening it on all of them.
 *
 * SIGUSR1 tells it that its time is over: it writes a checkpoint of the step it is at, and ends.
 *
 *     mpirun -n 8 heat --dir /local --steps 1000 --every 100 --final /shared/field.raw
 */
#include <getopt.h>
#include <hdf5.h>
#include <mpi.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
    int         nx, ny, steps, every;
    const char *dir, *final;
};

struct band {
    int     rank, ranks;
    int     nx, ny;   /* the whole plate                                             */
    int     first, n; /* this rank's rows: first .. first + n - 1                    */
    double *u, *next; /* n + 2 rows of ny: one row of each neighbour above and below */
};

static void
say(const struct band *b, const char *text, ...) /* one line, from rank 0 */
{
    if (b->rank != 0)
        return;
    va_list args;
    va_start(args, text);
    vprintf(text, args);
    va_end(args);
    putchar('\n');
    fflush(stdout);
}

static int
over_all(int value, MPI_Op op) /* the lowest, or highest, value of any rank */
{
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, op, MPI_COMM_WORLD);
    return value;
}

/* ---- the physics ----------------------------------------------------------------------------- */

/* A cold plate with one hot edge, row 0. Edges keep their temperature. */
static int
band_init(struct band *b, int nx, int ny)
{
    int rest = nx % b->ranks;

    b->nx = nx;
    b->ny = ny;
    b->n = nx / b->ranks + (b->rank < rest);
    b->first = b->rank * (nx / b->ranks) + (b->rank < rest ? b->rank : rest);
    b->u = calloc((size_t)(b->n + 2) * (size_t)ny, sizeof *b->u);
    b->next = calloc((size_t)(b->n + 2) * (size_t)ny, sizeof *b->next);
    if (!b->u || !b->next)
        return -1;
    if (b->first == 0)
        for (int j = 0; j < ny; j++)
            b->u[ny + j] = 100.0;
    return 0;
}

static void
swap_fields(struct band *b)
{
    double *u = b->u;
    b->u = b->next;
    b->next = u;
}

/* Each point depends on its neighbours of the step before and on nothing else, summed in a fixed
 * order: the result is the same to the last bit on any number of ranks, restarted or not. */
static void
one_step(struct band *b)
{
    size_t  ny = (size_t)b->ny, n = (size_t)b->n;
    double *u = b->u;
    int     above = b->rank > 0 ? b->rank - 1 : MPI_PROC_NULL;
    int     below = b->rank < b->ranks - 1 ? b->rank + 1 : MPI_PROC_NULL;

    MPI_Sendrecv(u + ny, b->ny, MPI_DOUBLE, above, 0, u + (n + 1) * ny, b->ny, MPI_DOUBLE, below, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(u + n * ny, b->ny, MPI_DOUBLE, below, 1, u, b->ny, MPI_DOUBLE, above, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);

    for (size_t i = 1; i <= n; i++) {
        size_t row = (size_t)b->first + i - 1; /* in the whole plate */
        int    edge = row == 0 || row == (size_t)b->nx - 1;

        memcpy(b->next + i * ny, u + i * ny, ny * sizeof *u);
        for (size_t p = i * ny + 1; !edge && p < (i + 1) * ny - 1; p++)
            b->next[p] = u[p] + 0.2 * (u[p - ny] + u[p + ny] + u[p - 1] + u[p + 1] - 4.0 * u[p]);
    }
    swap_fields(b);
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

static void
checkpoint_name(const struct band *b, const char *dir, int slot, char *name, size_t size)
{
    snprintf(name, size, "%s/heat_%c.%d.h5", dir, slot == 0 ? 'a' : 'b', b->rank);
}

/* 0, or -1 if anything failed; HDF5 has then printed why. H5Fclose counts: only when it succeeds is
 * the file complete, and, under a driver that protects files, protected. */
static int
write_checkpoint(const struct band *b, const char *name, int step)
{
    hsize_t rows_cols[2] = {(hsize_t)b->n, (hsize_t)b->ny};
    hid_t   file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

    if (file < 0)
        return -1;
    hid_t plane = H5Screate_simple(2, rows_cols, NULL);
    hid_t field = H5Dcreate2(file, "temperature", H5T_IEEE_F64LE, plane, H5P_DEFAULT, H5P_DEFAULT,
                             H5P_DEFAULT);
    hid_t point = H5Screate(H5S_SCALAR);
    hid_t when = H5Acreate2(field, "step", H5T_STD_I32LE, point, H5P_DEFAULT, H5P_DEFAULT);
    int   bad = H5Dwrite(field, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, b->u + b->ny) < 0;

    bad |= H5Awrite(when, H5T_NATIVE_INT, &step) < 0;
    bad |= H5Aclose(when) < 0;
    bad |= H5Sclose(point) < 0;
    bad |= H5Dclose(field) < 0;
    bad |= H5Sclose(plane) < 0;
    bad |= H5Fclose(file) < 0;
    return bad ? -1 : 0;
}

/* Read a checkpoint into b->next. The step it was written at, or -1 if it cannot be had; *why then
 * holds HDF5's explanation of the first failure. Called with error printing off. */
static int
read_checkpoint(const struct band *b, const char *name, hid_t *why)
{
    hsize_t have[2] = {0, 0};
    double *rows = b->next + b->ny; /* behind the row of the neighbour above */
    int     step = -1, ok = 0;
    hid_t   file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);

    if (file >= 0) {
        hid_t field = H5Dopen2(file, "temperature", H5P_DEFAULT);
        hid_t when = H5Aopen(field, "step", H5P_DEFAULT);
        hid_t plane = H5Dget_space(field);

        ok = H5Sget_simple_extent_ndims(plane) == 2 &&
             H5Sget_simple_extent_dims(plane, have, NULL) == 2 && have[0] == (hsize_t)b->n &&
             have[1] == (hsize_t)b->ny && /* else: another plate or rank count */
             H5Dread(field, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0 &&
             H5Aread(when, H5T_NATIVE_INT, &step) >= 0;
        if (!ok && *why < 0)
            *why = H5Eget_current_stack(); /* now: the next call into HDF5 forgets it */
        H5Sclose(plane); /* an id that could not be had is refused here, no harm */
        H5Aclose(when);
        H5Dclose(field);
        H5Fclose(file);
    } else if (*why < 0) {
        *why = H5Eget_current_stack();
    }
    return ok ? step : -1;
}

/* Go back to the newest checkpoint that all ranks have, of the same step. Its step, 0 when there is
 * none at all, -1 when there are files but no usable checkpoint: then starting over is for the user
 * to decide. */
static int
restart(struct band *b, const char *dir, int *slot)
{
    int   best = 0, found = 0;
    hid_t why = H5I_INVALID_HID;

    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* to look for what is not there is no error */
    for (int s = 0; s < 2; s++) {
        char name[4096];
        checkpoint_name(b, dir, s, name, sizeof name);
        int step = read_checkpoint(b, name, &why);
        if (over_all(step, MPI_MIN) == over_all(step, MPI_MAX) && step > best) {
            best = step;
            *slot = s;
            swap_fields(b);
        }
        found |= access(name, F_OK) == 0;
    }
    H5Eset_auto2(H5E_DEFAULT, (H5E_auto2_t)H5Eprint2, stderr);

    found = over_all(found, MPI_MAX);
    if (best == 0 && found && over_all(why >= 0 ? b->rank : b->ranks, MPI_MIN) == b->rank)
        H5Eprint2(why, stderr); /* one rank tells, not all of them */
    if (why >= 0)
        H5Eclose_stack(why);
    return best > 0 || !found ? best : -1;
}

/* ---- the program ----------------------------------------------------------------------------- */

/* The whole field as raw doubles, in one file of rank 0: for comparing one run with another. */
static int
write_final(const struct band *b, const char *name)
{
    size_t ny = (size_t)b->ny;
    int    ok = 1;

    if (b->rank > 0) {
        MPI_Send(b->u + ny, b->n * b->ny, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
    } else {
        FILE *f = fopen(name, "wb");
        ok = f && fwrite(b->u + ny, sizeof(double) * ny, (size_t)b->n, f) == (size_t)b->n;
        for (int r = 1, n; r < b->ranks; r++) { /* nobody has more rows than rank 0: they fit */
            MPI_Status got;
            MPI_Recv(b->next, b->n * b->ny, MPI_DOUBLE, r, 2, MPI_COMM_WORLD, &got);
            MPI_Get_count(&got, MPI_DOUBLE, &n);
            ok = ok && fwrite(b->next, sizeof(double), (size_t)n, f) == (size_t)n;
        }
        if (f && fclose(f) != 0)
            ok = 0;
    }
    return over_all(ok, MPI_MIN) ? 0 : -1;
}

static volatile sig_atomic_t was_told; /* this rank was: others may hear of it a step later */

static void
on_signal(int signal)
{
    was_told = signal;
}

static int
simulate(struct band *b, const struct options *o)
{
    int slot = 1; /* where the last good checkpoint is; the first one goes to the other, 0 */
    int step = restart(b, o->dir, &slot);

    if (step < 0) {
        say(b, "%s holds checkpoints, but none that all ranks can read: delete them to start over",
            o->dir);
        return EXIT_FAILURE;
    }
    if (step > 0)
        say(b, "step %d: restarted from its checkpoint", step);
    else
        say(b, "step 0: no checkpoint in %s, starting from the beginning", o->dir);

    for (int stop = 0; step < o->steps && !stop;) {
        one_step(b);
        stop = over_all(was_told != 0, MPI_MAX);
        if (++step % o->every != 0 && !stop)
            continue;

        char name[4096];
        checkpoint_name(b, o->dir, !slot, name, sizeof name);
        if (over_all(write_checkpoint(b, name, step), MPI_MIN) == 0) {
            slot = !slot; /* from here on this is the one to keep */
            say(b, "step %d: checkpoint written", step);
        } else {
            say(b, "step %d: checkpoint FAILED, going on with the one before", step);
        }
        if (stop && step < o->steps) {
            say(b, "step %d: told to stop", step);
            return EXIT_SUCCESS;
        }
    }
    if (o->final && write_final(b, o->final) < 0) {
        say(b, "cannot write %s", o->final);
        return EXIT_FAILURE;
    }
    say(b, "step %d: finished", step);
    return EXIT_SUCCESS;
}

static int
parse(int argc, char **argv, struct options *o)
{
    static const struct option known[] = {
        {"dir", required_argument, NULL, 'd'},
        {"steps", required_argument, NULL, 's'},
        {"every", required_argument, NULL, 'e'},
        {"final", required_argument, NULL, 'f'},
        {"nx", required_argument, NULL, 'x'},
        {"ny", required_argument, NULL, 'y'},
        {NULL, 0, NULL, 0},
    };

    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;)
        switch (c) {
        case 'd': o->dir = optarg; break;
        case 's': o->steps = atoi(optarg); break;
        case 'e': o->every = atoi(optarg); break;
        case 'f': o->final = optarg; break;
        case 'x': o->nx = atoi(optarg); break;
        case 'y': o->ny = atoi(optarg); break;
        default: return -1;
        }
    return optind == argc && o->steps >= 0 && o->every > 0 && o->nx > 2 && o->ny > 2 ? 0 : -1;
}

int
main(int argc, char **argv)
{
    struct options o = {.nx = 1024, .ny = 1024, .steps = 1000, .every = 100, .dir = "."};
    struct band    b = {0};
    int            status = EXIT_FAILURE;

    MPI_Init(&argc, &argv);
    signal(SIGUSR1, on_signal);
    MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &b.ranks);

    if (parse(argc, argv, &o) < 0 || o.nx < b.ranks)
        say(&b, "usage: heat [--dir DIR] [--steps N] [--every K] [--final FILE]\n"
                "            [--nx ROWS (no fewer than ranks)] [--ny COLUMNS]");
    else if (over_all(H5open(), MPI_MIN) < 0) /* such as: HDF5_DRIVER names one it does not find */
        say(&b, "HDF5 cannot be used; it has printed why");
    else if (over_all(band_init(&b, o.nx, o.ny), MPI_MIN) < 0)
        say(&b, "not enough memory for a plate of %d x %d", o.nx, o.ny);
    else
        status = simulate(&b, &o);

    free(b.u);
    free(b.next);
    MPI_Finalize(); /* after the last H5Fclose: closing a file may need all ranks */
    return status;
}
