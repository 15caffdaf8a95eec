/* driver.h: what the scenarios of driver.c are made of: calls whose outcome is a line, and small files. */
#ifndef DRIVER_H
#define DRIVER_H

#include <hdf5.h>

#include <stdbool.h>

typedef struct driver_scenario {
    const char *name;
    void (*run)(void);
} driver_scenario;

/* Both end with a name that is NULL. */
extern const driver_scenario driver_open[], driver_content[];

extern const char *self; /* this program, to be started again */

/* From now on HDF5 prints nothing, and what it would have printed is counted. */
void count_prints(void);
/* Says how that call went; returns `ret`. Negative is failure, as everywhere in HDF5. */
hid_t say(const char *what, hid_t ret);
/* -1: it is not there. */
long long file_size(const char *name);
/* `driver WHAT NAME` in a process of its own. */
void elsewhere(const char *what, const char *name);

/* Properties of a new file. Times of objects would make files differ: of the root group too, in newer formats. */
hid_t timeless(void);
/* A dataset of n ints, which can grow when it has chunks. */
hid_t     dataset(hid_t loc, const char *name, hsize_t n, hsize_t chunk);
herr_t    fill(hid_t dset, int seed);
long long sum(hid_t loc, const char *name);
/* A file with the dataset "d". */
void make(const char *name, int seed);
void put_text(const char *name, const char *text);
void try_close(hid_t file);

#endif
