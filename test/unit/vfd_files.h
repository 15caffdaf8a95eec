/* vfd_files.h: the HDF5 files of three ranks, protected with XOR, for tests of the driver in a process without MPI. */
#ifndef VFD_FILES_H
#define VFD_FILES_H

#include "image.h"
#include "job.h"

#include <hdf5.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 3, VALUES = 3000 };

typedef struct scene {
    char *base;
    job   j;
    image image; /* of all files as they were protected */
    char *paths[RANKS];
} scene;

static inline void
values(int *to, int from)
{
    for (int i = 0; i < VALUES; i++)
        to[i] = from + i;
}

static inline bool
write_values(hid_t file, int from)
{
    const hsize_t n = VALUES;
    int           data[VALUES];
    hid_t         space = H5Screate_simple(1, &n, NULL), set;
    bool          ok;

    values(data, from);
    set = H5Lexists(file, "d", H5P_DEFAULT) > 0
              ? H5Dopen2(file, "d", H5P_DEFAULT)
              : H5Dcreate2(file, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    ok = set >= 0 && H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    H5Sclose(space);
    return set >= 0 && H5Dclose(set) >= 0 && ok;
}

/* In s->base, which is made before; the files are written through the driver of `plain`. */
static inline void
scene_begin(scene *s, hid_t plain, int from)
{
    job_init(&s->j, s->base, RANKS, &rset_scheme_xor, 1, RANKS);
    for (int r = 0; r < RANKS; r++) {
        hid_t file;

        s->paths[r] = strdup(path_of("%s/%s", s->j.ranks[r].dir, s->j.ranks[r].names[0]));
        s->j.ranks[r].path = s->paths[r];
        file = H5Fcreate(s->paths[r], H5F_ACC_TRUNC, H5P_DEFAULT, plain);
        assert_true(file >= 0 && write_values(file, from) && H5Fclose(file) >= 0);
    }
    assert_int_equal(job_protect(&s->j), RSET_OK);
    s->image = image_take(s->base);
}

static inline void
scene_end(scene *s)
{
    for (int r = 0; r < RANKS; r++) {
        s->j.ranks[r].path = NULL;
        free(s->paths[r]);
    }
    remove_tree(s->base);
    free(s->base);
    image_free(&s->image);
    job_free(&s->j);
    free(s);
}

#endif
