/* given.h: files that the configuration names: @FILE, which is read, and report=FILE, which is appended to.
 *
 * Their directories may be everybody's (/tmp), so what lies under the name counts only if this user, or root, has made it: links
 * on the way, the file with the settings, and what is no regular file. Whoever could change a name, or plant one, would otherwise
 * choose the settings of this program, or the file that it writes to. */
#ifndef RSET_GIVEN_H
#define RSET_GIVEN_H

#include "common/err.h"

#include <stddef.h>

/* The text of the file at `path`, at most `max` bytes without '\0': a new string. RSET_USAGE: it cannot be read; is no regular file,
 * another user's, or one that others may write, unless it is root's; *err says which. RSET_NOMEM. Local. */
rset_status rset_given_read(const char *path, size_t max, char **text_out, rset_err *err);

/* Appends `len` bytes, in one piece, to the file at `path`, which is made if it is not there (0666 & ~umask). A pipe that nobody reads is
 * not waited for. A regular file of another user is written only where not everybody may put it there. RSET_USAGE, RSET_IO, RSET_NOMEM;
 * the message has the path. Local; no signal is raised. */
rset_status rset_given_append(const char *path, const char *text, size_t len, rset_err *err);

/* A setting in the environment; NULL: it is not set, or the program has rights that the user who started it does not have
 * (secure_getenv). Borrowed. */
const char *rset_given_env(const char *name);

/* Is this text, which HDF5 has handed over, a setting of the environment that does not count (rset_given_env)? */
bool rset_given_is_barred(const char *text, const char *name);

#endif
