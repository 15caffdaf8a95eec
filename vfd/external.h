/* external.h: raw data that HDF5 keeps in files of its own (H5Pset_external): it writes them past every driver, so nothing of them is
 * protected. A file says so in its metadata, and the user is told once for each kind of file. No HDF5 here. */
#ifndef RSET_EXTERNAL_H
#define RSET_EXTERNAL_H

#include "common/err.h"

#include <stddef.h>

/* Is there, in metadata that HDF5 reads or writes, the message of an object header that names a dataset's external files (HDF5 File
 * Format Specification, IV.A.2.h)? In headers of version 1 or 2, of files whose addresses and lengths have 8 bytes, or 4. `bytes` may begin
 * and end anywhere; a message that is cut off is not seen. Pure. */
bool rset_external_is_in(const void *bytes, size_t size);

/* `path`, or where it is not `own` a file of another rank that is protected together with it, is such a file, and this rank says so for
 * all: at the next call of rset_external_take. From any thread. Local. */
void rset_external_note(const char *path, bool own);

/* The next one of those: *err says it. False: there is none. Local. */
bool rset_external_take(rset_err *err);

#endif
