/* link_stats CASE DIR: what protection has cost, as H5FDredset_stats tells it and as rank 0 reports it. Each rank has a
 * file of its own, DIR/stat_<rank>.h5. Links the driver; the settings are those of HDF5_DRIVER_CONFIG. Run by
 * test_stats.sh, which looks at the report.
 *
 *   late       files are created and closed three times; rank 2 comes a second late to each close
 *   rebuild    the same files are opened; the script has removed some
 *   async      closed in the background
 *   split      each half of the ranks has a communicator of its own
 *   some       rank 1 alone wants a report
 *   missing    rank 3 never comes to MPI_Finalize
 *   tardy      rank 3 comes there when the others have given it up
 *   exit       nobody calls MPI_Finalize
 *   alone      without MPI: the file of rank 0 is opened
 *
 * Exit status 0 when all is right; each check that is not prints a line. */
#include "H5FDredset.h"
#include "link_check.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ITEMS = 100000, LATE = 2, ROUNDS = 3 };

static int         ranks = 1;
static const char *dir;
static double      wall; /* seconds in calls of HDF5 */

static double
now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const char *
path(void)
{
    static char text[4096];

    snprintf(text, sizeof text, "%s/stat_%d.h5", dir, rank);
    return text;
}

static unsigned long long
size_of_file(void)
{
    struct stat sb;

    return stat(path(), &sb) == 0 ? (unsigned long long)sb.st_size : 0;
}

static hid_t
driver(MPI_Comm comm)
{
    hid_t                fapl = H5Pcreate(H5P_FILE_ACCESS);
    H5FD_redset_config_t config = {.size = sizeof config};

    CHECK(H5Pset_fapl_redset(fapl, NULL) >= 0);
    if (comm != MPI_COMM_NULL) {
        CHECK(H5Pget_fapl_redset(fapl, &config) >= 0);
        config.comm = comm;
        CHECK(H5Pset_fapl_redset(fapl, &config) >= 0);
    }
    return fapl;
}

static H5FD_redset_stats_t
stats_of(const char *name)
{
    H5FD_redset_stats_t s = {.size = sizeof s};

    CHECK(H5FDredset_stats(name, &s) >= 0 && s.size == sizeof s);
    return s;
}

static double
sum(const H5FD_redset_stats_t *s)
{
    return s->rendezvous + s->reading + s->arithmetic + s->sending + s->writing + s->syncing +
           s->waiting + s->other;
}

static hid_t
create(hid_t fapl)
{
    static int data[ITEMS];
    hsize_t    n = ITEMS;
    hid_t      file = H5Fcreate(path(), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    hid_t      space = H5Screate_simple(1, &n, NULL);
    hid_t      set =
        H5Dcreate2(file, "data", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

    for (int i = 0; i < ITEMS; i++)
        data[i] = i * (rank + 3);
    CHECK(file >= 0 && H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    H5Dclose(set);
    H5Sclose(space);
    return file;
}

/* Creates and closes it; rank LATE comes `late` seconds after the others. */
static void
make(hid_t fapl, unsigned late)
{
    double began = now();
    hid_t  file = create(fapl);

    wall += now() - began;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == LATE)
        sleep(late);
    began = now();
    CHECK(H5Fclose(file) >= 0);
    wall += now() - began;
}

/* ---- cases ---- */

static void
case_late(void)
{
    hid_t               fapl = driver(MPI_COMM_NULL);
    H5FD_redset_stats_t s, first = stats_of(NULL), none;
    double              meets[64];

    CHECK(first.files_protected == 0 && first.total == 0);
    for (int i = 0; i < ROUNDS; i++)
        make(fapl, 1);
    H5Pclose(fapl);
    s = stats_of(path());
    CHECK(s.files_protected == ROUNDS && s.bytes_protected == ROUNDS * size_of_file());
    CHECK(s.files_unprotected == 0 && s.files_rebuilt == 0 && s.background == 0);
    CHECK(s.reading > 0 && s.arithmetic > 0 && s.writing > 0 && s.syncing > 0);
    CHECK(sum(&s) <= s.total * 1.001 && sum(&s) >= s.total * 0.999);
    CHECK(s.total <= wall * 1.05);
    CHECK(rank == LATE || s.total >= wall * 0.5);
    MPI_Allgather(&s.rendezvous, 1, MPI_DOUBLE, meets, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++)
        CHECK(r == LATE || meets[r] > meets[LATE] + 0.5 * ROUNDS);
    none = stats_of("stat.h5"); /* not of that kind */
    CHECK(none.files_protected == 0);
    none.size = 8;
    CHECK(H5FDredset_stats(NULL, &none) < 0 && H5FDredset_stats(NULL, NULL) < 0);
}

static void
case_rebuild(void)
{
    const bool          lost = size_of_file() == 0;
    hid_t               fapl = driver(MPI_COMM_NULL);
    hid_t               file = H5Fopen(path(), H5F_ACC_RDONLY, fapl);
    H5FD_redset_stats_t s;

    CHECK(file >= 0 && H5Fclose(file) >= 0);
    s = stats_of(NULL);
    CHECK(s.files_rebuilt == lost && s.bytes_rebuilt == (lost ? size_of_file() : 0));
    CHECK(s.files_verified == !lost && s.bytes_verified == (lost ? 0 : size_of_file()));
    CHECK(s.files_protected == 0);
    H5Pclose(fapl);
}

static void
case_async(void)
{
    hid_t               fapl = driver(MPI_COMM_NULL);
    H5FD_redset_stats_t s;

    for (int i = 0; i < ROUNDS; i++) {
        make(fapl, 0);
        CHECK(H5FDredset_wait(NULL) >= 0);
    }
    s = stats_of(NULL);
    CHECK(s.files_protected == ROUNDS && s.bytes_protected == ROUNDS * size_of_file());
    CHECK(s.background > 0 && s.background <= s.total && s.syncing <= s.background);
    H5Pclose(fapl);
}

static void
case_split(void)
{
    MPI_Comm half;
    hid_t    fapl;

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    fapl = driver(half);
    MPI_Comm_free(&half);
    make(fapl, 0);
    CHECK(stats_of(path()).files_protected == 1);
    H5Pclose(fapl);
}

static void
case_plain(void)
{
    hid_t fapl = driver(MPI_COMM_NULL);

    make(fapl, 0);
    H5Pclose(fapl);
}

static void
case_some(void)
{
    if (rank != 1)
        setenv("HDF5_DRIVER_CONFIG", "timeout=300", 1);
    case_plain();
}

static const char *
out_path(int of)
{
    static char text[4096];

    snprintf(text, sizeof text, "%s/out_%d", dir, of);
    return text;
}

/* The driver has ended: the MPI of today would wait for the dead, so this rank does not. */
static int
leave(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    fprintf(stderr, "rank %d came out\n", rank);
    (void)close(creat(out_path(rank), 0600));
    for (int other = 1; rank == 0 && other < ranks - 1; other++)
        while (access(out_path(other), F_OK) != 0)
            usleep(10000);
    if (rank == 0) /* whoever leaves first ends the job */
        _exit(0);
    for (;;)
        pause();
}

static void
case_missing(void)
{
    int key;

    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, leave, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL); /* before the driver's: after it at the end */
    case_plain();
    if (rank == 3)
        for (;;)
            pause();
}

static void
case_tardy(void)
{
    case_plain();
    if (rank == 3)
        sleep(5);
}

/* Whoever exits first ends the job: rank 0. */
static void
case_exit(void)
{
    case_plain();
    if (rank != 0)
        for (;;)
            pause();
}

static void
case_alone(void)
{
    hid_t               fapl = driver(MPI_COMM_NULL);
    const bool          lost = size_of_file() == 0;
    hid_t               file = H5Fopen(path(), H5F_ACC_RDONLY, fapl);
    H5FD_redset_stats_t s;

    CHECK(file >= 0 && H5Fclose(file) >= 0);
    s = stats_of(path());
    CHECK(s.files_rebuilt == lost && s.bytes_rebuilt == (lost ? size_of_file() : 0));
    CHECK(s.rendezvous == 0 && s.total > 0);
    H5Pclose(fapl);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"late", case_late},   {"rebuild", case_rebuild}, {"async", case_async},
             {"split", case_split}, {"some", case_some},       {"missing", case_missing},
             {"tardy", case_tardy}, {"exit", case_exit},       {"alone", case_alone}};

int
main(int argc, char **argv)
{
    const bool mpi = argc == 3 && strcmp(argv[1], "alone") != 0;
    int        level;

    if (argc != 3)
        return 1;
    dir = argv[2];
    if (mpi) {
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(argv[1], cases[i].name) == 0)
            cases[i].run();
    if (mpi && strcmp(argv[1], "exit") != 0)
        MPI_Finalize();
    return wrong != 0;
}
