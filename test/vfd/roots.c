/* roots.c - a small MPI + HDF5 program with a file of one rank, DIR/meta.h5, and one of each rank, DIR/data_<rank>.h5. It is
 * not linked with redset and knows nothing of it.
 *
 *   roots DIR SIZE SEED STEP...    one step after the other on all ranks:
 *     meta        rank 0 creates the file of one rank, and no other rank calls anything
 *     meta1       rank 1 does
 *     data        each rank creates its own
 *     read        all ranks open the file of one rank, and then their own
 *     see         all ranks open the file of one rank
 *     alone       rank 2 opens it, and no other rank does
 *     next        from here on contents are those of the next seed
 *     change      all ranks open the file of one rank for change, and rank 0 changes it to the seed that counts now
 *     append      rank 0 opens the file of one rank and changes it to the seed that counts now
 *     wait        all ranks come together
 *     killed      all ranks end by SIGKILL
 *
 * SIZE and SEED as in ranks.c. Exit status as of ranks.c: 0 all is right, 3 refused on every rank, 4 ranks disagree, 5 content
 * is wrong.
 */
#include "seeds.h"

#include <signal.h>
#include <unistd.h>

static int         me;
static const char *size_text;

/* The file of one rank has the content of rank 0. */
static void
name_meta(void)
{
    rank = 0;
    name_file(dir, size_text);
    snprintf(path, sizeof path, "%s/meta.h5", dir);
}

static void
name_own(void)
{
    rank = me;
    name_file(dir, size_text);
}

static int
create_file(void)
{
    hid_t file = tried(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    int   result = file < 0 ? REFUSED : write_dataset(file, 0, 1);

    if (result == RIGHT)
        result = write_dataset(file, 1, 1);
    return file >= 0 && tried(H5Fclose(file)) < 0 ? REFUSED : result;
}

static int
change_file(void)
{
    hid_t file = tried(H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT));
    int   result = file < 0 ? REFUSED : write_dataset(file, 0, 0);

    if (result == RIGHT)
        result = write_dataset(file, 1, 0);
    return file >= 0 && tried(H5Fclose(file)) < 0 ? REFUSED : result;
}

/* Where others change it. */
static int
hold_file(void)
{
    hid_t file = tried(H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT));

    return file < 0 || tried(H5Fclose(file)) < 0 ? REFUSED : RIGHT;
}

static int
check_file(void)
{
    hid_t file = tried(H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
    int   result = file < 0 ? REFUSED : check_dataset(file, 0);

    if (result == RIGHT)
        result = check_dataset(file, 1);
    return file >= 0 && tried(H5Fclose(file)) < 0 ? REFUSED : result;
}

/* One result for all ranks; the first that has something to say says it. */
static int
agreed(int mine)
{
    int least = mine, most = mine, speaker = why >= 0 ? me : ranks;

    MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &speaker, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (speaker == me)
        H5Eprint2(why, stderr);
    return least == most || most == WRONG ? most : DISAGREE;
}

static int
step(const char *what)
{
    int result = RIGHT;

    name_meta();
    if (strcmp(what, "meta") == 0)
        return me == 0 ? create_file() : RIGHT;
    if (strcmp(what, "meta1") == 0)
        return me == 1 ? create_file() : RIGHT;
    if (strcmp(what, "append") == 0)
        return me == 0 ? change_file() : RIGHT;
    if (strcmp(what, "change") == 0)
        return agreed(me == 0 ? change_file() : hold_file());
    if (strcmp(what, "alone") == 0)
        return agreed(me == 2 ? check_file() : RIGHT);
    if (strcmp(what, "next") == 0) {
        seed[0]++;
        seed[1]++;
        return RIGHT;
    }
    if (strcmp(what, "wait") == 0 || strcmp(what, "killed") == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (what[0] == 'k')
            raise(SIGKILL);
        return RIGHT;
    }
    if (strcmp(what, "see") == 0 || strcmp(what, "read") == 0)
        result = agreed(check_file());
    if (result != RIGHT || what[0] == 's')
        return result;
    name_own();
    if (strcmp(what, "read") == 0)
        return agreed(check_file());
    return strcmp(what, "data") == 0 ? agreed(create_file()) : USAGE;
}

int
main(int argc, char **argv)
{
    int status;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    status = H5open() < 0 ? REFUSED : RIGHT;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (argc < 5)
        status = USAGE;
    if (status == RIGHT) {
        dir = argv[1];
        size_text = argv[2];
        take_seed(argv[3]);
    }
    for (int i = 4; status == RIGHT && i < argc; i++)
        status = step(argv[i]);
    if (status == USAGE && me == 0)
        fprintf(stderr, "usage: roots DIR SIZE SEED STEP...\n");
    MPI_Finalize();
    return status;
}
