/* changes.c - changes files that `ranks write` made, and does not come to a good end; and looks at a file
 * that is being changed. Knows nothing of redset, as ranks.c.
 *
 *   changes HOW WHEN DIR     each rank: DIR/data_<rank>.h5
 *
 * HOW     update    opened for writing, part of its dataset is written
 *         create    H5Fcreate with H5F_ACC_TRUNC, a new dataset
 *         latest    the same in the latest format, whose superblock says who has the file open
 *         grow      as create, with a dataset of 100,000 bytes
 *         rewrite   opened for writing, all of its dataset is written
 *         one       opened for writing by all; rank 0 writes a part of its dataset
 *         look      opened for reading and closed again, whatever WHEN
 * WHEN    killed    after the changes are flushed, every rank is killed
 *         killed1   the same, by rank 1 alone
 *         finalized MPI_Finalize first, then H5Fclose
 *         more      the same, with one more change in between
 *         full      MPI_Finalize with what HDF5 still holds; from then on rank 2's disk is full
 *         open      looked at under its name while it is open, then closed
 *
 * Exit status 0, or 1 with a line on standard error that says what was not as it should be. */
#include <hdf5.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECK(ok)                                                                                  \
    do {                                                                                           \
        if (!(ok)) {                                                                               \
            fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, rank, #ok);                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static int  rank;
static char path[4096];
static int  length = 3000; /* of what is written */

static void
write_some(hid_t file, const char *name, int create, int seed)
{
    static unsigned char data[100000];
    hsize_t              size = length, start = 100;
    hid_t                space = H5Screate_simple(1, &size, NULL), set, all;

    memset(data, seed + rank, sizeof data);
    set = create
              ? H5Dcreate2(file, name, H5T_STD_U8LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)
              : H5Dopen2(file, name, H5P_DEFAULT);
    CHECK(set >= 0);
    all = H5Dget_space(set);
    if (!create)
        CHECK(H5Sselect_hyperslab(all, H5S_SELECT_SET, &start, NULL, &size, NULL) >= 0);
    CHECK(H5Dwrite(set, H5T_NATIVE_UINT8, space, all, H5P_DEFAULT, data) >= 0);
    CHECK(H5Sclose(all) >= 0 && H5Sclose(space) >= 0 && H5Dclose(set) >= 0);
}

/* While it is open it is one file under one name in this process. */
static void
look(hid_t file, int created)
{
    char        name[4096], link[sizeof path + 8];
    hsize_t     size = 0, size2 = 0;
    struct stat sb;
    hid_t       again;

    snprintf(link, sizeof link, "%s.link", path);
    CHECK(H5Fget_name(file, name, sizeof name) > 0 && strcmp(name, path) == 0);
    CHECK(stat(path, &sb) == 0);
    CHECK(H5Fget_filesize(file, &size) >= 0);
    CHECK(H5Fis_accessible(path, H5P_DEFAULT) > 0);
    again = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    CHECK(again >= 0);
    CHECK(H5Fget_filesize(again, &size2) >= 0 && size2 == size);
    CHECK(H5Lexists(again, "new", H5P_DEFAULT) == (created ? 1 : 0));
    CHECK(H5Lexists(again, "whole", H5P_DEFAULT) == (created ? 0 : 1));
    write_some(again, "through_the_other", 1, 50);
    CHECK(H5Fclose(again) >= 0);
    CHECK(H5Lexists(file, "through_the_other", H5P_DEFAULT) == 1);
    CHECK(symlink(path, link) == 0);
    again = H5Fopen(link, H5F_ACC_RDWR, H5P_DEFAULT);
    CHECK(again >= 0);
    CHECK(H5Lexists(again, "through_the_other", H5P_DEFAULT) == 1 && H5Fclose(again) >= 0);
    CHECK(unlink(link) == 0);
    H5E_BEGIN_TRY
    {
        again = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        CHECK(again < 0);
        again = H5Fcreate(path, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT);
        CHECK(again < 0);
    }
    H5E_END_TRY
}

/* What HDF5 still holds, metadata behind the data, does not fit; redundancy of the file would. */
static void
disk_is_full(hid_t file)
{
    const struct rlimit few = {40000, RLIM_INFINITY};

    for (char name[] = "a"; *name <= 't'; ++*name)
        CHECK(H5Gclose(H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)) >= 0);
    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &few) == 0);
}

static void
end(const char *when, hid_t file, int created)
{
    if (strcmp(when, "full") == 0) {
        if (rank == 2)
            disk_is_full(file);
        MPI_Finalize();
        H5E_BEGIN_TRY
        {
            (void)H5Fclose(file);
        }
        H5E_END_TRY
        return;
    }
    if (strcmp(when, "open") == 0)
        look(file, created);
    CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
    if (strcmp(when, "killed") == 0 || strcmp(when, "killed1") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(when, "killed") == 0 || (strcmp(when, "killed1") == 0 && rank == 1))
        raise(SIGKILL);
    if (strcmp(when, "finalized") == 0 || strcmp(when, "more") == 0)
        MPI_Finalize();
    if (strcmp(when, "more") == 0)
        write_some(file, created ? "new" : "whole", 0, 70);
    CHECK(H5Fclose(file) >= 0);
}

int
main(int argc, char **argv)
{
    int   created, finalized = 0, latest, look;
    hid_t file, fapl = H5Pcreate(H5P_FILE_ACCESS);

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(argc == 4);
    snprintf(path, sizeof path, "%s/data_%d.h5", argv[3], rank);
    latest = strcmp(argv[1], "latest") == 0;
    if (strcmp(argv[1], "grow") == 0)
        length = 100000;
    if (strcmp(argv[1], "rewrite") == 0)
        length = 19000;
    if (strcmp(argv[2], "full") == 0)
        length = 60000;
    look = strcmp(argv[1], "look") == 0;
    created = latest || strcmp(argv[1], "create") == 0 || strcmp(argv[1], "grow") == 0;
    if (latest)
        CHECK(H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST) >= 0);
    file = created ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl)
                   : H5Fopen(path, look ? H5F_ACC_RDONLY : H5F_ACC_RDWR, H5P_DEFAULT);
    CHECK(file >= 0 && H5Pclose(fapl) >= 0);
    if (created)
        write_some(file, "new", 1, 10);
    else if (!look && (rank == 0 || strcmp(argv[1], "one") != 0))
        write_some(file, "whole", 0, 10);
    if (look)
        CHECK(H5Fclose(file) >= 0);
    else
        end(argv[2], file, created);
    MPI_Finalized(&finalized);
    if (!finalized)
        MPI_Finalize();
    return 0;
}
