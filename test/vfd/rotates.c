/* rotates.c: each rank of an MPI program writes one step after the other under a temporary name, and moves it into place by itself: what has
 * the name becomes the one before. Not linked with redset.
 *
 *     rotates DIR SIZE SEED...   DIR/data_<rank>.h5.new becomes DIR/data_<rank>.h5, and that DIR/data_<rank>.h5.old; for each SEED
 *
 * Exit status: 0 done; 3 refused, on some rank. */
#include "seeds.h"

#include <unistd.h>

/* In the place of the file: that is called so from now on. */
static int
turn(const char *written)
{
    char now[sizeof path], before[sizeof path];

    snprintf(now, sizeof now, "%.*s", (int)(strlen(written) - strlen(".new")), written);
    snprintf(before, sizeof before, "%.4000s.old", now);
    if (access(now, F_OK) == 0 && rename(now, before) != 0)
        return REFUSED;
    return rename(written, now) == 0 ? RIGHT : REFUSED;
}

static int
write_step(void)
{
    hid_t file = tried(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));

    if (file < 0 || write_dataset(file, 0, 1) != RIGHT || write_dataset(file, 1, 1) != RIGHT)
        return REFUSED;
    return tried(H5Fclose(file)) < 0 ? REFUSED : RIGHT;
}

int
main(int argc, char **argv)
{
    int result = argc > 3 ? RIGHT : USAGE;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    setenv("NAME_END", ".new", 1);
    for (int i = 3; i < argc && result == RIGHT; i++) {
        name_file(argv[1], argv[2]);
        take_seed(argv[i]);
        result = write_step();
        MPI_Barrier(MPI_COMM_WORLD); /* all of this step are there before any takes its place */
        if (result == RIGHT)
            result = turn(path);
        MPI_Allreduce(MPI_IN_PLACE, &result, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    if (result != RIGHT && why >= 0)
        H5Eprint2(why, stderr);
    MPI_Finalize();
    return result;
}
