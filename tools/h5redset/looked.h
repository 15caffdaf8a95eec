/* looked.h: what a look at something came to. One that fails is no answer, and least of all that nothing is there (HR4). */
#ifndef LOOKED_H
#define LOOKED_H

#include "recover/recover.h"

#include <stdbool.h>

/* Did a look work, which came to `st` and *err? The first that failed is noted in *first; that a name is gone by now is no failure. */
bool looked(rset_status st, const rset_err *err, rset_err *first);

/* Looks at what has that name in the directory; what came of it as above. Local. */
bool looked_at(rset_dir *dir, const char *name, struct stat *out, rset_err *first);

/* Looks at a path, with `follow` at what a link leads to. *there_out: something has it; then *out is valid. RSET_IO: that cannot be told.
 * Local. */
rset_status looked_path(const char *path, bool follow, struct stat *out, bool *there_out,
                        rset_err *err);

/* Does the path lead to a directory? What is missing is none. RSET_IO: that cannot be told. Local. */
rset_status looked_is_directory(const char *path, bool *is_out, rset_err *err);

#endif
