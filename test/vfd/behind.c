/* behind.c - an MPI + HDF5 program for test_behind.sh: all ranks open their files (seeds.h), read them, and stay open until
 * the driver has found that a file beside them is damaged, which it does behind the open.
 *
 *   behind DIR SIZE SEED r|w FILE      FILE: the damaged one, on which the driver then leaves a mark
 *
 * It is not linked with redset. Exit status as that of ranks.c. */
#include "seeds.h"

#include <sys/xattr.h>
#include <unistd.h>

enum { PATIENCE = 120 }; /* seconds, for a machine that does much else */

static int
is_marked(const char *file)
{
    return getxattr(file, "user.redset", NULL, 0) >= 0;
}

static int
wait_for_mark(const char *file)
{
    for (int i = 0; i < PATIENCE * 100 && !is_marked(file); i++)
        usleep(10000);
    if (is_marked(file))
        return RIGHT;
    complain("%s: no damage was found in it behind the open", file);
    return WRONG;
}

static int
run(const char *mode, const char *file)
{
    hid_t handle = H5Fopen(path, *mode == 'w' ? H5F_ACC_RDWR : H5F_ACC_RDONLY, H5P_DEFAULT);
    int   result = handle < 0 ? REFUSED : check_dataset(handle, 0);

    MPI_Barrier(MPI_COMM_WORLD);
    if (result == RIGHT)
        result = wait_for_mark(file);
    return handle >= 0 && H5Fclose(handle) < 0 ? REFUSED : result;
}

int
main(int argc, char **argv)
{
    int result;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 6)
        MPI_Abort(MPI_COMM_WORLD, USAGE);
    name_file(argv[1], argv[2]);
    take_seed(argv[3]);
    result = run(argv[4], argv[5]);
    MPI_Allreduce(MPI_IN_PLACE, &result, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return result;
}
