/* below.h: what lies below a directory: others, and HDF5 files. */
#ifndef BELOW_H
#define BELOW_H

#include "common/err.h"
#include "text.h"

#include <stdbool.h>

/* Adds the paths of all HDF5 files in `dir` and below, but for those that are ours, in the order of their paths with numbers by
 * value: rank_9 before rank_10. No link below `dir` is followed. *others_out: how many files are none of these. False: not all could
 * be looked at; *err says what, and the rest is added. */
bool below_add_files(const char *dir, strings *out, size_t *others_out, rset_err *err);

/* Adds the paths of the directory `root`, which may be a link, and of all directories below it: below, no link is followed, and none that
 * is put in the place of a directory meanwhile. One that cannot be read is left out, with what is below it, and a message is added to
 * *failed. */
void walk_below(const char *root, strings *out, strings *failed);

#endif
