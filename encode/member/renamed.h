/* renamed.h: data files that were given another name without what protects them, as by mv. Local. */
#ifndef RSET_RENAMED_H
#define RSET_RENAMED_H

#include "member.h"

/* Is the data file of `local` one that was protected under another name in its directory? That is so where a redundancy file of
 * that name, with nothing to be finished or rolled back, records exactly this content, and generation, if the data file names
 * one; and where no file has that name any more: else this one is a copy. Then *prefix_out, a new string, is the prefix of the old name,
 * and *ev_out what is there under it; else NULL. `ev`: what is there under the name of now. Lists the directory, and reads the
 * data, where `ev` does not say by itself that it records the data file. RSET_IO, RSET_NOMEM. */
rset_status rset_renamed_find(const rset_local *local, const rset_evidence *ev, char **prefix_out,
                              rset_evidence *ev_out, rset_err *err);

/* Gives what rset_renamed_find has found the data file's name, in the place of what is there under it. Until that is complete it
 * is found again. RSET_IO, RSET_NOMEM. */
rset_status rset_renamed_adopt(const rset_local *local, const char *prefix, const rset_evidence *ev,
                               rset_err *err);

#endif
