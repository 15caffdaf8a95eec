/* mixture_fail.c: ranks that cannot create their files, die over them, or are killed; see the head of mixture.c. */
#include "mixture.h"

#include "seconds.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

/* All create version 2; those ranks whose digits are in the second argument close it, the others never come to that. */
void
case_vain(void)
{
    hid_t file = create(args[0], 2);

    if (strchr(args[1], '0' + rank) != NULL)
        close_file(file, args[0], 2);
    killed();
}

/* The job is killed when all have written half of version 2. */
void
case_torn(void)
{
    hid_t file = create_empty(args[0], 2);

    must(file >= 0, "H5Fcreate");
    put(file, 2, ELEMENTS / 2);
    H5Fflush(file, H5F_SCOPE_GLOBAL);
    killed();
}

/* Something takes the place of a directory, which is named from DIR on. */
static void
break_directory(const char *which)
{
    char  path[4096], away[4096 + 8];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, which);
    snprintf(away, sizeof away, "%s.away", path);
    must(rename(path, away) == 0, "rename");
    f = fopen(path, "w");
    must(f != NULL && fclose(f) == 0, "fopen");
}

/* H5Fcreate while this process may not have that much: of file size, that is no space; of descriptors. What HDF5 has to say is
 * printed after that: stderr is a file, too. */
static void
create_within(const char *name, int resource, rlim_t most)
{
    struct rlimit before, limit;
    double        start = now();
    H5E_auto2_t   print;
    void         *data;
    hid_t         file;

    must(getrlimit(resource, &before) == 0, "getrlimit");
    limit = (struct rlimit){.rlim_cur = most, .rlim_max = before.rlim_max};
    must(H5Eget_auto2(H5E_DEFAULT, &print, &data) >= 0 &&
             H5Eset_auto2(H5E_DEFAULT, NULL, NULL) >= 0,
         "H5Eset_auto2");
    must(setrlimit(resource, &limit) == 0, "setrlimit");
    file = H5Fcreate(path_of(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    must(setrlimit(resource, &before) == 0, "setrlimit");
    if (file < 0)
        H5Eprint2(H5E_DEFAULT, stderr);
    must(H5Eset_auto2(H5E_DEFAULT, print, data) >= 0, "H5Eset_auto2");
    record("create", name, 2, file >= 0, start);
    if (file >= 0)
        close_file(file, name, 2);
}

/* H5Fcreate while another process, which is this one, has locked the file. */
static void
create_locked(const char *name)
{
    int lock = open(path_of(name), O_RDWR);

    must(lock >= 0 && flock(lock, LOCK_EX) == 0, "flock");
    write_file(name, 2);
    close(lock);
}

static void
create_in_vain(const char *name, const char *why)
{
    int next = dup(0);

    close(next);
    if (strcmp(why, "space") == 0)
        create_within(name, RLIMIT_FSIZE, 0);
    else if (strcmp(why, "descriptors") == 0)
        create_within(name, RLIMIT_NOFILE, (rlim_t)next);
    else if (strcmp(why, "lock") == 0)
        create_locked(name);
    else {
        break_directory(why);
        write_file(name, 2);
    }
}

/* All create version 2, which one rank cannot: for want of space or descriptors, because of a lock, or because the
 * directory that is given breaks. Of the others the last one closes when the first have done so. */
static void
create_and_fail(void)
{
    hid_t file;

    if (rank == FAILING)
        create_in_vain(args[0], args[1]);
    else {
        file = create(args[0], 2);
        if (rank == LATE)
            nap(0.5);
        close_file(file, args[0], 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Before the ranks have met. */
void
case_fail_first(void)
{
    create_and_fail();
}

void
case_fail(void)
{
    get_to_know();
    MPI_Barrier(MPI_COMM_WORLD);
    create_and_fail();
}

/* One rank dies while all write version 2, by itself or by LD_PRELOAD; the others close it and end. With a dead rank
 * there is no barrier of all. */
static void
die_as_one(bool create_it, bool at_once)
{
    MPI_Comm others;
    hid_t    file;

    MPI_Comm_split(MPI_COMM_WORLD, rank == DYING, rank, &others);
    if (create_it && at_once && rank == DYING) {
        must(create_empty(args[0], 2) >= 0, "H5Fcreate");
        raise(SIGKILL);
    }
    file = create_it ? create(args[0], 2) : change(args[0], 2);
    close_file(file, args[0], 2);
    MPI_Barrier(others);
    raise(SIGKILL);
}

void
case_die_created(void)
{
    die_as_one(true, true);
}

void
case_die_creating(void)
{
    die_as_one(true, false);
}

void
case_die_changing(void)
{
    die_as_one(false, false);
}
