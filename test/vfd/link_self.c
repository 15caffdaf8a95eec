/* link_self DIR CASE: an MPI program whose ranks protect their files alone, with MPI_COMM_SELF and scheme SINGLE. For
 * test_single.sh.
 *
 *     turns    rank 1 never opens a file; the others create, change and read files of one kind, one rank after the other,
 *              and each hears from the one before only when that has closed its files
 *     open     all leave a file open in MPI_Finalize, and change it once more afterwards
 *     async    the files are closed in the background (async=yes), and H5FDredset_wait is asked for each
 *     theirs   rank 0 alone changes DIR/data_0.h5, which is there, and belongs to all ranks
 *
 * Nobody is waited for: where a rank were, nobody would ever come. Exit status 0: all is right. */
#include "H5FDredset.h"
#include "link_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES = 50000, TAG = 7 };

static int         values[VALUES], found[VALUES], ranks;
static const char *dir;

static hid_t
alone(int async)
{
    hid_t                fapl = H5Pcreate(H5P_FILE_ACCESS);
    H5FD_redset_config_t config;

    H5FD_redset_config_init(&config);
    config.comm = MPI_COMM_SELF;
    config.scheme = H5FD_REDSET_SINGLE;
    config.async = async;
    CHECK(H5Pset_fapl_redset(fapl, &config) >= 0);
    return fapl;
}

static const char *
path(void)
{
    static char text[4096];

    snprintf(text, sizeof text, "%s/data_%d.h5", dir, rank);
    return text;
}

static unsigned long long
protected_files(void)
{
    H5FD_redset_stats_t stats = {.size = sizeof stats};

    CHECK(H5FDredset_stats(NULL, &stats) >= 0);
    return stats.files_protected;
}

static void
set_values(int seed)
{
    for (int i = 0; i < VALUES; i++)
        values[i] = i * seed + rank;
}

static void
put(hid_t file, int create)
{
    hsize_t n = VALUES;
    hid_t   space = H5Screate_simple(1, &n, NULL);
    hid_t   set =
        create ? H5Dcreate2(file, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)
                 : H5Dopen2(file, "d", H5P_DEFAULT);

    CHECK(H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    CHECK(H5Dclose(set) >= 0);
    (void)H5Sclose(space);
}

static void
create(hid_t fapl, int seed)
{
    hid_t file = H5Fcreate(path(), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);

    set_values(seed);
    put(file, 1);
    CHECK(H5Fclose(file) >= 0);
}

static void
change(hid_t fapl, int seed)
{
    hid_t file = H5Fopen(path(), H5F_ACC_RDWR, fapl);

    set_values(seed);
    put(file, 0);
    CHECK(H5Fclose(file) >= 0);
}

static void
read_back(hid_t fapl)
{
    hid_t file = H5Fopen(path(), H5F_ACC_RDONLY, fapl);
    hid_t set = H5Dopen2(file, "d", H5P_DEFAULT);

    CHECK(H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, found) >= 0);
    CHECK(memcmp(found, values, sizeof values) == 0);
    CHECK(H5Dclose(set) >= 0 && H5Fclose(file) >= 0);
}

static void
turns(void)
{
    hid_t fapl = alone(0);

    if (rank > 0)
        MPI_Recv(NULL, 0, MPI_INT, rank - 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank != 1) {
        create(fapl, 3);
        CHECK(protected_files() == 1);
        change(fapl, 4);
        read_back(fapl);
        create(fapl, 5);
        CHECK(protected_files() == 3);
    }
    if (rank + 1 < ranks)
        MPI_Send(NULL, 0, MPI_INT, rank + 1, TAG, MPI_COMM_WORLD);
    H5Pclose(fapl);
}

static void
leave_open(void)
{
    hid_t fapl = alone(0);
    hid_t file = H5Fcreate(path(), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);

    set_values(3);
    put(file, 1);
    MPI_Finalize();
    CHECK(protected_files() == 1);
    set_values(4);
    put(file, 0);
    CHECK(H5Fclose(file) >= 0);
    CHECK(protected_files() == 2);
    H5Pclose(fapl);
}

static void
in_background(void)
{
    hid_t fapl = alone(1);

    create(fapl, 3);
    CHECK(H5FDredset_wait(path()) >= 0);
    CHECK(protected_files() == 1);
    change(fapl, 4);
    read_back(fapl); /* waits for it */
    CHECK(protected_files() == 2);
    H5Pclose(fapl);
}

/* Not to be protected by one of them: that is an error of the close. */
static void
theirs(void)
{
    hid_t fapl = alone(0), file;

    if (rank == 0) {
        file = H5Fopen(path(), H5F_ACC_RDWR, fapl);
        CHECK(file >= 0 && H5Gclose(H5Gcreate2(file, "g", 0, 0, 0)) >= 0);
        CHECK(H5Fclose(file) < 0);
        CHECK(protected_files() == 0);
    }
    H5Pclose(fapl);
}

int
main(int argc, char **argv)
{
    int level = 0;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 3)
        return 2;
    dir = argv[1];
    if (strcmp(argv[2], "open") == 0) {
        leave_open();
        return wrong > 0;
    }
    if (strcmp(argv[2], "turns") == 0)
        turns();
    else if (strcmp(argv[2], "async") == 0)
        in_background();
    else
        theirs();
    MPI_Finalize();
    return wrong > 0;
}
