/* link_commit CASE DIR JUDGE [N]: files that are protected while they stay open: H5FDredset_commit, and H5Fflush with
 * commit=flush. Each rank has a file of its own, DIR/data_<rank>.h5. Links the driver; the settings are those of
 * HDF5_DRIVER_CONFIG. Run by test_commit.sh, test_series.sh and test_pauses.sh.
 *
 *   series     N commits of a file that stays open, and the end without closing it; see link_commit_series.c
 *   anew       the same of a file that is created over
 *   grows      the same of one that gets larger
 *   look       the file is opened for reading, and is that of commit N
 *   life       what is known of a file from commit to commit
 *   little     a commit writes little where little has changed
 *   late       rank 3 does not come (timeout=3), and then does
 *   full       what protects the file of rank 2 does not fit on its disk, and then does
 *   either     the same of commit N or the one before, on all ranks of one
 *   closed     commit 1, by a close
 *   stopped    after that: rank 1 stops in commit 2 (preload_die.c); N: 1 if the others have published it
 *   wrong      calls that cannot be
 *   ids        a file with several ids
 *   root       a file of rank 0 (root=data_*)
 *   flush      commit=flush: what is a commit, and what is not
 *   flush_late   rank 3 does not come to one; N: required=yes
 *   behind     commits in the background; see link_commit_behind.c
 *   behind_full   a disk is full in one of them
 *   behind_flush  with commit=flush, rank 3 stands still for two of them
 *   behind_first  the first commit of a job that has opened the file of `closed`
 *   pauses     rank 1 is held before each call that one makes, and its program goes on; N: how, see link_commit_pauses.c
 *   pause_dies the same before one call, and the job dies; N: 4 times which, and how
 *   child      a child exits while one is under way
 *   finalize   MPI_Finalize before H5Fclose
 *   swmr, start_swmr, plain   commit 1, and the end without closing: opened for SWMR writing; SWMR writing is started after it;
 *              neither
 *
 * Exit status 0 when all is right; each check that is not prints a line. */
#include "link_commit.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int         rank, ranks = 1, wrong, rows = ROWS;
const char *dir, *judge;

void
check_at(const char *file, int line, bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s:%d: rank %d: not so: %s\n", file, line, rank, what);
    wrong++;
}

const char *
data_path(void)
{
    static char text[4096];

    snprintf(text, sizeof text, "%s/data_%d.h5", dir, rank);
    return text;
}

hid_t
driver(bool latest)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);

    CHECK(H5Pset_fapl_redset(fapl, NULL) >= 0);
    if (latest)
        CHECK(H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST) >= 0);
    return fapl;
}

void
together(void)
{
    if (ranks > 1)
        MPI_Barrier(MPI_COMM_WORLD);
}

void
leave_word(void)
{
    char text[4096];

    snprintf(text, sizeof text, "%s/%d.right", judge, rank);
    if (wrong == 0)
        fclose(fopen(text, "w"));
}

H5FD_redset_status_t
status(void)
{
    H5FD_redset_status_t s = {.size = sizeof s};

    CHECK(H5FDredset_status(data_path(), &s) >= 0);
    return s;
}

/* ---- a file ---- */

static void
make_set(hid_t file, const char *name, hsize_t n, hsize_t most)
{
    hsize_t size[2] = {n, WIDTH}, max[2] = {most, WIDTH}, chunk[2] = {1, WIDTH};
    hid_t   space = H5Screate_simple(2, size, max), how = H5Pcreate(H5P_DATASET_CREATE);

    if (most == H5S_UNLIMITED)
        CHECK(H5Pset_chunk(how, 2, chunk) >= 0);
    CHECK(H5Pset_alloc_time(how, H5D_ALLOC_TIME_EARLY) >= 0);
    CHECK(H5Dclose(H5Dcreate2(file, name, H5T_STD_U8LE, space, H5P_DEFAULT, how, H5P_DEFAULT)) >=
          0);
    H5Pclose(how);
    H5Sclose(space);
}

hid_t
create_series(hid_t fapl)
{
    hid_t file = H5Fcreate(data_path(), H5F_ACC_TRUNC, H5P_DEFAULT, fapl), point;

    CHECK(file >= 0);
    make_set(file, "series", (hsize_t)rows, (hsize_t)rows);
    make_set(file, "grows", 1, H5S_UNLIMITED);
    point = H5Screate(H5S_SCALAR);
    CHECK(H5Aclose(H5Acreate2(file, "step", H5T_STD_I32LE, point, H5P_DEFAULT, H5P_DEFAULT)) >= 0);
    H5Sclose(point);
    for (int row = 0; row < rows; row++)
        write_row(file, row, 0);
    return file;
}

void
write_row(hid_t file, int row, int step)
{
    unsigned char bytes[WIDTH];
    hsize_t       start[2] = {(hsize_t)row, 0}, size[2] = {1, WIDTH};
    hid_t         set = H5Dopen2(file, "series", H5P_DEFAULT), all = H5Dget_space(set);
    hid_t         one = H5Screate_simple(2, size, NULL);
    hid_t         when = H5Aopen(file, "step", H5P_DEFAULT);

    for (int i = 0; i < WIDTH; i++)
        bytes[i] = (unsigned char)(i * (step + 3) + row * 7 + rank);
    CHECK(H5Sselect_hyperslab(all, H5S_SELECT_SET, start, NULL, size, NULL) >= 0);
    CHECK(H5Dwrite(set, H5T_NATIVE_UINT8, one, all, H5P_DEFAULT, bytes) >= 0);
    CHECK(H5Awrite(when, H5T_NATIVE_INT, &step) >= 0);
    H5Aclose(when);
    H5Sclose(one);
    H5Sclose(all);
    H5Dclose(set);
}

int
read_step(hid_t file)
{
    hid_t when = H5Aopen(file, "step", H5P_DEFAULT);
    int   step = -1;

    CHECK(H5Aread(when, H5T_NATIVE_INT, &step) >= 0 && H5Aclose(when) >= 0);
    return step;
}

/* ---- copies ---- */

/* The bytes of the open file, as it lies on disk; to be freed. */
static unsigned char *
bytes_of(hid_t file, size_t *size_out)
{
    void          *fd = NULL;
    struct stat    sb;
    unsigned char *bytes;

    CHECK(H5Fget_vfd_handle(file, H5P_DEFAULT, &fd) >= 0 && fstat(*(int *)fd, &sb) == 0);
    *size_out = (size_t)sb.st_size;
    bytes = malloc(*size_out + 1);
    CHECK(pread(*(int *)fd, bytes, *size_out, 0) == (ssize_t)*size_out);
    return bytes;
}

static const char *
copy_path(int number)
{
    static char text[4096];

    snprintf(text, sizeof text, "%s/%d.%d", judge, rank, number);
    return text;
}

void
take_copy(hid_t file, int number)
{
    size_t         size;
    unsigned char *bytes = bytes_of(file, &size);
    char           temp[4200];
    FILE          *f;

    snprintf(temp, sizeof temp, "%s/%d.new", judge, rank);
    f = fopen(temp, "wb");
    CHECK(f != NULL && fwrite(bytes, 1, size, f) == size && fclose(f) == 0);
    CHECK(rename(temp, copy_path(number)) == 0);
    free(bytes);
}

/* Flags of the superblock; and its checksum, from version 2 on. */
static void
mask(unsigned char *bytes)
{
    if (bytes[8] < 2)
        memset(bytes + 20, 0, 4);
    else {
        bytes[11] = 0;
        memset(bytes + 44, 0, 4);
    }
}

bool
is_copy(hid_t file, int number)
{
    size_t         size, there;
    unsigned char *bytes = bytes_of(file, &size), *copy = malloc(size + 1);
    FILE          *f = fopen(copy_path(number), "rb");
    bool           same = false;

    if (f != NULL) {
        there = fread(copy, 1, size + 1, f);
        mask(bytes);
        mask(copy);
        same = there == size && memcmp(bytes, copy, size) == 0;
        fclose(f);
    }
    free(copy);
    free(bytes);
    return same;
}

/* ---- cases ---- */

static void
case_look(int number)
{
    hid_t fapl = driver(false), file = H5Fopen(data_path(), H5F_ACC_RDONLY, fapl);

    CHECK(file >= 0);
    if (file < 0)
        return;
    CHECK(is_copy(file, number));
    CHECK(H5Fclose(file) >= 0 && H5Pclose(fapl) >= 0);
}

static void
case_either(int number)
{
    hid_t fapl = driver(false), file = H5Fopen(data_path(), H5F_ACC_RDONLY, fapl);
    int   is[2] = {0}, all[2] = {0};

    CHECK(file >= 0);
    if (file >= 0) {
        is[0] = is_copy(file, number - 1);
        is[1] = is_copy(file, number);
        CHECK(H5Fclose(file) >= 0);
    }
    MPI_Allreduce(is, all, 2, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    CHECK(all[0] || all[1]);
    H5Pclose(fapl);
}

bool
is(bool is_protected, unsigned long long commits, const char *label)
{
    const H5FD_redset_status_t s = status();
    const bool                 right =
        s.is_protected == is_protected && s.commits == commits && strcmp(s.label, label) == 0;

    if (!right)
        fprintf(stderr, "rank %d: protected %d, commits %llu, \"%s\": %s\n", rank, s.is_protected,
                s.commits, s.label, s.why);
    return right;
}

static void
case_life(void)
{
    hid_t fapl = driver(false), file = create_series(fapl);

    CHECK(is(false, 0, ""));
    CHECK(H5FDredset_label(file, "the first") >= 0 && H5FDredset_commit(file) >= 0);
    CHECK(is(true, 1, "the first"));
    CHECK(H5FDredset_commit(file) >= 0); /* nothing has changed */
    CHECK(is(true, 1, "the first"));
    together();
    if (rank == 0)
        write_row(file, 5, 1);
    CHECK(is(rank != 0, 1, "the first"));
    CHECK(H5FDredset_commit(file) >= 0);
    CHECK(is(true, 2, ""));
    write_row(file, 6, 2);
    CHECK(H5FDredset_commit(file) >= 0 && is(true, 3, ""));
    CHECK(read_step(file) == 2);
    CHECK(H5Fclose(file) >= 0 && is(true, 3, "")); /* nothing has changed since */
    file = H5Fopen(data_path(), H5F_ACC_RDWR, fapl);
    CHECK(file >= 0 && H5FDredset_commit(file) >= 0 && is(true, 3, ""));
    write_row(file, 7, 3);
    CHECK(H5FDredset_label(file, "the last") >= 0 && H5Fclose(file) >= 0);
    CHECK(is(true, 4, "the last"));
    together();
    file = create_series(fapl); /* over a protected one */
    CHECK(is(false, 4, "the last"));
    CHECK(H5FDredset_commit(file) >= 0 && is(true, 5, ""));
    write_row(file, 8, 4);
    CHECK(is(false, 5, ""));
    CHECK(H5Fclose(file) >= 0 && is(true, 6, ""));
    H5Pclose(fapl);
}

static void
case_series(int n)
{
    run_series(n, false, false);
}

static void
case_anew(int n)
{
    run_series(n, true, false);
}

static void
case_grows(int n)
{
    run_series(n, false, true);
}

static const struct {
    const char *name;
    void (*run)(void);
    void (*run_with)(int n); /* the one that has an argument */
} cases[] = {{"series", NULL, case_series},
             {"anew", NULL, case_anew},
             {"grows", NULL, case_grows},
             {"look", NULL, case_look},
             {"life", case_life, NULL},
             {"little", case_little, NULL},
             {"late", case_late, NULL},
             {"full", case_full, NULL},
             {"either", NULL, case_either},
             {"closed", case_closed, NULL},
             {"stopped", NULL, case_stopped},
             {"wrong", case_wrong, NULL},
             {"ids", case_ids, NULL},
             {"root", case_root, NULL},
             {"flush", case_flush, NULL},
             {"flush_cut", case_flush_cut, NULL},
             {"flush_late", NULL, case_flush_late},
             {"behind", case_behind, NULL},
             {"behind_full", case_behind_full, NULL},
             {"behind_flush", case_behind_flush, NULL},
             {"behind_first", case_behind_first, NULL},
             {"child", case_child, NULL},
             {"moment", NULL, case_moment},
             {"pauses", NULL, case_pauses},
             {"pause_dies", NULL, case_pause_dies},
             {"finalize", case_finalize, NULL}};

/* What is none of these is a way to end (case_last). */
static void
run(const char *name, int n)
{
    size_t i = 0;

    while (i < sizeof cases / sizeof *cases && strcmp(cases[i].name, name) != 0)
        i++;
    if (i == sizeof cases / sizeof *cases)
        case_last(name);
    else if (cases[i].run != NULL)
        cases[i].run();
    else
        cases[i].run_with(n);
}

int
main(int argc, char **argv)
{
    const bool alone = getenv("ALONE") != NULL;

    if (argc < 4)
        return 2;
    dir = argv[2];
    judge = argv[3];
    if (alone)
        rank = atoi(getenv("ALONE"));
    else {
        int level;

        MPI_Init_thread(&argc, &argv,
                        getenv("BEHIND") != NULL ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    }
    run(argv[1], argc > 4 ? atoi(argv[4]) : 0);
    if (!alone) {
        int finalized = 0;

        MPI_Finalized(&finalized);
        if (!finalized)
            MPI_Finalize();
    }
    return wrong == 0 ? 0 : 1;
}
