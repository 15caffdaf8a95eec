/* messages.c - an MPI + HDF5 program that counts the messages that it costs to open and close files. It is not linked with redset and
 * knows nothing of it.
 *
 *   messages DIR BYTES     every rank creates and closes DIR/few_<rank>.h5, of so many bytes, twice; then they are opened to be changed
 *                          and closed, and opened to be read and closed; the same once more after rank 1 has lost its file
 *
 * Rank 0 prints, for each of these steps, how many messages a rank sends in the mean (MPI_Isend): of the second creation, since the first
 * brings the ranks together. Exit status 0: done; 1: a file could not be opened or closed. */
#include <hdf5.h>
/* Not all MPIs declare all their functions so that the plugin sees those that are defined here. */
#pragma GCC visibility push(default)
#include <glob.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static long sent;

int
MPI_Isend(const void *buf, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
          MPI_Request *request)
{
    sent++;
    return PMPI_Isend(buf, n, type, to, tag, comm, request);
}

static const char *dir;
static int         rank, ranks;

static const char *
path_of(const char *end)
{
    static char path[4096];

    snprintf(path, sizeof path, "%s/few_%d.h5%s", dir, rank, end);
    return path;
}

static hid_t
create(size_t bytes)
{
    const hsize_t n = bytes;
    char         *data = calloc(1, bytes + 1);
    hid_t file = H5Fcreate(path_of(""), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space, set;

    if (file < 0 || data == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    space = H5Screate_simple(1, &n, NULL);
    set = H5Dcreate2(file, "data", H5T_NATIVE_UCHAR, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (H5Dwrite(set, H5T_NATIVE_UCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    H5Dclose(set);
    H5Sclose(space);
    free(data);
    return file;
}

static void
lose(void)
{
    glob_t found;

    if (rank != 1 || glob(path_of("*"), 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        unlink(found.gl_pathv[i]);
    globfree(&found);
}

/* `file` is open since `before` messages. */
static void
close_and_tell(const char *step, hid_t file, long before)
{
    long all = 0, own;

    if (file < 0 || H5Fclose(file) < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    own = sent - before;
    MPI_Reduce(&own, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s %.3f\n", step, (double)all / ranks);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void
open_and_close(const char *step, unsigned flags)
{
    const long before = sent;

    close_and_tell(step, H5Fopen(path_of(""), flags, H5P_DEFAULT), before);
}

int
main(int argc, char **argv)
{
    long before;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 3)
        MPI_Abort(MPI_COMM_WORLD, 1);
    dir = argv[1];
    H5Fclose(create((size_t)atol(argv[2])));
    before = sent;
    close_and_tell("create", create((size_t)atol(argv[2])), before);
    open_and_close("change", H5F_ACC_RDWR);
    open_and_close("read", H5F_ACC_RDONLY);
    lose();
    open_and_close("change_lost", H5F_ACC_RDWR);
    lose();
    open_and_close("read_lost", H5F_ACC_RDONLY);
    MPI_Finalize();
    return 0;
}
