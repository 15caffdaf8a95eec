/* link_plain CASE DIR [far]: files that are no HDF5 files, three on each rank r in DIR/node<r>, one of them empty, protected and
 * rebuilt by the calls for that. Links the driver; the settings are those of HDF5_DRIVER_CONFIG. Run by test_plain.sh,
 * which removes and damages files between the cases, and compares them. `far`: the first is in DIR/node<r>/first, the others
 * are in directories of their own, DIR/node<r>/more/empty and more/log, and have one name (test_plain_far.sh).
 *
 *   write      new content; nobody is asked
 *   protect    the files as they are; `again` has new content twice, and protects it twice
 *   recover    is expected to succeed; `never`, to say that they were never protected; `refused`, to fail
 *   moved      the same, where each rank r runs on node r + 1; `stranded`: and does not get them
 *   unprotect
 *   uneven     ranks have one, two or three files
 *   none       rank 2 has no file, and is refused with all others; as are, in the following:
 *   config     the settings are nonsense, or not the same on all ranks
 *   busy       rank 1 changes its file through the driver
 *   twice      rank 1 gives a file twice
 *   strewn     rank 1 has another file in another directory than when they were protected
 *   absent     a file of rank 1 is not there
 *   ours       a file of rank 1 has the name of one of the driver's own
 *   order      rank 1 gives its files in another order when they are to be rebuilt
 *   alone      without MPI: refused
 *   missing    rank 3 does not come to the first call, then all come
 *   others     rank 3 calls something else than the others do
 *   mixed      HDF5 files are written and read through the driver in between, on two communicators
 *
 * Exit status 0 when all is right; each check that is not prints a line. Error records are printed. What rank r says is in
 * DIR.said.<r>, so that lines of one rank stay in one piece. */
#include "H5FDredset.h"
#include "link_check.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FILES = 3 };

static const char *dir;
static bool        far;
static char        names[FILES][4096];
static const char *paths[FILES];

static double
now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
name_files(int node)
{
    static const char *const base[FILES] = {"restart", "empty", "log"};

    for (int i = 0; i < FILES; i++) {
        if (!far)
            snprintf(names[i], sizeof names[i], "%s/node%d/%s.%d.bin", dir, node, base[i], rank);
        else if (i == 0)
            snprintf(names[i], sizeof names[i], "%s/node%d/first/restart.%d.bin", dir, node, rank);
        else
            snprintf(names[i], sizeof names[i], "%s/node%d/more/%s/part.%d.bin", dir, node, base[i],
                     rank);
        paths[i] = names[i];
    }
}

static void
make_dirs(void)
{
    static const char *const under[] = {"", "/first", "/more", "/more/empty", "/more/log"};
    char                     path[4096];

    for (int i = 0; i < (far ? 5 : 1); i++) {
        snprintf(path, sizeof path, "%s/node%d%s", dir, rank, under[i]);
        mkdir(path, 0777);
    }
}

/* Of each rank, file and seed another content and length. */
static void
write_files(unsigned seed)
{
    const size_t sizes[FILES] = {100000 + 7777 * (size_t)rank, 0, 31 * (size_t)(rank + 1)};

    make_dirs();
    for (unsigned i = 0; i < FILES; i++) {
        FILE    *file = fopen(paths[i], "wb");
        unsigned x = seed * 1000 + (unsigned)rank * 10 + i;

        CHECK(file != NULL);
        for (size_t k = 0; file != NULL && k < sizes[i] + (i != 1 ? seed : 0); k++)
            fputc((int)((x = x * 1103515245u + 12345u) >> 16 & 0xff), file);
        CHECK(file != NULL && fclose(file) == 0);
    }
}

static herr_t
protect(int n)
{
    return H5FDredset_protect_files(paths, n, NULL);
}

static herr_t
recover(int n)
{
    return H5FDredset_recover_files(paths, n, NULL);
}

/* ---- cases ---- */

static void
case_write(void)
{
    write_files(1);
}

static void
case_protect(void)
{
    CHECK(protect(FILES) == 0);
}

static void
case_again(void)
{
    for (unsigned seed = 5; seed < 7; seed++) {
        write_files(seed);
        CHECK(protect(FILES) == 0);
    }
}

static void
case_recover(void)
{
    CHECK(recover(FILES) == 0);
}

static void
case_never(void)
{
    CHECK(recover(FILES) == 1);
}

static void
case_moved(void)
{
    name_files((rank + 1) % 4);
    CHECK(recover(FILES) == 0);
}

static void
case_stranded(void)
{
    name_files((rank + 1) % 4);
    CHECK(recover(FILES) != 0);
}

static void
case_refused(void)
{
    CHECK(recover(FILES) < 0);
}

static void
case_unprotect(void)
{
    CHECK(H5FDredset_unprotect_files(paths, FILES, NULL) == 0);
}

static void
case_uneven(void)
{
    const int n = rank % FILES + 1;

    CHECK(protect(n) == 0);
    if (rank == 2)
        for (int i = 0; i < n; i++)
            CHECK(unlink(paths[i]) == 0);
    CHECK(recover(n) == 0);
    CHECK(H5FDredset_unprotect_files(paths, n, NULL) == 0);
}

static void
case_none(void)
{
    CHECK(protect(rank == 2 ? 0 : FILES) < 0);
    CHECK(recover(rank == 2 ? 0 : FILES) < 0);
    CHECK(H5Eget_num(H5E_DEFAULT) == 1); /* of the last call only */
}

static void
case_config(void)
{
    H5FD_redset_config_t config;

    memset(&config, 0, sizeof config);
    CHECK(H5FDredset_protect_files(paths, FILES, &config) < 0);
    H5FD_redset_config_init(&config);
    config.timeout = 60;
    config.set_size = rank == 2 ? 4 : 8;
    CHECK(H5FDredset_protect_files(paths, FILES, &config) < 0);
}

static void
case_alone(void)
{
    CHECK(protect(FILES) < 0 && recover(FILES) < 0);
    CHECK(H5FDredset_unprotect_files(paths, FILES, NULL) < 0);
}

static void
case_twice(void)
{
    if (rank == 1)
        paths[2] = paths[0];
    CHECK(protect(FILES) < 0);
}

static void
case_strewn(void)
{
    if (rank == 1)
        snprintf(names[2], sizeof names[2], "%s/node%d/more/strewn/part.1.bin", dir, rank);
    CHECK(recover(FILES) == 0);
}

static void
case_absent(void)
{
    if (rank == 1)
        CHECK(unlink(paths[2]) == 0 || far);
    CHECK(protect(FILES) < 0);
}

static void
case_ours(void)
{
    if (rank == 1)
        snprintf(names[1], sizeof names[1], "%s/node1/restart.1.bin.redset.names", dir);
    CHECK(protect(FILES) < 0);
}

static void
case_order(void)
{
    const char *first = paths[1];

    if (rank == 1) {
        paths[1] = paths[2];
        paths[2] = first;
    }
    CHECK(recover(FILES) < 0);
}

static void
case_missing(void)
{
    const double began = now();

    if (rank != 3)
        CHECK(protect(FILES) < 0 && now() - began < 60);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(recover(FILES) == 1); /* nothing was done */
    if (rank == 3)              /* what the others gave up */
        CHECK(protect(FILES) < 0);
    CHECK(protect(FILES) == 0);
}

static void
case_others(void)
{
    CHECK(protect(FILES) == 0);
    if (rank == 3)
        CHECK(recover(FILES) < 0);
    else
        CHECK(protect(FILES) < 0);
}

/* All ranks have opened their first files through the driver, and rank 1 changes its own. */
static void
case_busy(void)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), file, group;

    CHECK(H5Pset_fapl_redset(fapl, NULL) >= 0);
    file = H5Fcreate(paths[0], H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    CHECK(file >= 0 && H5Fclose(file) >= 0);
    CHECK(protect(1) == 0);
    file = H5Fopen(paths[0], H5F_ACC_RDWR, fapl);
    CHECK(file >= 0);
    if (rank == 1) {
        group = H5Gcreate2(file, "new", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        CHECK(group >= 0 && H5Gclose(group) >= 0 && H5Fflush(file, H5F_SCOPE_LOCAL) >= 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(protect(1) < 0);
    CHECK(H5FDredset_unprotect_files(paths, 1, NULL) < 0);
    CHECK(H5Fclose(file) >= 0);
    CHECK(recover(1) == 0);
    H5Pclose(fapl);
}

/* An HDF5 file of this rank, through the driver, with `comm`. */
static void
use_hdf5(MPI_Comm comm, const char *base, bool create)
{
    H5FD_redset_config_t config = {.size = sizeof config};
    char                 path[4096];
    hid_t                fapl = H5Pcreate(H5P_FILE_ACCESS), file;

    CHECK(H5Pset_fapl_redset(fapl, NULL) >= 0 && H5Pget_fapl_redset(fapl, &config) >= 0);
    config.comm = comm;
    config.required = 1;
    CHECK(H5Pset_fapl_redset(fapl, &config) >= 0);
    snprintf(path, sizeof path, "%s/node%d/%s.%d.h5", dir, rank, base, rank);
    file = create ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl)
                  : H5Fopen(path, H5F_ACC_RDONLY, fapl);
    CHECK(file >= 0 && H5Fclose(file) >= 0);
    H5Pclose(fapl);
}

static void
case_mixed(void)
{
    H5FD_redset_config_t config;
    H5FD_redset_stats_t  stats = {.size = sizeof stats};
    MPI_Comm             half;

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    for (int i = 0; i < 3; i++) {
        use_hdf5(MPI_COMM_WORLD, "all", true);
        CHECK(protect(FILES) == 0);
        use_hdf5(MPI_COMM_WORLD, "all", false);
        CHECK(recover(FILES) == 0);
        use_hdf5(half, "half", i == 0);
    }
    CHECK(H5FDredset_stats(paths[0], &stats) >= 0 && stats.files_protected == 9 &&
          stats.files_verified == 9 && stats.bytes_protected > 300000);
    H5FD_redset_config_init(&config);
    config.comm = half;
    config.timeout = 30;
    CHECK(H5FDredset_recover_files(paths, FILES, &config) < 0); /* by fewer ranks than before */
    CHECK(H5FDredset_protect_files(paths, FILES, &config) == 0);
    CHECK(H5FDredset_unprotect_files(paths, FILES, &config) == 0);
    MPI_Comm_free(&half);
    CHECK(recover(FILES) == 1);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"write", case_write},     {"protect", case_protect}, {"again", case_again},
             {"recover", case_recover}, {"moved", case_moved},     {"stranded", case_stranded},
             {"never", case_never},     {"refused", case_refused}, {"unprotect", case_unprotect},
             {"uneven", case_uneven},   {"none", case_none},       {"twice", case_twice},
             {"config", case_config},   {"busy", case_busy},       {"alone", case_alone},
             {"strewn", case_strewn},   {"absent", case_absent},   {"ours", case_ours},
             {"order", case_order},     {"missing", case_missing}, {"others", case_others},
             {"mixed", case_mixed}};

int
main(int argc, char **argv)
{
    char said[4096];
    bool mpi, found = false;

    if (argc != 3 && argc != 4)
        return 1;
    dir = argv[2];
    far = argc == 4;
    mpi = strcmp(argv[1], "alone") != 0;
    if (mpi) {
        MPI_Init(&argc, &argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    }
    snprintf(said, sizeof said, "%s.said.%d", dir, rank);
    if (freopen(said, "w", stderr) == NULL)
        return 1;
    name_files(rank);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            found = true;
        }
    if (mpi)
        MPI_Finalize();
    return wrong != 0 || !found;
}
