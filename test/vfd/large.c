/* large DIR MODE [MIB]: every rank has DIR/large_<rank>.h5; that of rank 0 is a dataset of more than 4 GiB that is
 * sparse on disk; or it is of so many MiB, and that of rank 1 of a fifth.
 * Run by nightly_large.sh and test_rebuilding.sh.
 *
 *   create   made, with a few pieces written: at the begin, around 4 GiB, at the end
 *   update   one more piece beyond 4 GiB
 *   check    opened and read: the pieces are there, what lies between them is zero; exit status 0 if so */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1000 };

static const hsize_t giga = (hsize_t)1 << 30;
static int           rank;
static hsize_t       mib; /* 0: not given */

/* Where rank 0 has pieces; the last one comes with the update. */
static const unsigned long long places[] = {0, ((unsigned long long)4 << 30) - 300, 4400000000ull,
                                            4500000000ull - PIECE, 4300000000ull};

static hsize_t
size_of(void)
{
    if (mib > 0 && rank < 2)
        return (mib << 20) / (rank == 0 ? 1 : 5);
    return rank == 0 ? 4500000000ull : 50000;
}

static hsize_t
place(int i)
{
    if (mib > 0 && rank < 2)
        return (size_of() - PIECE) / 4 * (hsize_t)i;
    return rank == 0 ? places[i] : (hsize_t)i * 2000;
}

static void
fill(unsigned char *to, hsize_t off)
{
    for (int i = 0; i < PIECE; i++)
        to[i] = (unsigned char)((off + (hsize_t)i) * 7 + off / giga + (hsize_t)rank + 1);
}

static int
pieces(hid_t set, int first, int last, int (*each)(hid_t set, hid_t mem, hid_t space, hsize_t off))
{
    int wrong = 0;

    for (int i = first; i <= last; i++) {
        hsize_t off = place(i), len = PIECE;
        hid_t   space = H5Dget_space(set), mem = H5Screate_simple(1, &len, NULL);

        wrong += H5Sselect_hyperslab(space, H5S_SELECT_SET, &off, NULL, &len, NULL) < 0;
        wrong += each(set, mem, space, off);
        H5Sclose(space);
        H5Sclose(mem);
    }
    return wrong;
}

static int
write_piece(hid_t set, hid_t mem, hid_t space, hsize_t off)
{
    unsigned char buf[PIECE];

    fill(buf, off);
    return H5Dwrite(set, H5T_NATIVE_UCHAR, mem, space, H5P_DEFAULT, buf) < 0;
}

static int
read_piece(hid_t set, hid_t mem, hid_t space, hsize_t off)
{
    unsigned char buf[PIECE], want[PIECE];

    fill(want, off);
    return H5Dread(set, H5T_NATIVE_UCHAR, mem, space, H5P_DEFAULT, buf) < 0 ||
           memcmp(buf, want, PIECE) != 0;
}

static int
make(const char *path)
{
    hsize_t size = size_of();
    hid_t   file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t   space = H5Screate_simple(1, &size, NULL), how = H5Pcreate(H5P_DATASET_CREATE), set;
    int     wrong = H5Pset_fill_time(how, H5D_FILL_TIME_NEVER) < 0;

    set = H5Dcreate2(file, "x", H5T_NATIVE_UCHAR, space, H5P_DEFAULT, how, H5P_DEFAULT);
    wrong += pieces(set, 0, 3, write_piece);
    H5Dclose(set);
    H5Pclose(how);
    H5Sclose(space);
    return wrong + (H5Fclose(file) < 0);
}

static int
use(const char *path, unsigned flags, int first, int last,
    int (*each)(hid_t set, hid_t mem, hid_t space, hsize_t off))
{
    hid_t file = H5Fopen(path, flags, H5P_DEFAULT), set;
    int   wrong;

    if (file < 0)
        return 1;
    set = H5Dopen2(file, "x", H5P_DEFAULT);
    wrong = pieces(set, first, last, each);
    H5Dclose(set);
    return wrong + (H5Fclose(file) < 0);
}

int
main(int argc, char **argv)
{
    char path[4096];
    int  wrong = 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    mib = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;
    snprintf(path, sizeof path, "%s/large_%d.h5", argc >= 3 ? argv[1] : ".", rank);
    if (argc >= 3 && strcmp(argv[2], "create") == 0)
        wrong = make(path);
    else if (argc >= 3 && strcmp(argv[2], "update") == 0)
        wrong = use(path, H5F_ACC_RDWR, 4, 4, write_piece);
    else if (argc >= 3 && strcmp(argv[2], "check") == 0)
        wrong = use(path, H5F_ACC_RDONLY, 0, mib > 0 ? 3 : 4, read_piece);
    if (wrong != 0)
        fprintf(stderr, "rank %d: %d wrong\n", rank, wrong);
    MPI_Finalize();
    return wrong != 0;
}
