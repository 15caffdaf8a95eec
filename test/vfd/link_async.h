/* link_async.h: what the cases of link_async.c do with each rank's files, and see of them. */
#ifndef LINK_ASYNC_H
#define LINK_ASYNC_H

#include "H5FDredset.h"

#include <stdbool.h>
#include <stdio.h>

enum { OLD = 1, NEW = 2 };

extern int         rank, ranks, wrong;
extern const char *dir;
extern char        message[4096]; /* HDF5's last errors, from print on */

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: rank %d: not so: %s (%s)\n", __FILE__, __LINE__, rank,         \
                    #condition, message);                                                          \
            wrong++;                                                                               \
        }                                                                                          \
    } while (0)

/* For H5Eset_auto2: keeps what it is given. */
herr_t print(hid_t stack, void *arg);
/* DIR/<name>_<rank>.h5; a few of them live at the same time. */
const char *path(const char *name);
/* A property list. */
hid_t driver(int async, int required);

bool  fill(hid_t file, int content);
hid_t create(const char *name, hid_t fapl, int content);
bool  make(const char *name, hid_t fapl, int content);
int   content_of(const char *name, hid_t fapl);
bool  is_there(const char *name, const char *suffix);
/* Protected by every rank's own redundancy file, and neither void nor under way. */
bool is_protected(const char *name);
void lose(const char *name);

#endif
