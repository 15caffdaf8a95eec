/* starts.c: a program that goes on with its checkpoint, or where that is refused starts from zero and creates its files anew.
 *
 *   starts over   DIR SIZE SEED     opens the file for change; refused: creates over it (H5F_ACC_TRUNC)
 *   starts append DIR SIZE SEED     the same as h5py's mode 'a' does it: refused: creates it where it is not (H5F_ACC_EXCL)
 *   starts delete DIR SIZE SEED     refused: H5Fdelete, and creates it
 *   starts one    DIR SIZE SEED     all open; refused: rank 0 alone creates over its file
 *
 * Files and contents as for ranks.c; exit status as well: 0 where all ranks went on or all have started from zero, which is printed. */
#include "seeds.h"

static int
create(unsigned flags)
{
    hid_t file = tried(H5Fcreate(path, flags, H5P_DEFAULT, H5P_DEFAULT));

    if (file < 0)
        return REFUSED;
    if (write_dataset(file, 0, 1) != RIGHT || write_dataset(file, 1, 1) != RIGHT)
        return IN_BETWEEN;
    return tried(H5Fclose(file)) < 0 ? REFUSED : RIGHT;
}

static int
start(const char *how)
{
    if (strcmp(how, "append") == 0)
        return create(H5F_ACC_EXCL);
    if (strcmp(how, "delete") == 0)
        (void)H5Fdelete(path, H5P_DEFAULT); /* fails where nothing is */
    if (strcmp(how, "one") == 0 && rank != 0)
        return REFUSED;
    return create(H5F_ACC_TRUNC);
}

int
main(int argc, char **argv)
{
    int   mine, least, most;
    hid_t file;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 5)
        MPI_Abort(MPI_COMM_WORLD, USAGE);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    name_file(argv[2], argv[3]);
    take_seed(argv[4]);
    file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    mine = file >= 0 ? (H5Fclose(file) < 0 ? REFUSED : RIGHT) : start(argv[1]);
    MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0 && most == RIGHT)
        puts(file >= 0 ? "went on" : "started from zero");
    if (why >= 0 && mine != RIGHT)
        H5Eprint2(why, stderr);
    MPI_Finalize();
    return least == most ? most : DISAGREE;
}
