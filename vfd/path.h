/* path.h: where a file really is. */
#ifndef RSET_PATH_H
#define RSET_PATH_H

/* Where the file of this name is or would be created, absolute and with links followed (T16), as far as that
 * can be found out; a new string. NULL without memory. */
char *rset_path_absolute(const char *name);

/* The same name, absolute, without following a link; a new string. NULL without memory. */
char *rset_path_from_here(const char *name);

#endif
