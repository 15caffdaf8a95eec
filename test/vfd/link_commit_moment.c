/* link_commit_moment.c: the cases of link_commit.c in which rank 1 cannot keep what its file was when a commit in the background
 * began, once all of that has been read (preload_moment.c): it writes on all the same, and the commit counts. */
#include "link_commit.h"
#include "moment.h"

#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HELD = 1 }; /* the rank that is */

static void
make(const char *base)
{
    char  name[4096];
    FILE *f;

    name_of(name, sizeof name, base);
    f = fopen(name, "w");
    CHECK(f != NULL && fclose(f) == 0);
}

static void
wait_for(const char *base)
{
    char name[4096];

    name_of(name, sizeof name, base);
    for (int i = 0; i < 600 && access(name, F_OK) != 0; i++)
        usleep(100000);
    CHECK(access(name, F_OK) == 0);
}

static void
write_and_copy(hid_t file, int number)
{
    for (int row = 0; row < ROWS; row++)
        write_row(file, row, number);
    CHECK(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0);
    take_copy(file, number);
}

/* What is written in the moment is on disk, and in no copy. */
static void
write_on(hid_t file, int row)
{
    write_row(file, row, -1);
    CHECK(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0);
}

/* Commit 2, with rank 1 held before it publishes it; then that cannot keep what it overwrites. */
static hid_t
commit_and_write_on(hid_t fapl)
{
    hid_t file = H5Fopen(data_path(), H5F_ACC_RDWR, fapl);

    CHECK(file >= 0);
    write_and_copy(file, 2);
    if (rank == HELD)
        make("armed");
    together();
    CHECK(H5FDredset_commit(file) >= 0);
    if (rank == HELD)
        wait_for("held");
    write_on(file, 4);
    CHECK((strstr(status().why, "could not be kept") != NULL) == (rank == HELD));
    return file;
}

static void
end(void)
{
    leave_word();
    together();
    _exit(wrong != 0);
}

/* The job dies when only rank 1 has not published it. */
static void
die_before_it(void)
{
    for (int i = 0; rank != HELD && i < 600 && status().commits != 2; i++)
        usleep(100000);
    CHECK(status().commits == (rank == HELD ? 1 : 2));
    end();
}

static void
let_go(hid_t file)
{
    if (rank == HELD)
        make("go");
    CHECK(H5FDredset_wait(data_path()) >= 0);
    write_on(file, 5);
    CHECK(is(false, 2, ""));
    CHECK((strstr(status().why, "could not be kept") != NULL) == (rank == HELD));
}

/* `then`: 0: the job dies before all have published it; 1: after that; 2: after one more commit, in the background as well where it
 * can be. */
void
case_moment(int then)
{
    hid_t fapl = driver(false), file = commit_and_write_on(fapl);

    if (then == 0)
        die_before_it();
    let_go(file);
    if (then == 2) {
        write_row(file, 7, 3);
        CHECK(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0);
        take_copy(file, 3);
        CHECK(H5FDredset_commit(file) >= 0 && H5FDredset_wait(data_path()) >= 0 && is(true, 3, ""));
        write_on(file, 8);
        CHECK(strstr(status().why, "could not be kept") == NULL);
    }
    end();
}
