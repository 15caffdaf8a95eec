/* link_rename CASE DIR NAME [NAME | SEED]: HDF5 files that get other names, DIR/node<r>/NAME.<r>.h5 of each rank r. Links the
 * driver; the settings are those of HDF5_DRIVER_CONFIG. Run by test_rename.sh, which loses files between the cases, and
 * kills this in the middle.
 *
 *   write DIR NAME SEED      the files are created
 *   read DIR NAME SEED       they are opened for reading, and have this content
 *   change DIR NAME SEED     the same, opened for writing; nothing is changed
 *   gone DIR NAME            they cannot be opened
 *   rename DIR OLD NEW       is expected to succeed; `refused`, to fail
 *   own DIR OLD NEW          files are created and renamed by the ranks of a communicator of their own
 *
 * Exit status 0 when all is right; each check that is not prints a line. What rank r says is in DIR.said.<r>, so that lines
 * of one rank stay in one piece. */
#include "H5FDredset.h"
#include "link_values.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hid_t
with_driver(MPI_Comm comm)
{
    hid_t                fapl = H5Pcreate(H5P_FILE_ACCESS);
    H5FD_redset_config_t config;

    if (comm == MPI_COMM_NULL) {
        CHECK(H5Pset_fapl_redset(fapl, NULL) >= 0);
        return fapl;
    }
    H5FD_redset_config_init(&config);
    config.comm = comm;
    CHECK(H5Pset_fapl_redset(fapl, &config) >= 0);
    return fapl;
}

static void
create(const char *name, int seed, MPI_Comm comm)
{
    hid_t fapl = with_driver(comm);
    hid_t file = H5Fcreate(path_of(name), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);

    write_values(file, seed);
    CHECK(H5Fclose(file) >= 0);
    (void)H5Pclose(fapl);
}

static hid_t
open_file(const char *name, unsigned flags)
{
    hid_t fapl = with_driver(MPI_COMM_NULL);
    hid_t file = H5Fopen(path_of(name), flags, fapl);

    (void)H5Pclose(fapl);
    return file;
}

/* ---- cases ---- */

static void
case_write(const char *name, const char *seed)
{
    create(name, atoi(seed), MPI_COMM_NULL);
}

static void
case_read(const char *name, const char *seed)
{
    compare_values(open_file(name, H5F_ACC_RDONLY), atoi(seed));
}

static void
case_change(const char *name, const char *seed)
{
    compare_values(open_file(name, H5F_ACC_RDWR), atoi(seed));
}

static void
case_gone(const char *name, const char *unused)
{
    (void)unused;
    CHECK(open_file(name, H5F_ACC_RDONLY) < 0);
}

static void
case_rename(const char *old, const char *new)
{
    CHECK(H5FDredset_rename(path_of(old), path_of(new)) == 0);
}

static void
case_refused(const char *old, const char *new)
{
    CHECK(H5FDredset_rename(path_of(old), path_of(new)) < 0);
}

/* In the order of that communicator rank r is another rank, and stands beside others. */
static void
case_own(const char *old, const char *new)
{
    MPI_Comm comm;

    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, -rank, &comm);
    create(old, 1, comm);
    case_rename(old, new);
    MPI_Comm_free(&comm);
}

static const struct {
    const char *name;
    void (*run)(const char *, const char *);
} cases[] = {
    {"write", case_write}, {"read", case_read},     {"change", case_change},
    {"gone", case_gone},   {"rename", case_rename}, {"refused", case_refused},
    {"own", case_own},
};

int
main(int argc, char **argv)
{
    char said[4096];
    bool known = false;

    if (argc < 4)
        return 1;
    dir = argv[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(said, sizeof said, "%s.said.%d", dir, rank);
    if (freopen(said, "w", stderr) == NULL)
        return 1;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run(argv[3], argc > 4 ? argv[4] : "");
            known = true;
        }
    MPI_Finalize();
    return wrong != 0 || !known;
}
