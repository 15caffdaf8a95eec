/* deletes.c - an MPI + HDF5 program that writes one file per rank and step, DIR/ckpt_<step>_<rank>.h5, and deletes what is older
 * than KEEP steps itself. It is not linked with redset and knows nothing of it.
 *
 *   deletes DIR FIRST STEPS KEEP [RANK]   this RANK keeps all of its own
 *   deletes DIR read STEP                 opens that step for reading
 *
 * Exit status, the same on all ranks: 0 all is right; 3 HDF5 has refused something on all ranks; 4 on some. */
#include <hdf5.h>
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VALUES = 3000 };

static int rank, refused;

static const char *
path(const char *dir, int step)
{
    static char text[4096];

    snprintf(text, sizeof text, "%s/ckpt_%d_%d.h5", dir, step, rank);
    return text;
}

static void
write_step(const char *dir, int step)
{
    const hsize_t n = VALUES;
    int           values[VALUES];
    const hid_t   file = H5Fcreate(path(dir, step), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t   space = H5Screate_simple(1, &n, NULL);
    const hid_t   set =
        H5Dcreate2(file, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

    for (int i = 0; i < VALUES; i++)
        values[i] = step * 1000 + rank + i;
    refused |= H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0;
    H5Dclose(set);
    H5Sclose(space);
    refused |= H5Fclose(file) < 0;
}

static void
read_step(const char *dir, int step)
{
    const hid_t file = H5Fopen(path(dir, step), H5F_ACC_RDONLY, H5P_DEFAULT);

    refused |= file < 0;
    if (file >= 0)
        H5Fclose(file);
}

int
main(int argc, char **argv)
{
    int some, all;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc == 4 && strcmp(argv[2], "read") == 0) {
        read_step(argv[1], atoi(argv[3]));
    } else if (argc >= 5) {
        const int first = atoi(argv[2]), keep = atoi(argv[4]);

        for (int s = first; s < first + atoi(argv[3]); s++) {
            write_step(argv[1], s);
            if (argc < 6 || atoi(argv[5]) != rank)
                unlink(path(argv[1], s - keep));
        }
    } else {
        refused = 1;
    }
    MPI_Allreduce(&refused, &some, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&refused, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Finalize();
    return all ? 3 : some ? 4 : 0;
}
