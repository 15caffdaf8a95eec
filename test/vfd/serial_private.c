/* serial_private.c: an MPI program whose HDF5 does not see MPI, as in Python: the driver is loaded first
 * ("import h5py"), then an MPI library for whoever loads it only ("from mpi4py import MPI").
 *
 *     serial_private LIBMPI DIR write|read           DIR/private.<rank>.h5, the rank as mpirun says
 *     serial_private LIBMPI DIR write|read forked    the same in a child, which loads MPI first, and then HDF5's driver
 */
#include <dlfcn.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { VALUES = 50000 };

static int values[VALUES];

static int
write_file(const char *name)
{
    hsize_t n = VALUES;
    hid_t   file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t   space = H5Screate_simple(1, &n, NULL);
    hid_t set = H5Dcreate2(file, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    int   bad = H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0;

    bad |= H5Dclose(set) < 0;
    bad |= H5Sclose(space) < 0;
    bad |= H5Fclose(file) < 0;
    return bad;
}

static int
read_file(const char *name)
{
    static int found[VALUES];
    hid_t      file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t      set = H5Dopen2(file, "d", H5P_DEFAULT);
    int        bad = H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, found) < 0;

    bad |= H5Dclose(set) < 0;
    bad |= H5Fclose(file) < 0;
    return bad || memcmp(found, values, sizeof values) != 0;
}

int
main(int argc, char **argv)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    char        name[4096];
    void       *mpi;
    int (*init)(int *, char ***), (*finalize)(void);
    int   bad;
    pid_t child;

    if (argc < 4 || rank == NULL)
        return 2;
    if (argc == 5 && (child = fork()) != 0)
        return waitpid(child, &bad, 0) == child && bad == 0 ? 0 : 1;
    if (argc == 4 && H5open() < 0)
        return 2;
    mpi = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (mpi == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    *(void **)&init = dlsym(mpi, "MPI_Init");
    *(void **)&finalize = dlsym(mpi, "MPI_Finalize");
    if (init == NULL || finalize == NULL || init(NULL, NULL) != 0)
        return 2;
    for (int i = 0; i < VALUES; i++)
        values[i] = i * (atoi(rank) + 1);
    snprintf(name, sizeof name, "%s/private.%s.h5", argv[2], rank);
    bad = strcmp(argv[3], "write") == 0 ? write_file(name) : read_file(name);
    finalize();
    return bad;
}
