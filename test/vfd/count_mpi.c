/* count_mpi.c - P10: no MPI call before MPI_Init or after MPI_Finalize, none in a process without MPI.
 * The program puts itself in front of every MPI function that the plugin knows and counts the calls that
 * must not be; test_odd.sh checks that the list below is complete.
 *
 *   count_mpi never     DIR   linked with MPI, which is never started; files are written, read, lost, left open
 *   count_mpi finalized DIR   files are written, closed and left open after MPI_Finalize
 *
 * Exit status 0: none; also what happens in exit handlers counts. */
#include <hdf5.h>
/* Not all MPIs declare all their functions so that the plugin sees those that are defined here. */
#pragma GCC visibility push(default)
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int forbidden, calls;

static void
note(const char *name)
{
    if (forbidden && ++calls <= 10)
        fprintf(stderr, "count_mpi: %s is called\n", name);
}

#define WRAP(name, params, args)                                                                   \
    int name params                                                                                \
    {                                                                                              \
        note(#name);                                                                               \
        return P##name args;                                                                       \
    }

/* clang-format off */
WRAP(MPI_Cancel, (MPI_Request *r), (r))
WRAP(MPI_Comm_create_keyval, (MPI_Comm_copy_attr_function *c, MPI_Comm_delete_attr_function *d, int *k, void *x), (c, d, k, x))
WRAP(MPI_Comm_free, (MPI_Comm *c), (c))
WRAP(MPI_Comm_get_attr, (MPI_Comm c, int k, void *v, int *f), (c, k, v, f))
WRAP(MPI_Comm_idup, (MPI_Comm c, MPI_Comm *n, MPI_Request *r), (c, n, r))
WRAP(MPI_Comm_rank, (MPI_Comm c, int *r), (c, r))
WRAP(MPI_Comm_group, (MPI_Comm c, MPI_Group *g), (c, g))
WRAP(MPI_Group_free, (MPI_Group * g), (g))
WRAP(MPI_Group_size, (MPI_Group g, int *n), (g, n))
WRAP(MPI_Group_translate_ranks, (MPI_Group a, int n, const int *r, MPI_Group b, int *to),
     (a, n, r, b, to))
WRAP(MPI_Comm_set_attr, (MPI_Comm c, int k, void *v), (c, k, v))
WRAP(MPI_Comm_set_errhandler, (MPI_Comm c, MPI_Errhandler e), (c, e))
WRAP(MPI_Comm_get_errhandler, (MPI_Comm c, MPI_Errhandler *e), (c, e))
WRAP(MPI_Errhandler_free, (MPI_Errhandler *e), (e))
WRAP(MPI_Comm_size, (MPI_Comm c, int *s), (c, s))
WRAP(MPI_Comm_test_inter, (MPI_Comm c, int *f), (c, f))
WRAP(MPI_Error_string, (int e, char *s, int *n), (e, s, n))
WRAP(MPI_Get_count, (const MPI_Status *s, MPI_Datatype t, int *n), (s, t, n))
WRAP(MPI_Iprobe, (int s, int t, MPI_Comm c, int *f, MPI_Status *st), (s, t, c, f, st))
WRAP(MPI_Irecv, (void *b, int n, MPI_Datatype t, int s, int g, MPI_Comm c, MPI_Request *r), (b, n, t, s, g, c, r))
WRAP(MPI_Is_thread_main, (int *f), (f))
WRAP(MPI_Isend, (const void *b, int n, MPI_Datatype t, int d, int g, MPI_Comm c, MPI_Request *r), (b, n, t, d, g, c, r))
WRAP(MPI_Request_free, (MPI_Request *r), (r))
WRAP(MPI_Test, (MPI_Request *r, int *f, MPI_Status *s), (r, f, s))
WRAP(MPI_Testsome, (int n, MPI_Request r[], int *m, int i[], MPI_Status s[]), (n, r, m, i, s))
/* clang-format on */
#pragma GCC visibility pop

static void
at_end(void)
{
    if (calls > 0) {
        fprintf(stderr, "count_mpi: %d calls\n", calls);
        _exit(1);
    }
}

static const char *
in_dir(const char *dir, const char *name)
{
    static char path[4096];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void
check(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "count_mpi: %s\n", what);
        _exit(1);
    }
}

static void
use_files(const char *dir)
{
    hid_t file = H5Fcreate(in_dir(dir, "new.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

    check(file >= 0 && H5Fclose(file) >= 0, "a new file");
    file = H5Fopen(in_dir(dir, "new.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
    check(file >= 0 && H5Gclose(H5Gcreate2(file, "g", 0, 0, 0)) >= 0, "a change");
    check(H5Fclose(file) >= 0, "closing it");
    check(H5Fdelete(in_dir(dir, "new.h5"), H5P_DEFAULT) >= 0, "deleting it");
    H5E_BEGIN_TRY
    {
        file = H5Fopen(in_dir(dir, "none.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
    }
    H5E_END_TRY
    check(file < 0, "a missing file");
}

int
main(int argc, char **argv)
{
    hid_t file, left;

    if (argc != 3)
        return 2;
    atexit(at_end); /* before HDF5's: runs after them */
    if (strcmp(argv[1], "never") == 0) {
        forbidden = 1;
        use_files(argv[2]);
        left = H5Fcreate(in_dir(argv[2], "left.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        check(left >= 0, "a file to be left open");
        return 0;
    }
    forbidden = 1; /* before MPI_Init, too */
    use_files(argv[2]);
    forbidden = 0;
    MPI_Init(&argc, &argv);
    file = H5Fcreate(in_dir(argv[2], "ours.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    check(file >= 0 && H5Fclose(file) >= 0, "a file while MPI works");
    file = H5Fcreate(in_dir(argv[2], "late.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    left = H5Fcreate(in_dir(argv[2], "left.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    MPI_Finalize();
    forbidden = 1;
    check(left >= 0 && file >= 0 && H5Fclose(file) >= 0, "closing after MPI_Finalize");
    use_files(argv[2]);
    return 0;
}
