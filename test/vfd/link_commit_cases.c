/* link_commit_cases.c: see link_commit.c. */
#include "link_commit.h"

#include <errno.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- what a commit costs ---- */

/* Bytes that this process has written, by its own count: whatever disk there is. */
static long
written(void)
{
    FILE *f = fopen("/proc/self/io", "r");
    char  line[128];
    long  n = -1;

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "wchar: %ld", &n) == 1)
            break;
    if (f != NULL)
        fclose(f);
    return n;
}

void
case_little(void)
{
    hid_t fapl = driver(false), file;
    long  first, then;

    rows = 4000;
    file = create_series(fapl);
    CHECK(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0);
    first = written();
    CHECK(H5FDredset_commit(file) >= 0);
    first = written() - first;
    for (int step = 1; step < 4; step++) {
        then = written();
        write_row(file, step * 1000, step);
        CHECK(H5FDredset_commit(file) >= 0);
        then = written() - then;
        if (rank == 0)
            fprintf(stderr, "written by the first commit: %ld, by one of a row: %ld\n", first,
                    then);
        CHECK(then * 4 < first);
    }
    CHECK(H5Fclose(file) >= 0 && H5Pclose(fapl) >= 0);
}

/* ---- failures ---- */

/* Negative without a word: the test wants to see it fail. */
static herr_t
fails(hid_t file)
{
    herr_t ret;

    H5E_BEGIN_TRY
    {
        ret = H5FDredset_commit(file);
    }
    H5E_END_TRY
    return ret;
}

void
case_late(void)
{
    hid_t fapl = driver(false), file = create_series(fapl);

    CHECK(H5FDredset_commit(file) >= 0 && is(true, 1, ""));
    write_row(file, 3, 1);
    if (rank != 3)
        CHECK(fails(file) < 0);
    together();
    if (rank == 3)
        CHECK(fails(file) < 0);
    together();
    CHECK(is(false, 1, ""));
    write_row(file, 4, 2);
    CHECK(read_step(file) == 2);
    CHECK(H5FDredset_commit(file) >= 0 && is(true, 2, ""));
    write_row(file, 5, 3);
    CHECK(H5Fclose(file) >= 0 && is(true, 3, ""));
    H5Pclose(fapl);
}

/* In a file created over an old one, in one that is updated, and in one that is encoded as a whole. */
void
case_full(void)
{
    const struct rlimit little = {2000, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
    hid_t               fapl = driver(false), file = create_series(fapl);

    CHECK(H5FDredset_commit(file) >= 0 && H5Fclose(file) >= 0);
    together();
    file = create_series(fapl);
    for (int step = 1; step < 4; step++) {
        for (int row = 0; row < (step == 3 ? ROWS : 1); row++)
            write_row(file, row, step);
        CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
        if (rank == 2)
            CHECK(setrlimit(RLIMIT_FSIZE, &little) == 0);
        CHECK(fails(file) < 0);
        CHECK(status().commits == (unsigned)step && !status().is_protected);
        if (rank == 2)
            CHECK(setrlimit(RLIMIT_FSIZE, &all) == 0);
        write_row(file, 60, step);
        CHECK(H5FDredset_commit(file) >= 0 && is(true, (unsigned)step + 1, ""));
        together();
    }
    CHECK(H5Fclose(file) >= 0 && is(true, 4, ""));
    H5Pclose(fapl);
}

/* Commit 1, at a close: what case_stopped is about to replace. */
void
case_closed(void)
{
    hid_t fapl = driver(false), file = create_series(fapl);

    CHECK(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0);
    take_copy(file, 1);
    CHECK(H5Fclose(file) >= 0 && H5Pclose(fapl) >= 0);
}

/* There is no barrier with a rank that has stopped, and the first that ends takes the others along. */
static void
wait_for_words(void)
{
    char text[4096];

    for (int r = 0; r < ranks; r++) {
        snprintf(text, sizeof text, "%s/%d.right", judge, r);
        for (int i = 0; r != 1 && i < 600 && access(text, F_OK) != 0; i++)
            usleep(100000);
    }
}

/* Commit 2 is of a file that is created over that one, and rank 1 stops in it. `published`: when the others have published it;
 * else before it is ready, and nobody knows whether the others have. */
void
case_stopped(int published)
{
    hid_t  fapl = driver(false), file = create_series(fapl);
    herr_t ret;

    write_row(file, 3, 1);
    CHECK(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0);
    take_copy(file, 2);
    CHECK(fails(file) < 0);
    H5E_BEGIN_TRY
    {
        write_row(file, 4, 2);
        ret = H5Fflush(file, H5F_SCOPE_LOCAL);
    }
    H5E_END_TRY
    CHECK((ret >= 0) == (published != 0));
    leave_word();
    wait_for_words();
    _exit(0);
}

void
case_wrong(void)
{
    char  name[4096];
    hid_t fapl = driver(false), file = create_series(fapl), other;

    CHECK(H5Fclose(file) >= 0);
    CHECK(fails(-1) < 0 && fails(file) < 0 && fails(fapl) < 0);
    file = H5Fopen(data_path(), H5F_ACC_RDONLY, fapl);
    CHECK(file >= 0 && fails(file) < 0 && H5Fclose(file) >= 0);
    snprintf(name, sizeof name, "%s/other_%d.h5", dir, rank);
    other = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(other >= 0 && fails(other) < 0 && H5Fclose(other) >= 0); /* not this driver's */
    other = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl); /* files=data_*: passed through */
    CHECK(other >= 0 && fails(other) < 0 && H5Fclose(other) >= 0);
    H5Pclose(fapl);
}

/* ---- which file ---- */

void
case_ids(void)
{
    hid_t fapl = driver(false), file = create_series(fapl), again, set;

    again = H5Freopen(file);
    CHECK(again >= 0 && H5FDredset_commit(again) >= 0 && is(true, 1, ""));
    CHECK(H5Fclose(file) >= 0 && is(true, 1, "")); /* it stays open */
    write_row(again, 1, 1);
    file = H5Fopen(data_path(), H5F_ACC_RDWR, fapl);
    CHECK(file >= 0 && H5FDredset_commit(file) >= 0 && is(true, 2, ""));
    write_row(file, 2, 2);
    CHECK(H5FDredset_commit(again) >= 0 && is(true, 3, ""));
    write_row(again, 3, 3);
    set = H5Dopen2(again, "series", H5P_DEFAULT);
    CHECK(fails(set) < 0); /* no file */
    CHECK(H5Fclose(file) >= 0 && H5Fclose(again) >= 0 && is(false, 3, ""));
    CHECK(H5Dclose(set) >= 0 && is(true, 4, "")); /* that was what held it open */
    H5Pclose(fapl);
}

/* Rank 0 commits its file alone, and the others do not wait. */
void
case_root(void)
{
    hid_t fapl = driver(false), file;

    if (rank == 0) {
        file = create_series(fapl);
        CHECK(H5FDredset_commit(file) >= 0 && status().is_protected);
        write_row(file, 1, 1);
        CHECK(!status().is_protected);
        CHECK(H5FDredset_commit(file) >= 0 && status().is_protected);
        take_copy(file, 1);
        write_row(file, 2, 2);
        CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
    }
    H5Pclose(fapl);
    together();
    _exit(wrong != 0);
}

/* ---- commit=flush ---- */

void
case_flush(void)
{
    hid_t fapl = driver(false), file = create_series(fapl), set, again;

    CHECK(is(false, 0, ""));
    CHECK(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0 && is(true, 1, ""));
    CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0 && is(true, 1, "")); /* nothing has changed */
    together();
    if (rank == 1)
        write_row(file, 1, 1);
    CHECK(H5FDredset_label(file, "by a flush") >= 0);
    CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0 && is(true, 2, "by a flush"));
    write_row(file, 2, 2);
    set = H5Dopen2(file, "series", H5P_DEFAULT);
    CHECK(H5Dflush(set) >= 0 && H5Oflush(set) >= 0 && is(false, 2, "by a flush"));
    again = H5Fopen(data_path(), H5F_ACC_RDWR, fapl);
    CHECK(again >= 0 && is(false, 2, "by a flush"));
    CHECK(H5Fflush(set, H5F_SCOPE_LOCAL) >= 0 && is(true, 3, ""));
    write_row(file, 3, 3);
    CHECK(H5Fclose(again) >= 0 && is(true, 4, "")); /* HDF5 flushes, as for H5Fflush */
    write_row(file, 4, 4);
    CHECK(H5FDredset_commit(file) >= 0 && is(true, 5, "")); /* one commit, not two */
    write_row(file, 5, 5);
    CHECK(H5Dclose(set) >= 0 && H5Fclose(file) >= 0 && is(true, 6, "")); /* neither is this */
    file = H5Fopen(data_path(), H5F_ACC_RDWR, fapl);
    CHECK(file >= 0 && is(true, 6, "") && H5Fclose(file) >= 0 && is(true, 6, ""));
    H5Pclose(fapl);
}

/* Rank 3 does not come: an error, or a warning (`required` as in the settings). */
void
case_flush_late(int required)
{
    hid_t  fapl = driver(false), file = create_series(fapl);
    herr_t ret;

    CHECK(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0 && is(true, 1, ""));
    write_row(file, 3, 1);
    H5E_BEGIN_TRY
    {
        ret = rank != 3 ? H5Fflush(file, H5F_SCOPE_LOCAL) : 0;
    }
    H5E_END_TRY
    together();
    CHECK((ret < 0) == (required && rank != 3));
    CHECK(is(false, 1, ""));
    together();
    _exit(wrong != 0);
}

/* HDF5's own driver calls it, by one of the two names. */
static int  cuts; /* calls that have failed */
static bool cut_fails;

static int
cut(int fd, off64_t length)
{
    char          link[64], name[4096];
    const ssize_t n = (snprintf(link, sizeof link, "/proc/self/fd/%d", fd),
                       readlink(link, name, sizeof name - 1));

    if (!cut_fails || n < 3 || memcmp(name + n - 3, ".h5", 3) != 0)
        return (int)syscall(SYS_ftruncate, fd, length);
    cuts++;
    errno = EIO;
    return -1;
}

__attribute__((visibility("default"))) int
ftruncate(int fd, off_t length)
{
    return cut(fd, length);
}

__attribute__((visibility("default"))) int
ftruncate64(int fd, off64_t length)
{
    return cut(fd, length);
}

/* The file is to become longer than what is written of it. */
static void
add_unwritten(hid_t file)
{
    const hsize_t size = 100000;
    hid_t         space = H5Screate_simple(1, &size, NULL), how = H5Pcreate(H5P_DATASET_CREATE);

    CHECK(H5Pset_alloc_time(how, H5D_ALLOC_TIME_EARLY) >= 0 &&
          H5Pset_fill_time(how, H5D_FILL_TIME_NEVER) >= 0);
    CHECK(H5Dclose(H5Dcreate2(file, "unwritten", H5T_STD_U8LE, space, H5P_DEFAULT, how,
                              H5P_DEFAULT)) >= 0);
    H5Pclose(how);
    H5Sclose(space);
}

/* The file of rank 2 cannot be made as long as its content. HDF5 flushes all the same, and by that the others hear of it; what
 * is flushed later, be it only an object, is no commit. */
void
case_flush_cut(void)
{
    hid_t  fapl = driver(false), file = create_series(fapl), set;
    herr_t ret;

    CHECK(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0 && is(true, 1, ""));
    add_unwritten(file);
    cut_fails = rank == 2;
    ret = H5Fflush(file, H5F_SCOPE_LOCAL); /* what it says is looked at as well */
    cut_fails = false;
    CHECK(ret < 0 && is(false, 1, "") && (cuts > 0) == (rank == 2));
    set = H5Dopen2(file, "series", H5P_DEFAULT);
    CHECK(set >= 0 && H5Dflush(set) >= 0 && is(false, 1, ""));
    leave_word();
    together();
    _exit(wrong != 0);
}

/* ---- the end ---- */

void
case_finalize(void)
{
    hid_t fapl = driver(false), file = create_series(fapl);

    CHECK(H5FDredset_commit(file) >= 0 && is(true, 1, ""));
    if (rank == 2)
        write_row(file, 1, 1);
    MPI_Finalize();
    CHECK(is(true, 2, ""));
    CHECK(H5Fclose(file) >= 0 && is(true, 2, ""));
    H5Pclose(fapl);
}

void
case_last(const char *how)
{
    const bool swmr = strcmp(how, "swmr") == 0, start = strcmp(how, "start_swmr") == 0;
    hid_t      fapl = driver(swmr || start), file = create_series(fapl);

    if (swmr) {
        CHECK(H5Fclose(file) >= 0);
        together();
        file = H5Fopen(data_path(), H5F_ACC_RDWR | H5F_ACC_SWMR_WRITE, fapl);
        CHECK(file >= 0);
    }
    CHECK(swmr || H5FDredset_commit(file) >= 0);
    if (start)
        CHECK(H5Fstart_swmr_write(file) >= 0);
    write_row(file, 1, 1);
    CHECK(H5FDredset_commit(file) >= 0);
    take_copy(file, 1);
    if (start) { /* the old content is kept, as of any other file */
        write_row(file, 2, 2);
        CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
    }
    H5Pclose(fapl);
    together();
    _exit(wrong != 0);
}
