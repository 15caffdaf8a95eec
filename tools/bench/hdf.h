/* hdf.h: files written and opened with HDF5, through sec2 or through the driver. */
#ifndef BENCH_HDF_H
#define BENCH_HDF_H

#include "files.h"

#include <hdf5.h>

/* How the driver is set up beyond scheme and ranks, and which lines tell about it. A further way of
 * closing is one row in hdf.c; the file of the last row is the one that all else is measured with. */
typedef struct bench_mode {
    const char *config; /* of the configuration string */
    bench_what  write, close;
} bench_mode;

extern const bench_mode bench_modes[];
extern const int        bench_nmodes;

/* A property list for the driver with this scheme (NULL: XOR), every rank a failure group of its own, all
 * ranks one set; for sec2 where `mode` is NULL. Released with H5Pclose; negative on failure. Local. */
hid_t bench_hdf_fapl(const bench *b, const bench_scheme *s, const bench_mode *mode);

/* Makes the dataset of this name, of `size` bytes, `chunk` 0: contiguous. Negative on failure; HDF5 has
 * told why. Local. */
hid_t bench_hdf_dataset(hid_t file, const char *name, uint64_t size, uint64_t chunk);

/* Writes, or else reads, `len` bytes at `off` of the dataset in requests of `request` bytes, a part of
 * BENCH_BUFFER. `buffer` has BENCH_BUFFER bytes, used again and again, or `len`. As above. */
bool bench_hdf_transfer(hid_t set, uint8_t *buffer, uint64_t off, uint64_t len, uint64_t request,
                        bool write);

/* Creates the file, and writes all of it. *file_out: negative where it was not created. Local. */
bool bench_hdf_write_new(const bench *b, hid_t fapl, const bench_file *file, hid_t *file_out);

/* How much 1 % of it is; and writes so much around `part` parts of a hundred, at an odd place: not what is there already. Local. */
uint64_t bench_hdf_part(const bench *b);
bool     bench_hdf_write_part(const bench *b, hid_t id, unsigned part);

/* Creates the file, writes all of it, closes it: the lines of `mode`, NULL: those of sec2. Collective. */
bool bench_hdf_create(bench *b, const bench_scheme *s, const bench_mode *mode,
                      const bench_file *file);

/* Opens the file through the driver, for `what`, and closes it. Collective. */
bool bench_hdf_open(bench *b, const bench_scheme *s, const bench_file *file, bench_what what);

/* Changes 1 % of the file through the driver, and closes it: BENCH_CHANGE. Collective. */
bool bench_hdf_change(bench *b, const bench_scheme *s, const bench_file *file);

/* The same of a file that stays open, and was committed before: BENCH_COMMIT. Collective. */
bool bench_hdf_commit(bench *b, const bench_scheme *s, const bench_file *file);

#endif
