/* link_skip CASE DIR NAME SKIPPER [SEED]: HDF5 files DIR/node<r>/NAME.<r>.h5 of all ranks r but one, which says that it has none.
 * Links the driver; the settings are those of HDF5_DRIVER_CONFIG. Run by test_skip.sh, which loses files between the cases.
 *
 *   write      SKIPPER says so, and then waits for a word that the others send when they have closed their files: if it were
 *              needed, nobody would go on. Then all ranks write DIR/node<r>/all_NAME.<r>.h5 together
 *   late       the same; it says so when another rank waits for the files already
 *   read       it says so; the others open theirs for reading, and find this content; all read all_NAME
 *   change     the same, opened for writing; nothing is changed
 *   calls      it says so; the others drop a generation of theirs, and rename them, two generations being kept
 *   gone       it says so; the others cannot open theirs
 *   silent     it says nothing, and the others close their files without it; all have met before
 *   odd        H5FDredset_skip with patterns that nothing is done by
 *
 * Exit status 0 when all is right; each check that is not prints a line. What rank r says is in DIR.said.<r>. */
#include "H5FDredset.h"
#include "link_values.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORD = 7 };

static int size, skipper, seed;

static const char *
name_for_all(const char *name)
{
    static char text[256];

    snprintf(text, sizeof text, "all_%s", name);
    return text;
}

static void
skip(const char *name)
{
    char pattern[256];

    snprintf(pattern, sizeof pattern, "%s.*.h5", name);
    CHECK(H5FDredset_skip(pattern) == 0);
}

/* ---- the skipper waits for the others, and they do not for it ---- */

static void
await_the_others(void)
{
    int word;

    for (int i = 1; i < size; i++)
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, WORD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void
tell_skipper(void)
{
    MPI_Send(&rank, 1, MPI_INT, skipper, WORD, MPI_COMM_WORLD);
}

/* ---- files ---- */

static hid_t
with_driver(void)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);

    CHECK(H5Pset_fapl_redset(fapl, NULL) >= 0);
    return fapl;
}

static void
create(const char *name)
{
    hid_t fapl = with_driver();
    hid_t file = H5Fcreate(path_of(name), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);

    write_values(file, seed);
    CHECK(H5Fclose(file) >= 0);
    (void)H5Pclose(fapl);
}

static hid_t
open_file(const char *name, unsigned flags)
{
    hid_t fapl = with_driver();
    hid_t file = H5Fopen(path_of(name), flags, fapl);

    (void)H5Pclose(fapl);
    return file;
}

/* ---- cases ---- */

static void
write_files(const char *name)
{
    if (rank == skipper) {
        skip(name);
        await_the_others();
    } else {
        create(name);
        tell_skipper();
    }
    create(name_for_all(name));
}

/* All have met before. A rank that says that it comes now does so before it waits, and the skipper gives it time for that; whether
 * it is in time or not, all must go well. */
static void
write_late(const char *name)
{
    int word = 0;

    create(name_for_all(name));
    if (rank != skipper && rank == (skipper + 1) % size)
        MPI_Send(&word, 1, MPI_INT, skipper, WORD + 1, MPI_COMM_WORLD);
    if (rank == skipper) {
        MPI_Recv(&word, 1, MPI_INT, (skipper + 1) % size, WORD + 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        usleep(500000);
    }
    write_files(name);
}

static void
compare_all(const char *name, unsigned flags)
{
    if (rank == skipper) {
        skip(name);
        await_the_others();
    } else {
        compare_values(open_file(name, flags), seed);
        tell_skipper();
    }
    compare_values(open_file(name_for_all(name), flags), seed);
}

static void
read_files(const char *name)
{
    compare_all(name, H5F_ACC_RDONLY);
}

static void
change_files(const char *name)
{
    compare_all(name, H5F_ACC_RDWR);
}

/* The generation before the newest goes, and the newest gets another name. */
static void
call_for_files(const char *name)
{
    H5FD_redset_generation_t list[2] = {{.size = sizeof list[0]}};
    size_t                   n = 2;
    char                     from[4096];

    if (rank == skipper) {
        skip(name);
        await_the_others();
        return;
    }
    snprintf(from, sizeof from, "%s", path_of(name));
    CHECK(H5FDredset_generations(from, list, &n) >= 0 && n == 2);
    CHECK(H5FDredset_drop(from, list[1].generation) >= 0);
    CHECK(H5FDredset_generations(from, list, &n) >= 0 && n == 1);
    CHECK(H5FDredset_rename(from, path_of("renamed")) >= 0);
    tell_skipper();
}

static void
gone_files(const char *name)
{
    if (rank == skipper)
        skip(name);
    else
        CHECK(open_file(name, H5F_ACC_RDONLY) < 0);
}

static void
silent(const char *name)
{
    create(name_for_all(name));
    if (rank == skipper) {
        await_the_others();
    } else {
        create(name);
        tell_skipper();
    }
}

static void
odd(const char *name)
{
    char long_one[1000];

    memset(long_one, 'a', sizeof long_one - 1);
    long_one[sizeof long_one - 1] = '\0';
    CHECK(H5FDredset_skip(NULL) == 0); /* all come together */
    if (rank == skipper) {
        CHECK(H5FDredset_skip("") == 0 && H5FDredset_skip("no_such_*") == 0);
        CHECK(H5FDredset_skip(long_one) < 0);
    }
    create(name_for_all(name));
    if (rank == skipper) { /* it has such a file after all, unprotected */
        skip(name);
        create(name);
    } else {
        create(name);
    }
}

static const struct {
    const char *name;
    void (*run)(const char *name);
} cases[] = {
    {"write", write_files},    {"late", write_late}, {"read", read_files}, {"change", change_files},
    {"calls", call_for_files}, {"gone", gone_files}, {"silent", silent},   {"odd", odd},
};

int
main(int argc, char **argv)
{
    char said[4096];
    bool known = false;

    if (argc < 5)
        return 1;
    dir = argv[2];
    skipper = atoi(argv[4]);
    seed = argc > 5 ? atoi(argv[5]) : 1;
    CHECK(H5FDredset_skip("x*") == 0); /* before MPI_Init nobody is told */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(said, sizeof said, "%s.said.%d", dir, rank);
    if (freopen(said, "w", stderr) == NULL)
        return 1;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run(argv[3]);
            known = true;
        }
    MPI_Finalize();
    return wrong != 0 || !known;
}
