/* rewrites.c: an MPI program that creates a file on each rank, changes it afterwards by other means than HDF5, and opens it again, all in one
 * run. Not linked with redset.
 *
 *   rewrites HOW DIR SIZE SEED [RANK...]   on these ranks, without any on all
 *
 *   HOW  append  a line is appended
 *        block   a user block is written, for which HDF5 has left room
 *        older   what was there at first, with its time of a day before, takes the place of what was written last
 *
 * Exit status: 0 done, and it holds the same as before; 3 refused, on some rank. */
#include "seeds.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 512 };

static int
create(const char *content)
{
    hid_t fcpl = H5Pcreate(H5P_FILE_CREATE), file;
    int   result;

    take_seed(content);
    H5Pset_userblock(fcpl, BLOCK);
    file = tried(H5Fcreate(path, H5F_ACC_TRUNC, fcpl, H5P_DEFAULT));
    H5Pclose(fcpl);
    if (file < 0)
        return REFUSED;
    result =
        write_dataset(file, 0, 1) == RIGHT && write_dataset(file, 1, 1) == RIGHT ? RIGHT : WRONG;
    return tried(H5Fclose(file)) < 0 ? REFUSED : result;
}

static int
write_text(int flags)
{
    static const char text[] = "a line that the run has written\n";
    const int         fd = open(path, O_WRONLY | flags);
    const int ok = fd >= 0 && write(fd, text, sizeof text - 1) == (ssize_t)(sizeof text - 1);

    return fd >= 0 && close(fd) == 0 && ok ? RIGHT : WRONG;
}

/* Takes a copy of the file beside it, with a time of a day before; or gives it the file's name. */
static int
older(int take)
{
    const struct timespec times[2] = {{.tv_sec = time(NULL) - 86400},
                                      {.tv_sec = time(NULL) - 86400}};
    char                  command[3 * sizeof path], copy[sizeof path + 8];

    snprintf(copy, sizeof copy, "%s.older", path);
    snprintf(command, sizeof command, "cp '%s' '%s'", path, copy);
    if (!take)
        return rename(copy, path) == 0 ? RIGHT : WRONG;
    return system(command) == 0 && utimensat(AT_FDCWD, copy, times, 0) == 0 ? RIGHT : WRONG;
}

static int
change(const char *how)
{
    if (strcmp(how, "append") == 0)
        return write_text(O_APPEND);
    return strcmp(how, "block") == 0 ? write_text(0) : older(0);
}

static int
open_again(void)
{
    hid_t file = tried(H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT));
    int   result;

    if (file < 0)
        return REFUSED;
    result = check_dataset(file, 0) == RIGHT && check_dataset(file, 1) == RIGHT ? RIGHT : WRONG;
    return tried(H5Fclose(file)) < 0 ? REFUSED : result;
}

static int
run(int argc, char **argv)
{
    int mine = argc == 5, result = create(argv[4]);

    for (int i = 5; i < argc; i++)
        mine = mine || atoi(argv[i]) == rank;
    if (result == RIGHT && strcmp(argv[1], "older") == 0) {
        result = older(1);
        if (result == RIGHT)
            result = create("77");
        take_seed(argv[4]);
    }
    if (result == RIGHT && mine)
        result = change(argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    return result == RIGHT ? open_again() : result;
}

int
main(int argc, char **argv)
{
    int result = USAGE;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc > 4) {
        name_file(argv[2], argv[3]);
        result = run(argc, argv);
    }
    MPI_Allreduce(MPI_IN_PLACE, &result, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (result != RIGHT && why >= 0)
        H5Eprint2(why, stderr);
    MPI_Finalize();
    return result;
}
