/* pair.c - an MPI + HDF5 program in which each rank has two files, DIR/data_<rank>.h5 and DIR/data_parts_<rank>.h5. It is not
 * linked with redset and knows nothing of it.
 *
 *   pair DIR write N     both are created with content N; odd ranks close the second one first
 *   pair DIR update N    both are opened, and a part of each gets content N
 *   pair DIR reopen N    the first is created with content N, closed, opened, read and closed; then the second is created
 *   pair DIR read        both are opened and read; rank 0 prints what is in them, "1 1": the same on all ranks
 *
 * Exit status 0: done; 3: a file could not be opened or closed; 4: ranks have different contents; 5: neither content. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 4000, PART = 700, USAGE = 1, REFUSED = 3, DISAGREE = 4, WRONG = 5 };

static int rank;

static void
name_file(char path[4096], const char *dir, int which)
{
    snprintf(path, 4096, "%s/data_%s%d.h5", dir, which == 0 ? "" : "parts_", rank);
}

static void
give_up(int status)
{
    MPI_Abort(MPI_COMM_WORLD, status);
}

static void
write_numbers(hid_t file, int which, int content, int n)
{
    int     numbers[NUMBERS];
    hsize_t size = NUMBERS, some = (hsize_t)n, from = 0;
    hid_t   all = H5Screate_simple(1, &size, NULL), memory = H5Screate_simple(1, &some, NULL), set;

    for (int i = 0; i < n; i++)
        numbers[i] = 1000000 * content + 1000 * (2 * rank + which) + i % 1000;
    set = H5Lexists(file, "numbers", H5P_DEFAULT) > 0
              ? H5Dopen2(file, "numbers", H5P_DEFAULT)
              : H5Dcreate2(file, "numbers", H5T_NATIVE_INT, all, H5P_DEFAULT, H5P_DEFAULT,
                           H5P_DEFAULT);
    H5Sselect_hyperslab(all, H5S_SELECT_SET, &from, NULL, &some, NULL);
    if (H5Dwrite(set, H5T_NATIVE_INT, memory, all, H5P_DEFAULT, numbers) < 0)
        give_up(USAGE);
    H5Dclose(set);
    H5Sclose(memory);
    H5Sclose(all);
}

/* The content that the part has; -1: it is none. */
static int
content_of(hid_t file, int which)
{
    int   numbers[NUMBERS] = {0}, content;
    hid_t set = H5Dopen2(file, "numbers", H5P_DEFAULT);

    if (set < 0 || H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers) < 0)
        return -1;
    H5Dclose(set);
    content = numbers[0] / 1000000;
    for (int i = 0; i < PART; i++)
        if (numbers[i] != 1000000 * content + 1000 * (2 * rank + which) + i % 1000)
            return -1;
    return content;
}

/* All write, then all close, odd ranks in the other order. */
static int
change(const char *dir, int content, int creates)
{
    hid_t file[2];
    char  path[4096];
    int   status = 0;

    for (int i = 0; i < 2; i++) {
        name_file(path, dir, i);
        file[i] = creates ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)
                          : H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        if (file[i] < 0)
            return REFUSED;
        write_numbers(file[i], i, content, creates ? NUMBERS : PART);
    }
    for (int i = 0; i < 2; i++)
        if (H5Fclose(file[(i + rank) % 2]) < 0)
            status = REFUSED;
    return status;
}

static int
reopen(const char *dir, int content)
{
    char  path[4096];
    int   status = 0;
    hid_t file;

    for (int i = 0; i < 2; i++) {
        name_file(path, dir, i);
        file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        write_numbers(file, i, content, NUMBERS);
        H5Fclose(file);
        file = i == 0 ? H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT) : -1;
        if (i == 0 && (file < 0 || content_of(file, 0) != content))
            status = WRONG;
        if (file >= 0)
            H5Fclose(file);
    }
    return status;
}

static int
read_both(const char *dir)
{
    int  is[2], least[2], most[2];
    char path[4096];

    for (int i = 0; i < 2; i++) {
        hid_t file;

        name_file(path, dir, i);
        file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        if (file < 0)
            return REFUSED;
        is[i] = content_of(file, i);
        H5Fclose(file);
    }
    MPI_Allreduce(is, least, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(is, most, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d %d\n", least[0], least[1]);
    if (least[0] < 0 || least[1] < 0)
        return WRONG;
    return memcmp(least, most, sizeof least) == 0 ? 0 : DISAGREE;
}

int
main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[2] : "";
    const int   content = argc > 3 ? atoi(argv[3]) : 0;
    int         status = USAGE;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(what, "write") == 0 || strcmp(what, "update") == 0)
        status = change(argv[1], content, what[0] == 'w');
    else if (strcmp(what, "reopen") == 0)
        status = reopen(argv[1], content);
    else if (strcmp(what, "read") == 0)
        status = read_both(argv[1]);
    MPI_Finalize();
    return status;
}
