/* commit.h: files that are protected while they stay open: by H5FDredset_commit (include/H5FDredset.h), and with commit=flush by
 * H5Fflush.
 *
 * HDF5 has no slot for H5Fflush. What a driver sees of it is that the file is made as long as its content and then flushed,
 * both not for a close; and the same of H5Fset_libver_bounds, H5Fstart_swmr_write, and H5Fclose where the file stays open by
 * another id. Flushes of objects, and those of H5Fopen, come without the first. */
#ifndef RSET_COMMIT_FILE_H
#define RSET_COMMIT_FILE_H

#include "handle.h"

/* The lower driver has made the file as long as its content, or could not: HDF5 flushes it all the same, and by that the other ranks,
 * which have come, hear of it. `closing` as HDF5 says it. Local. */
void rset_commit_note_truncated(rset_handle *handle, bool closing);

/* The lower driver has flushed the file, `ok`: without error. With commit=flush, and if that was H5Fflush, protects it
 * (collective). Negative, with a record: it could not be, and required=yes. *warning: not empty when something is to be said. */
herr_t rset_commit_flushed(rset_handle *handle, bool ok, bool closing, char warning[RSET_ERR_TEXT]);

/* As long as it is `on`, H5Fflush protects nothing: it is called by what protects files itself. */
void rset_commit_pause(bool on);

#endif
