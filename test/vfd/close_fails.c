/* close_fails.c - an MPI + HDF5 program of which rank 0 has an H5Fclose that fails, while all have a changed file open; then
 * MPI_Finalize, and H5Fclose of that. It is not linked with redset and knows nothing of it. For test_finalize.sh.
 *
 *   close_fails refused DIR   the driver refuses it: only rank 0 has DIR/alone.h5 (required=yes)
 *   close_fails object DIR    the same in H5Dclose of its last object
 *   close_fails other DIR     a file of another driver, for which there is no room
 *
 * Each rank has created DIR/data_<rank>.h5. Exit status 0: done. */
#include <hdf5.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { N = 20000 };

static int rank;

#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "rank %d, line %d: %s\n", rank, __LINE__, #what);                      \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static hid_t
create(const char *dir, const char *name, hid_t fapl, hid_t *set_out)
{
    static const int values[N] = {1, 2, 3};
    const hsize_t    n = N;
    const hid_t      space = H5Screate_simple(1, &n, NULL);
    char             path[4096];
    hid_t            file;

    snprintf(path, sizeof path, "%s/%s.h5", dir, name);
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    CHECK(file >= 0);
    *set_out = H5Dcreate2(file, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(H5Dwrite(*set_out, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    CHECK(H5Sclose(space) >= 0);
    return file;
}

/* What HDF5 still holds of it does not fit. */
static void
fail_for_want_of_room(const char *dir)
{
    struct rlimit few, before;
    const hid_t   fapl = H5Pcreate(H5P_FILE_ACCESS);
    hid_t         set, file;

    CHECK(H5Pset_fapl_sec2(fapl) >= 0);
    file = create(dir, "other", fapl, &set);
    CHECK(H5Dclose(set) >= 0 && H5Pclose(fapl) >= 0 && getrlimit(RLIMIT_FSIZE, &before) == 0);
    few = (struct rlimit){100, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &few) == 0 && H5Fclose(file) < 0);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
}

static void
fail(const char *how, const char *dir)
{
    hid_t set, file;

    if (strcmp(how, "other") == 0) {
        fail_for_want_of_room(dir);
        return;
    }
    file = create(dir, "alone", H5P_DEFAULT, &set);
    if (strcmp(how, "object") == 0) {
        CHECK(H5Fclose(file) >= 0 && H5Dclose(set) < 0);
        return;
    }
    CHECK(H5Dclose(set) >= 0 && H5Fclose(file) < 0);
}

int
main(int argc, char **argv)
{
    char  name[64];
    hid_t file, set;

    if (argc != 3)
        return 2;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    snprintf(name, sizeof name, "data_%d", rank);
    file = create(argv[2], name, H5P_DEFAULT, &set);
    if (rank == 0)
        fail(argv[1], argv[2]);
    MPI_Finalize();
#ifdef H5_HAVE_PARALLEL /* it ends in MPI_Finalize, and its ids with it */
    (void)file;
#else
    CHECK(H5Dclose(set) >= 0 && H5Fclose(file) >= 0);
#endif
    _exit(0); /* what HDF5 does in exit with a file that it could not close is its own affair */
}
