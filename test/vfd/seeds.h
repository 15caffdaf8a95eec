/* seeds.h: the files of ranks.c and steps.c, whose content is known by seeds: DIR/data_<rank>.h5 with two datasets,
 * "whole" of SIZE bytes and some more, no two ranks alike, and "part" of a quarter of that. A content is written A or
 * A:B: the whole comes from the seed A, the part from B, or from A as well. With ONE_NAME=n in the environment the file is
 * DIR/<rank % n>/data_.h5: all have one name. With NAME_END=.old it is DIR/data_<rank>.h5.old. */
#ifndef SEEDS_H
#define SEEDS_H

#include <hdf5.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { RIGHT = 0, USAGE = 1, IN_BETWEEN = 2, REFUSED = 3, DISAGREE = 4, WRONG = 5 };

static int         rank, ranks;
static const char *dir;
static char        path[4096]; /* of this rank's file, and the last component of it */
static char        base[64];
static size_t      size;                  /* of "whole" */
static uint64_t    seed[2];               /* of "whole" and of "part" */
static hid_t       why = H5I_INVALID_HID; /* the error stack of the first call that failed */
static int         silent;

static inline void
complain(const char *text, ...)
{
    char    line[4096];
    va_list args;

    if (silent)
        return;
    va_start(args, text);
    vsnprintf(line, sizeof line, text, args);
    va_end(args);
    fprintf(stderr, "rank %d: %s\n", rank, line); /* one write: lines of ranks do not mix */
}

/* Our own memory and storage are no subject of the tests: without them no result counts. */
static inline void *
must(const void *p, const char *what)
{
    if (!p) {
        complain("%s failed: the test cannot go on", what);
        MPI_Abort(MPI_COMM_WORLD, USAGE);
    }
    return (void *)p;
}

/* Each of so many ranks of a node has a directory of its own. */
static inline void
name_as_all_others(int of_a_node)
{
    snprintf(base, sizeof base, "data_.h5");
    snprintf(path, sizeof path, "%s/%d", dir, rank % of_a_node);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%d/%s", dir, rank % of_a_node, base);
}

/* Whose file it is, and where. */
static inline void
name_file(const char *directory, const char *bytes)
{
    const char *one_name = getenv("ONE_NAME"), *end = getenv("NAME_END");

    dir = directory;
    size = strtoull(bytes, NULL, 10) + (size_t)rank * 997;
    if (one_name != NULL && atoi(one_name) > 0) {
        name_as_all_others(atoi(one_name));
        return;
    }
    snprintf(base, sizeof base, "data_%d.h5%s", rank, end != NULL ? end : "");
    snprintf(path, sizeof path, "%s/%s", dir, base);
}

static inline void
take_seed(const char *content)
{
    const char *colon = strchr(content, ':');

    seed[0] = strtoull(content, NULL, 10);
    seed[1] = colon != NULL ? strtoull(colon + 1, NULL, 10) : seed[0];
}

/* splitmix64: each byte depends on seed, rank, dataset and position, without a period */
static inline void
fill(uint8_t *to, size_t n, int dataset)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t x = seed[dataset] * 0x9e3779b97f4a7c15u + (uint64_t)rank * 0xd1b54a32d192ed03u +
                     (uint64_t)dataset * 0x8cb92ba72f3d8dd7u + i;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        to[i] = (uint8_t)(x ^ (x >> 31));
    }
}

static const char *const dataset_name[2] = {"whole", "part"};

static inline size_t
dataset_size(int dataset)
{
    return dataset == 0 ? size : size / 4 + 1;
}

/* The value of an HDF5 call; when it failed its error stack is kept, for who reports it. */
static inline hid_t
tried(hid_t result)
{
    if (result < 0 && why < 0)
        why = H5Eget_current_stack();
    return result;
}

static inline int
write_dataset(hid_t file, int dataset, int create)
{
    size_t   n = dataset_size(dataset);
    hsize_t  length = n;
    uint8_t *data = must(malloc(n), "malloc");
    hid_t    space = H5I_INVALID_HID, set;
    int      ok;

    if (create) {
        space = tried(H5Screate_simple(1, &length, NULL));
        set = tried(H5Dcreate2(file, dataset_name[dataset], H5T_STD_U8LE, space, H5P_DEFAULT,
                               H5P_DEFAULT, H5P_DEFAULT));
        H5Sclose(space);
    } else {
        set = tried(H5Dopen2(file, dataset_name[dataset], H5P_DEFAULT));
    }
    fill(data, n, dataset);
    ok = set >= 0 &&
         tried(H5Dwrite(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, data)) >= 0;
    ok = set >= 0 && tried(H5Dclose(set)) >= 0 && ok;
    free(data);
    return ok ? RIGHT : IN_BETWEEN;
}

static inline int
check_dataset(hid_t file, int dataset)
{
    size_t   n = dataset_size(dataset), i = 0;
    uint8_t *want = must(malloc(n), "malloc"), *got = must(calloc(n, 1), "malloc");
    int      result = IN_BETWEEN;
    hid_t    set = tried(H5Dopen2(file, dataset_name[dataset], H5P_DEFAULT));

    if (set >= 0) {
        hid_t space = H5Dget_space(set);
        if (H5Sget_simple_extent_npoints(space) != (hssize_t)n) {
            complain("%s: dataset %s has the wrong size", path, dataset_name[dataset]);
            result = WRONG;
        } else if (tried(H5Dread(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, got)) >= 0) {
            fill(want, n, dataset);
            while (i < n && want[i] == got[i])
                i++;
            if (i < n)
                complain("%s: wrong content, dataset %s from element %zu of %zu on", path,
                         dataset_name[dataset], i, n);
            result = i < n ? WRONG : RIGHT;
        }
        H5Sclose(space);
        H5Dclose(set);
    }
    free(want);
    free(got);
    return result;
}

#endif
