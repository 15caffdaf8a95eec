/* link_group.c: files that a program names as ones that are committed together (H5FDredset_group), on all ranks. What HDF5_DRIVER_CONFIG
 * says of together= does not matter here.
 *
 *   link_group DIR group    both are closed: one commit; the first alone is none yet
 *   link_group DIR rename   the first gets another name while it waits for the second: it is protected first
 *   link_group DIR again    they are named each time, also while the first waits
 *   link_group DIR wrong    what cannot be a group
 *
 * Exit status 0: all is as it should be. */
#include "H5FDredset.h"
#include "link_check.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

enum { SIZE = 4096, TIMES = 1000 };

static char first[SIZE], second[SIZE], other[SIZE];

static hid_t
create(const char *path)
{
    const hid_t   fapl = H5Pcreate(H5P_FILE_ACCESS);
    const hsize_t n = 1000;
    hid_t         space = H5Screate_simple(1, &n, NULL), file, set;

    CHECK(H5Pset_fapl_redset(fapl, NULL) >= 0);
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    set = H5Dcreate2(file, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(file >= 0 && set >= 0);
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(fapl);
    return file;
}

static H5FD_redset_status_t
status(const char *path)
{
    H5FD_redset_status_t s = {.size = sizeof s};

    CHECK(H5FDredset_status(path, &s) >= 0);
    return s;
}

static void
name_group(void)
{
    const char *const paths[] = {first, second};

    CHECK(H5FDredset_group(paths, 2) >= 0);
}

static void
case_group(void)
{
    hid_t a, b;

    name_group();
    a = create(first);
    b = create(second);
    CHECK(H5Fclose(a) >= 0);
    CHECK(!status(first).is_protected && strstr(status(first).why, "waits for") != NULL);
    CHECK(strstr(status(second).why, "it is open") != NULL);
    CHECK(H5Fclose(b) >= 0);
    CHECK(status(first).is_protected && status(second).is_protected);
    CHECK(status(first).generation == status(second).generation);
}

static void
case_rename(void)
{
    H5FD_redset_stats_t stats = {.size = sizeof stats};
    hid_t               a, b;

    name_group();
    a = create(first);
    b = create(second);
    CHECK(H5Fclose(a) >= 0);
    CHECK(H5FDredset_rename(first, other) >= 0);
    CHECK(H5FDredset_stats(NULL, &stats) >= 0 &&
          stats.background == 0); /* the program has waited */
    CHECK(status(other).is_protected && !status(first).is_protected);
    CHECK(H5Fclose(b) >= 0);
    CHECK(H5FDredset_wait(second) >= 0 && status(second).is_protected);
}

/* Named once more is the same group: what waits waits for the second as before, and nothing grows. */
static void
case_again(void)
{
    const hid_t a = create(first), b = create(second);
    size_t      before;

    name_group();
    CHECK(H5Fclose(a) >= 0);
    name_group();
    before = mallinfo2().uordblks;
    for (int i = 0; i < TIMES; i++)
        name_group();
    CHECK(mallinfo2().uordblks < before + TIMES * sizeof(void *));
    CHECK(H5Fclose(b) >= 0);
    CHECK(status(first).is_protected && status(second).is_protected);
    CHECK(status(first).generation == status(second).generation);
}

static void
case_wrong(void)
{
    const char *const one[] = {first}, *const far[] = {first, "/elsewhere/b.h5"};
    const char *const twice[] = {first, first}, *const none[] = {first, NULL};

    H5E_BEGIN_TRY
    {
        CHECK(H5FDredset_group(one, 1) < 0);
        CHECK(H5FDredset_group(far, 2) < 0);
        CHECK(H5FDredset_group(NULL, 2) < 0);
        CHECK(H5FDredset_group(twice, 2) < 0);
        CHECK(H5FDredset_group(none, 2) < 0);
    }
    H5E_END_TRY
}

int
main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 3)
        return 2;
    snprintf(first, sizeof first, "%s/a_%d.h5", argv[1], rank);
    snprintf(second, sizeof second, "%s/b_%d.h5", argv[1], rank);
    snprintf(other, sizeof other, "%s/c_%d.h5", argv[1], rank);
    if (strcmp(argv[2], "group") == 0)
        case_group();
    else if (strcmp(argv[2], "rename") == 0)
        case_rename();
    else if (strcmp(argv[2], "again") == 0)
        case_again();
    else
        case_wrong();
    MPI_Finalize();
    return wrong == 0 ? 0 : 1;
}
