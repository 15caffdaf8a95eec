/* lock.h: the lock on an old file outlives its handle: until the new one has been protected nobody else may change it. */
#ifndef RSET_LOCK_H
#define RSET_LOCK_H

#include "handle.h"

#include <H5FDdevelop.h>
#include <stdbool.h>

/* A second descriptor of the file that `guard` has open, to be closed by the caller, who needs no HDF5 for that: a lock holds until
 * the last is closed. -1 for NULL. False: there can be none. Local. */
bool rset_lock_keep(H5FD_t *guard, int *fd_out);

/* HDF5 truncates a file first, and asks for its lock then: what another program is writing would be gone. So where this one locks files
 * the old file is locked before, until handle->guard is closed. False: it could not be locked, *err says why. Local. */
bool rset_lock_before_truncating(const rset_handle *handle, rset_err *err);

#endif
