/* link_gone.c - an MPI + HDF5 program linked with redset, on 4 ranks, run by test_odd.sh: link_gone DIR. Each rank creates DIR/<rank>/a.h5.
 * The directory of rank 2 is made by somebody else in the moment before HDF5 creates the file in it, and has another name when the
 * file is closed: the driver has never seen it. All ranks are told; then all is well again. */
#include <H5FDredset.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[4096], path[4200];
static bool late;

/* HDF5's own driver opens the file by one of these. */
static int
open_after_making(const char *name, int flags, mode_t mode)
{
    if (late && (flags & O_CREAT) != 0 && strcmp(name, path) == 0)
        (void)mkdir(directory, 0777);
    return openat(AT_FDCWD, name, flags, mode);
}

#define OPEN(call)                                                                                 \
    __attribute__((visibility("default"))) int call(const char *name, int flags, ...)              \
    {                                                                                              \
        va_list args;                                                                              \
        mode_t  mode;                                                                              \
                                                                                                   \
        va_start(args, flags);                                                                     \
        mode = (flags & O_CREAT) != 0 ? va_arg(args, mode_t) : 0;                                  \
        va_end(args);                                                                              \
        return open_after_making(name, flags, mode);                                               \
    }
OPEN(open)
OPEN(open64)

static bool
create_and_close(hid_t fapl, bool moves)
{
    char  away[4300];
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);

    if (file < 0)
        fprintf(stderr, "%s could not be created\n", path);
    snprintf(away, sizeof away, "%s.away", directory);
    if (moves && rename(directory, away) != 0)
        perror(away);
    return H5Fclose(file) >= 0;
}

int
main(int argc, char **argv)
{
    H5FD_redset_config_t config;
    int                  rank, wrong = 0;
    hid_t                fapl;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 2)
        return 2;
    H5FD_redset_config_init(&config);
    config.timeout = 20;
    config.required = 1;
    fapl = H5Pcreate(H5P_FILE_ACCESS);
    wrong += H5Pset_fapl_redset(fapl, &config) < 0;
    snprintf(directory, sizeof directory, "%s/%d", argv[1], rank);
    snprintf(path, sizeof path, "%s/a_%d.h5", directory, rank);
    late = rank == 2;
    if (!late)
        (void)mkdir(directory, 0777);
    wrong += create_and_close(fapl, rank == 2); /* what is said is looked at as well */
    (void)mkdir(directory, 0777);
    wrong += !create_and_close(fapl, false);
    if (wrong != 0)
        fprintf(stderr, "rank %d: %d not so\n", rank, wrong);
    H5Pclose(fapl);
    MPI_Finalize();
    return wrong != 0;
}
