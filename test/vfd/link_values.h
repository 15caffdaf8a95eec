/* link_values.h: files of each rank whose content is told by the rank and a seed: for the programs of test/vfd/link_*.c that write them, and
 * look for them again. `dir` is to be set first. */
#ifndef LINK_VALUES_H
#define LINK_VALUES_H

#include "link_check.h"

#include <hdf5.h>
#include <string.h>
#include <sys/stat.h>

enum { VALUES = 20000 };

static const char *dir;
static int         values[VALUES], found[VALUES];

/* DIR/node<r>/NAME.<r>.h5, whose directory is there then. Two of them at a time. */
static inline const char *
path_of(const char *name)
{
    static char text[2][4096];
    static int  next;
    char       *at = text[next = !next];

    snprintf(at, sizeof text[0], "%s/node%d", dir, rank);
    mkdir(at, 0777);
    snprintf(at, sizeof text[0], "%s/node%d/%s.%d.h5", dir, rank, name, rank);
    return at;
}

/* Each rank and seed has another length and content. */
static inline hsize_t
set_values(int seed)
{
    for (int i = 0; i < VALUES; i++)
        values[i] = i * 7 + rank * 1000 + seed;
    return (hsize_t)(VALUES - 1000 * rank - seed);
}

/* Into a new file, which stays open. */
static inline void
write_values(hid_t file, int seed)
{
    hsize_t n = set_values(seed);
    hid_t   space = H5Screate_simple(1, &n, NULL);
    hid_t set = H5Dcreate2(file, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

    CHECK(H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    CHECK(H5Dclose(set) >= 0 && H5Sclose(space) >= 0);
}

/* The file is open, has them, and can be closed. */
static inline void
compare_values(hid_t file, int seed)
{
    hsize_t n = set_values(seed);
    hid_t   set;

    CHECK(file >= 0);
    if (file < 0)
        return;
    set = H5Dopen2(file, "d", H5P_DEFAULT);
    CHECK(H5Dget_storage_size(set) == n * sizeof(int));
    CHECK(H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, found) >= 0);
    CHECK(memcmp(values, found, n * sizeof(int)) == 0);
    CHECK(H5Dclose(set) >= 0 && H5Fclose(file) >= 0);
}

#endif
