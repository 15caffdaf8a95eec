/* link_commit_pauses.c: the cases of link_commit.c in which rank 1 is held in a commit in the background, before each call in turn
 * that this makes to the file system (preload_pause.c), and its program goes on meanwhile as if nothing were under way; or the
 * program is, before each call in turn that its writing makes, and the commit goes on. The judge is what the commit was of, and what
 * the file is told to be after it. */
#include "link_commit.h"
#include "moment.h"

#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    HELD = 1,        /* the rank that is */
    LITTLE = 1,      /* how: little changes between two commits, so that redundancy is updated; */
    WRITER = 2,      /* it is the program's own thread that is held */
    PATIENCE = 60000 /* milliseconds */
};

static bool
is_there(const char *base)
{
    char name[4096];

    name_of(name, sizeof name, base);
    return access(name, F_OK) == 0;
}

static void
drop(const char *base)
{
    char name[4096];

    name_of(name, sizeof name, base);
    (void)unlink(name);
}

/* Appears with what it says. */
static void
make(const char *base, int n)
{
    char  name[4096], temp[4200];
    FILE *f;

    name_of(name, sizeof name, base);
    snprintf(temp, sizeof temp, "%s.new", name);
    f = fopen(temp, "w");
    CHECK(f != NULL && fprintf(f, "%d", n) > 0 && fclose(f) == 0 && rename(temp, name) == 0);
}

/* False: the commit is over, and has made no such call. */
static bool
wait_until_held(void)
{
    bool busy = true;

    for (int i = 0; i < PATIENCE && busy && !is_there("held"); i++) {
        usleep(1000);
        busy = strstr(status().why, "what was committed is being protected") != NULL;
    }
    return is_there("held");
}

/* Commit `number`, held before call `call`. */
static bool
commit_and_hold(hid_t file, int number, int call, int how)
{
    for (int row = 0; row < ((how & LITTLE) != 0 ? 2 : ROWS); row++)
        write_row(file, row, number);
    CHECK(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0);
    take_copy(file, number);
    if (rank == HELD && (how & WRITER) == 0)
        make("at", call);
    together();
    CHECK(H5FDredset_commit(file) >= 0);
    if (rank == HELD && (how & WRITER) != 0)
        make("at", -call);
    return rank == HELD && (how & WRITER) == 0 && wait_until_held();
}

/* What is written meanwhile is in no copy. */
static void
write_on(hid_t file, int number)
{
    write_row(file, 4, -number);
    CHECK(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0 && read_step(file) == -number);
}

static void
let_go(void)
{
    if (rank == HELD) {
        make("go", 0);
        drop("at");
    }
    CHECK(H5FDredset_wait(data_path()) >= 0);
    if (rank == HELD) {
        drop("held");
        drop("go");
    }
}

static bool
of_held(bool held)
{
    int is = held;

    MPI_Bcast(&is, 1, MPI_INT, HELD, MPI_COMM_WORLD);
    return is != 0;
}

/* Commits one after the other, each held before the next call, until one makes no more of them. */
void
case_pauses(int how)
{
    hid_t fapl = driver(false), file = H5Fopen(data_path(), H5F_ACC_RDWR, fapl);
    int   number = 1;
    bool  held = true;

    CHECK(file >= 0);
    while (held && wrong == 0) {
        held = commit_and_hold(file, number + 1, number, how);
        write_on(file, ++number);
        held = held || (rank == HELD && is_there("held"));
        let_go();
        CHECK(is(false, (unsigned long long)number, ""));
        held = of_held(held);
    }
    CHECK(number > 4); /* it was held at all */
    if (rank == 0)
        printf("held before %d calls\n", number - 2);
    CHECK(H5Fclose(file) >= 0 && H5FDredset_wait(data_path()) >= 0 && status().is_protected);
    H5Pclose(fapl);
}

/* Commit 2, or the program, is held before call `n` / 4, and the job dies. `n` % 4: how. */
void
case_pause_dies(int n)
{
    hid_t fapl = driver(false), file = H5Fopen(data_path(), H5F_ACC_RDWR, fapl);
    bool  held;

    CHECK(file >= 0);
    held = commit_and_hold(file, 2, n / 4, n % 4);
    write_on(file, 2);
    held = of_held(held || (rank == HELD && is_there("held")));
    if (rank == 0 && !held)
        printf("not held\n");
    fflush(stdout);
    leave_word();
    together();
    _exit(wrong != 0);
}
