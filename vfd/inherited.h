/* inherited.h: files that a process had open when it was forked, in the child: they are the parent's (rset_session_is_inherited). The
 * child may read them. HDF5 would write out what the parent has not written yet, and let go of the parent's locks, when the child
 * exits: that is left out. */
#ifndef RSET_INHERITED_H
#define RSET_INHERITED_H

#include "handle.h"

/* Is it such a file? Local. */
bool rset_handle_is_inherited(const rset_handle *handle);

/* Has a write of this type to it to be left out? Says so, once for a file, but of a superblock, which HDF5 writes at every close. */
bool rset_inherited_write(const rset_handle *handle, H5FD_mem_t type);

/* RSET_USAGE where it is: `call` is for the process that has opened it. Local. */
rset_status rset_inherited_refuse(const rset_handle *handle, const char *call, rset_err *err);

#endif
