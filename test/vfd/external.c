/* external.c: an MPI program whose files, one of each rank, have a dataset with external raw storage. Not linked with redset.
 *
 *   external create   DIR FORMAT [RANK]   create DIR/data_<rank>.h5, the dataset in files of RANK only, with the format `earliest` or `latest`
 *   external steps    DIR FORMAT          the same for three steps, DIR/data_<step>_<rank>.h5
 *   external change   DIR FORMAT          open DIR/data_<rank>.h5 for change, and write the dataset: HDF5 writes nothing else
 *   external read     DIR FORMAT          open it, and read the dataset
 *
 * The raw data is in DIR/data_<step>_<rank>.raw, where a single step is 0. Exit status: 0 done, 1 not. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000 };

static int rank;

static hid_t
dataset_in(hid_t file, const char *dir, int step, int external)
{
    const hsize_t n = N;
    hid_t         space = H5Screate_simple(1, &n, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE), set;
    char          raw[4096];

    snprintf(raw, sizeof raw, "%s/data_%d_%d.raw", dir, step, rank);
    if (external && H5Pset_external(dcpl, raw, 0, N * sizeof(int)) < 0)
        return H5I_INVALID_HID;
    set = H5Dcreate2(file, "values", H5T_NATIVE_INT, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    H5Pclose(dcpl);
    H5Sclose(space);
    return set;
}

static int
write_and_close(hid_t file, hid_t set, int value)
{
    int values[N];
    int ok = file >= 0 && set >= 0;

    for (int i = 0; i < N; i++)
        values[i] = value + i;
    ok = ok && H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
    ok = (set < 0 || H5Dclose(set) >= 0) && ok;
    return (file < 0 || H5Fclose(file) >= 0) && ok;
}

static int
create(const char *dir, const char *name, hid_t fapl, int step, int external)
{
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);

    return write_and_close(file, file >= 0 ? dataset_in(file, dir, step, external) : -1, step);
}

static int
change(const char *name, hid_t fapl)
{
    hid_t file = H5Fopen(name, H5F_ACC_RDWR, fapl);

    return write_and_close(file, file >= 0 ? H5Dopen2(file, "values", H5P_DEFAULT) : -1, 7);
}

static int
read_it(const char *name, hid_t fapl)
{
    hid_t file = H5Fopen(name, H5F_ACC_RDONLY, fapl);
    hid_t set = file >= 0 ? H5Dopen2(file, "values", H5P_DEFAULT) : -1;
    int   values[N] = {-1};
    int ok = set >= 0 && H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0 &&
             values[1] == values[0] + 1;

    ok = (set < 0 || H5Dclose(set) >= 0) && ok;
    return (file < 0 || H5Fclose(file) >= 0) && ok;
}

static int
run(char **argv, hid_t fapl)
{
    char name[4096];
    int  ok = 1, only = argv[4] != NULL ? atoi(argv[4]) : rank;

    snprintf(name, sizeof name, "%s/data_%d.h5", argv[2], rank);
    if (strcmp(argv[1], "create") == 0)
        return create(argv[2], name, fapl, 0, only == rank);
    if (strcmp(argv[1], "change") == 0)
        return change(name, fapl);
    if (strcmp(argv[1], "read") == 0)
        return read_it(name, fapl);
    for (int step = 1; ok && step <= 3; step++) {
        snprintf(name, sizeof name, "%s/data_%d_%d.h5", argv[2], step, rank);
        ok = create(argv[2], name, fapl, step, 1);
    }
    return ok;
}

int
main(int argc, char **argv)
{
    int   provided, ok = 0, all = 0;
    hid_t fapl;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fapl = H5Pcreate(H5P_FILE_ACCESS);
    if (argc > 3)
        ok = H5Pset_libver_bounds(
                 fapl, strcmp(argv[3], "latest") == 0 ? H5F_LIBVER_LATEST : H5F_LIBVER_EARLIEST,
                 H5F_LIBVER_LATEST) >= 0 &&
             run(argv, fapl);
    H5Pclose(fapl);
    MPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Finalize();
    return all ? 0 : 1;
}
