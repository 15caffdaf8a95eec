/* netcdf_mpi.c - netCDF-4 and MPI, every rank with a file of its own: DIR/netcdf.<rank>.nc
 *
 *     mpicc netcdf_mpi.c -o netcdf_mpi $(nc-config --cflags --libs) -lm
 *     mpirun -n 4 netcdf_mpi DIR write     a new file with three steps
 *     mpirun -n 4 netcdf_mpi DIR append    one more step in the file that is there
 *     mpirun -n 4 netcdf_mpi DIR read      are all steps as they were written?
 *
 * A netCDF-4 file is an HDF5 file, and what works below HDF5 works below netCDF. With one difference:
 * nc_open looks into the file by its own means before it lets HDF5 open it (to see whether it is netCDF-3
 * or 4). A file that is lost is "not there" for it, although opening it would rebuild it. After a node was lost
 * the files have to be rebuilt before this program starts (../README.md); damage in files that are there is
 * repaired without that. */
#include <math.h>
#include <mpi.h>
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 20000 };

static int rank;

static void
check(int status, const char *what)
{
    if (status == NC_NOERR)
        return;
    fprintf(stderr, "rank %d: %s: %s\n", rank, what, nc_strerror(status));
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

static double
value(size_t step, size_t i)
{
    return sin((double)i * (rank + 1)) + (double)step;
}

static size_t
steps_in(int file)
{
    size_t steps;
    int    time;

    check(nc_inq_dimid(file, "time", &time), "time");
    check(nc_inq_dimlen(file, time, &steps), "length of time");
    return steps;
}

static void
append(int file)
{
    static double u[POINTS];
    size_t        start[2] = {steps_in(file), 0}, count[2] = {1, POINTS};
    int           var;

    for (size_t i = 0; i < POINTS; i++)
        u[i] = value(start[0], i);
    check(nc_inq_varid(file, "u", &var), "u");
    check(nc_put_vara_double(file, var, start, count, u), "writing a step");
}

static int
create(const char *name)
{
    int file, dims[2], var;

    check(nc_create(name, NC_NETCDF4 | NC_CLOBBER, &file), name);
    check(nc_def_dim(file, "time", NC_UNLIMITED, &dims[0]), "time");
    check(nc_def_dim(file, "x", POINTS, &dims[1]), "x");
    check(nc_def_var(file, "u", NC_DOUBLE, 2, dims, &var), "u");
    check(nc_put_att_text(file, var, "units", 1, "K"), "units");
    check(nc_enddef(file), "end of definitions");
    for (int i = 0; i < 3; i++)
        append(file);
    return file;
}

static void
verify(int file)
{
    static double u[POINTS];
    size_t        start[2] = {0, 0}, count[2] = {1, POINTS}, steps = steps_in(file);
    int           var;

    check(nc_inq_varid(file, "u", &var), "u");
    for (; start[0] < steps; start[0]++) {
        check(nc_get_vara_double(file, var, start, count, u), "reading a step");
        for (size_t i = 0; i < POINTS; i++)
            check(u[i] == value(start[0], i) ? NC_NOERR : NC_ERANGE, "not what was written");
    }
    printf("rank %d: %zu steps as written\n", rank, steps);
}

int
main(int argc, char **argv)
{
    const char *command = argc == 3 ? argv[2] : "";
    char        name[4096];
    int         file = -1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof name, "%s/netcdf.%d.nc", argc == 3 ? argv[1] : "", rank);

    if (strcmp(command, "write") == 0) {
        file = create(name);
    } else if (strcmp(command, "append") == 0) {
        check(nc_open(name, NC_WRITE, &file), name);
        append(file);
    } else if (strcmp(command, "read") == 0) {
        check(nc_open(name, NC_NOWRITE, &file), name);
        verify(file);
    } else {
        check(NC_EINVAL, "usage: netcdf_mpi DIR write|append|read");
    }
    check(nc_close(file), name); /* only now is the file complete */
    MPI_Finalize();
    return EXIT_SUCCESS;
}
