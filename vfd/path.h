/* path.h: where a file really is. */
#ifndef RSET_PATH_H
#define RSET_PATH_H

#include "common/err.h"

#include <stdbool.h>

/* Where the file of this name is or would be created, absolute and with links followed (T16), in *path_out, the caller's. What
 * nobody can open stays as it was named. RSET_IO where a name on the way cannot be looked at: it may be a link, and the file another one
 * than the name says. RSET_NOMEM. Local. */
rset_status rset_path_absolute(const char *name, char **path_out, rset_err *err);

/* Is the name that of a symbolic link? One that does not exist is none. RSET_IO where it cannot be looked at. Local. */
rset_status rset_path_is_link(const char *name, bool *is_out, rset_err *err);

/* Has nothing the name? What nobody can open may have it. RSET_IO where it cannot be looked at. Local. */
rset_status rset_path_is_missing(const char *name, bool *is_out, rset_err *err);

/* The same name, absolute, without following a link; a new string. NULL without memory. */
char *rset_path_from_here(const char *name);

#endif
