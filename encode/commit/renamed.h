/* renamed.h: data files that were given another name without what protects them, as by mv. Local. */
#ifndef RSET_RENAMED_H
#define RSET_RENAMED_H

#include "member/member.h"

/* What lies under a prefix whose data file is gone, and records it, with nothing to be finished or rolled back. */
typedef struct rset_left {
    char         *prefix; /* owned, as the evidence; NULL: taken out of the list */
    rset_evidence evidence;
} rset_left;

typedef struct rset_left_behind {
    size_t     n;
    rset_left *at;
} rset_left_behind;

/* All of it in a directory, which is listed; for whoever looks at many files there. RSET_IO, RSET_NOMEM; *out is to be freed in any
 * case. */
rset_status rset_left_behind_list(rset_dir *dir, rset_left_behind *out, rset_err *err);
void        rset_left_behind_free(rset_left_behind *list);

/* Is a file of this size recorded there? Pure. */
bool rset_left_behind_fits(const rset_left_behind *list, uint64_t size);

/* rset_renamed_find with what is in the list, out of which it is taken. */
rset_status rset_left_behind_take(rset_left_behind *list, const rset_local *local,
                                  const rset_evidence *ev, char **prefix_out, rset_evidence *ev_out,
                                  rset_err *err);

/* Is the data file of `local` one that was protected under another name in its directory? That is so where a redundancy file of
 * that name, with nothing to be finished or rolled back, records exactly this content, and generation, if the data file names
 * one; and where no file has that name any more: else this one is a copy. Then *prefix_out, a new string, is the prefix of the old name,
 * and *ev_out what is there under it; else NULL. `ev`: what is there under the name of now. Where that does not say by itself that
 * it records the data file, the directory is listed, if this process has not done so since the file was given its name; the data
 * is read where something records a file of its size. RSET_IO, RSET_NOMEM. */
rset_status rset_renamed_find(const rset_local *local, const rset_evidence *ev, char **prefix_out,
                              rset_evidence *ev_out, rset_err *err);

/* Gives what rset_renamed_find has found the data file's name, in the place of what is there under it. Until that is complete it
 * is found again. RSET_IO, RSET_NOMEM. */
rset_status rset_renamed_adopt(const rset_local *local, const char *prefix, const rset_evidence *ev,
                               rset_err *err);

#endif
