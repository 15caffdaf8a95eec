/* refused.c: what cannot be protected, or changed, is refused before anything is written; and files that only rank 0 has.
 *
 *     refused create|open|open_nobody DIR/NAME     %d in NAME stands for the rank
 *     refused muted DIR/NAME                       opened three times, the error stack muted
 *     refused left_open DIR                        rank 0 alone creates two files, and closes none
 *
 * Each rank prints one line: "rank R: ok", or "rank R: STEP: " and what the driver says. */
#include "said.h"

#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *step = "";

/* Did the step succeed? */
static int
did(const char *what, hid_t result)
{
    if (result < 0 && step[0] == '\0')
        step = what;
    return result >= 0;
}

static void
write_data(hid_t file, int create)
{
    int     data[1000] = {1, 2, 3};
    hsize_t n = 1000;
    hid_t   space = H5Screate_simple(1, &n, NULL);
    hid_t   set =
        create ? H5Dcreate2(file, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)
                 : H5Dopen2(file, "d", H5P_DEFAULT);

    if (!create)
        data[7] = 8;
    (void)did("write", set);
    (void)did("write", H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
    (void)did("write", H5Dclose(set));
    (void)H5Sclose(space);
}

static void
leave_open(const char *dir, int rank)
{
    char name[1024];

    for (int i = 0; rank == 0 && i < 2; i++) {
        snprintf(name, sizeof name, "%s/%s.h5", dir, i == 0 ? "dump" : "trace");
        write_data(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), 1);
    }
}

int
main(int argc, char **argv)
{
    char  name[1024];
    int   rank = 0, create;
    hid_t file;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 3)
        return 2;
    if (strcmp(argv[1], "left_open") == 0) {
        leave_open(argv[2], rank);
        MPI_Finalize();
        return 0;
    }
    create = strcmp(argv[1], "create") == 0;
    if (strcmp(argv[1], "open_nobody") == 0 && seteuid(65534) != 0)
        return 2;
    snprintf(name, sizeof name, "%.*s%d%s", (int)strcspn(argv[2], "%"), argv[2], rank,
             strstr(argv[2], "%d") != NULL ? strstr(argv[2], "%d") + 2 : "");
    if (strcmp(argv[1], "muted") == 0)
        H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    else
        H5Eset_auto2(H5E_DEFAULT, on_error, NULL);
    for (int i = 0; i < 2 && strcmp(argv[1], "muted") == 0; i++)
        (void)did("open", H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT));
    file = create ? H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)
                  : H5Fopen(name, H5F_ACC_RDWR, H5P_DEFAULT);
    if (did("open", file)) {
        write_data(file, create);
        (void)did("close", H5Fclose(file));
    }
    printf("rank %d: %s%s%s\n", rank, step[0] != '\0' ? step : "ok", said[0] != '\0' ? ": " : "",
           said);
    fflush(stdout); /* mpirun ends the others when one fails */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return step[0] != '\0';
}
