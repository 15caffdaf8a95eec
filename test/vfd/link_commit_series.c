/* link_commit_series.c: the time series of link_commit.c, which is killed and goes on. The judge is a copy of each file taken
 * before its commit, and the number of the last commit that this rank was told of: what is opened has to be, on all ranks, the
 * copy of the same commit, which is not older than what any rank was told of. */
#include "link_commit.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *
told_path(void)
{
    static char text[4096];

    snprintf(text, sizeof text, "%s/%d.told", judge, rank);
    return text;
}

static int
read_told(void)
{
    FILE *f = fopen(told_path(), "r");
    int   n = 0;

    if (f != NULL && fscanf(f, "%d", &n) != 1)
        n = 0;
    if (f != NULL)
        fclose(f);
    return n;
}

static void
write_told(int number)
{
    char  temp[4200];
    FILE *f;

    snprintf(temp, sizeof temp, "%s.new", told_path());
    f = fopen(temp, "w");
    CHECK(f != NULL && fprintf(f, "%d", number) > 0 && fclose(f) == 0);
    CHECK(rename(temp, told_path()) == 0);
}

/* The commit that the file is of; -1: of none that it may be. */
static int
find_commit(hid_t file)
{
    int mine = read_told(), told = mine, both[2], all[2];

    if (ranks > 1)
        MPI_Allreduce(&mine, &told, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    both[0] = all[0] = is_copy(file, told);
    both[1] = all[1] = is_copy(file, told + 1);
    if (ranks > 1)
        MPI_Allreduce(both, all, 2, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (!all[0] && !all[1])
        fprintf(stderr, "rank %d: told of %d: is it that: %d, or the next: %d\n", rank, mine,
                both[0], both[1]);
    if (all[1])
        return told + 1;
    return all[0] ? told : -1;
}

static void
grow(hid_t file, int number)
{
    hsize_t size[2] = {(hsize_t)number * 3, WIDTH};
    hid_t   set = H5Dopen2(file, "grows", H5P_DEFAULT);

    CHECK(set >= 0 && H5Dset_extent(set, size) >= 0 && H5Dclose(set) >= 0);
}

/* Commits are left to the background (async=yes)? */
static bool
writes_on(void)
{
    return getenv("BEHIND") != NULL;
}

/* What came of a commit is known before the next one; what is written meanwhile is in no copy. */
static void
commit_and_write_on(hid_t file, int number)
{
    CHECK(H5FDredset_wait(data_path()) >= 0);
    write_told(number - 1);
    CHECK(H5FDredset_commit(file) >= 0);
    for (int i = 0; i < 20 && number % 4 != 0; i++)
        write_row(file, (number * 11 + i * 3) % ROWS, -number);
    CHECK(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0);
}

/* Not all ranks write in each step, and in some none does. */
static void
one_step(hid_t file, int number, bool grows)
{
    const bool writes = number % 7 != 0 && !(number % 5 == 0 && rank % 2 == 1);

    for (int i = 0; writes && i < 1 + number % 3; i++)
        write_row(file, (number * 3 + i) % ROWS, number);
    if (grows && writes)
        grow(file, number);
    CHECK(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0);
    take_copy(file, number);
    if (writes_on())
        commit_and_write_on(file, number);
    else {
        CHECK(H5FDredset_commit(file) >= 0);
        CHECK(is_copy(file, number));
        write_told(number);
    }
}

/* As if all were killed there. */
static void
end_open(void)
{
    leave_word();
    together();
    _exit(0);
}

void
run_series(int commits, bool anew, bool grows)
{
    hid_t fapl = driver(getenv("LATEST") != NULL), file;
    int   number = 0;

    if (access(told_path(), F_OK) == 0) {
        file = H5Fopen(data_path(), H5F_ACC_RDWR, fapl);
        CHECK(file >= 0);
        number = file >= 0 ? find_commit(file) : -1;
        CHECK(number >= 0);
        if (number < 0)
            return;
        write_told(number); /* a commit that was rolled forward is one that all know of now */
        CHECK(anew ? H5Fclose(file) >= 0 : true);
    } else
        anew = true;
    together();
    if (anew)
        file = create_series(fapl);
    for (int i = 0; i < commits && wrong == 0; i++)
        one_step(file, ++number, grows);
    if (writes_on()) {
        CHECK(H5FDredset_wait(data_path()) >= 0);
        write_told(number);
    }
    /* what is written after the last commit is in no copy */
    write_row(file, 1, -1);
    H5Pclose(fapl);
    if (getenv("CLOSES") != NULL) {
        CHECK(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0);
        take_copy(file, ++number);
        CHECK(H5Fclose(file) >= 0);
        write_told(number);
    } else
        end_open();
}
