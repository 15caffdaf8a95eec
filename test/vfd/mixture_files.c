/* mixture_files.c: what ranks do with one file, and tell of it. See mixture.h. */
#include "mixture.h"

#include "seconds.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

int         rank, ranks;
const char *dir;
double      patience;
char      **args;

void
nap(double seconds)
{
    struct timespec t = {.tv_sec = (time_t)seconds};

    t.tv_nsec = (long)(1e9 * (seconds - (double)t.tv_sec));
    nanosleep(&t, NULL);
}

void
must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "mixture.c: rank %d: %s failed: the test cannot go on\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

const char *
path_of(const char *name)
{
    static char path[4096];
    const char *colon = strchr(name, ':'), *at;
    size_t      used;

    if (colon != NULL)
        used = (size_t)snprintf(path, sizeof path, "%s/%.*s/node%d/", dir, (int)(colon - name),
                                name, rank);
    else
        used = (size_t)snprintf(path, sizeof path, "%s/node%d/", dir, rank);
    name = colon != NULL ? colon + 1 : name;
    at = strchr(name, '@');
    if (at == NULL)
        snprintf(path + used, sizeof path - used, "%s", name);
    else
        snprintf(path + used, sizeof path - used, "%.*s%d%s", (int)(at - name), name, rank, at + 1);
    return path;
}

void
record(const char *call, const char *name, int version, bool ok, double since)
{
    char  path[4096];
    FILE *f;

    snprintf(path, sizeof path, "%s/calls.%d", dir, rank);
    f = fopen(path, "a");
    must(f != NULL, path);
    fprintf(f, "%s %s %d %s %.3f\n", call, name, version, ok ? "ok" : "error", now() - since);
    fclose(f);
}

/* ---- one file ---- */

static int
element(int version, int i)
{
    return version << 20 ^ rank << 16 ^ (i & 0xffff);
}

/* Writes that much of the dataset. */
static void
fill(hid_t set, int version, hsize_t n)
{
    static int data[ELEMENTS];
    hsize_t    start = 0;
    hid_t      memory = H5Screate_simple(1, &n, NULL), space = H5Dget_space(set);

    for (int i = 0; i < ELEMENTS; i++)
        data[i] = element(version, i);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &n, NULL);
    if (H5Dwrite(set, H5T_NATIVE_INT, memory, space, H5P_DEFAULT, data) < 0)
        fprintf(stderr, "rank %d: H5Dwrite failed\n", rank);
    H5Sclose(memory);
    H5Sclose(space);
}

hid_t
create_empty(const char *name, int version)
{
    double start = now();
    hid_t  file = H5Fcreate(path_of(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

    record("create", name, version, file >= 0, start);
    return file;
}

void
put(hid_t file, int version, hsize_t n)
{
    hsize_t all = ELEMENTS;
    hid_t   space = H5Screate_simple(1, &all, NULL);
    hid_t   set =
        H5Dcreate2(file, "data", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

    if (set >= 0)
        fill(set, version, n);
    H5Dclose(set);
    H5Sclose(space);
}

hid_t
create(const char *name, int version)
{
    hid_t file = create_empty(name, version);

    if (file >= 0)
        put(file, version, ELEMENTS);
    return file;
}

hid_t
change(const char *name, int version)
{
    double start = now();
    hid_t  file = H5Fopen(path_of(name), H5F_ACC_RDWR, H5P_DEFAULT), set;

    record("open", name, version, file >= 0, start);
    if (file < 0)
        return file;
    set = H5Dopen2(file, "data", H5P_DEFAULT);
    fill(set, version, ELEMENTS);
    H5Dclose(set);
    return file;
}

void
close_file(hid_t file, const char *name, int version)
{
    double start = now();

    if (file >= 0)
        record("close", name, version, H5Fclose(file) >= 0, start);
}

void
write_file(const char *name, int version)
{
    close_file(create(name, version), name, version);
}

/* Which version is it? */
static int
version_in(hid_t file)
{
    static int data[ELEMENTS];
    hid_t      set = H5Dopen2(file, "data", H5P_DEFAULT);
    int        version = WRONG;

    if (set >= 0 && H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0)
        version = data[0] >> 20;
    for (int i = 0; i < ELEMENTS && version != WRONG; i++)
        if (data[i] != element(version, i))
            version = WRONG;
    H5Dclose(set);
    return version;
}

int
look(const char *name, unsigned flags)
{
    hid_t file = H5Fopen(path_of(name), flags, H5P_DEFAULT);
    int   version = ABSENT;

    if (file >= 0) {
        version = version_in(file);
        H5Fclose(file);
    }
    return version;
}

void
say_found(int version)
{
    int found[64] = {0};

    MPI_Gather(&version, 1, MPI_INT, found, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int r = 0; r < ranks && rank == 0; r++) {
        if (found[r] > 0)
            printf("%d", found[r]);
        else
            printf("%s", found[r] == ABSENT ? "-" : "?");
        printf("%c", r < ranks - 1 ? ' ' : '\n');
    }
    fflush(stdout);
}

/* ---- what ranks do besides ---- */

void
killed(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    raise(SIGKILL);
}

void
get_to_know(void)
{
    write_file("other.h5", 1);
}
