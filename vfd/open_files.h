/* open_files.h: the files of this process that are open and have a session, in the order of their paths: that is the same on
 * all ranks. */
#ifndef RSET_OPEN_FILES_H
#define RSET_OPEN_FILES_H

#include "handle.h"

void rset_open_add(rset_handle *handle);
/* One that is not there is accepted. */
void rset_open_remove(const rset_handle *handle);

/* The open file of that name that is written as a shadow file; NULL: there is none. */
const rset_handle *rset_open_find_shadow(const char *path);

/* The session of the open file at this path, or of one that is read in the place of another one (fallback=); NULL: none is open. */
const rset_session *rset_open_session(const char *path);

/* Is a protected file open in the directory of this path, or above that? Then the path may have been one, too. */
bool rset_open_protected_near(const char *path);

/* Is any file open that ranks have to end together when it is closed? */
bool rset_open_any_to_end(void);

/* Is one of those not flushed yet, while HDF5 flushes what it has open? */
bool rset_open_any_to_flush(void);

/* Protects all open files now, in an order that is the same on all ranks (finalize.h). */
void rset_open_protect_all(void);

/* Open files whose commit the background has done with (rset_session_join): that of this path, or NULL: all. */
void rset_open_join(const char *path);

#endif
