/* change.h: a file that is there is about to change, or to be created over: what it was is kept, and its protection is void (P3). Local. */
#ifndef RSET_CHANGE_H
#define RSET_CHANGE_H

#include "member/journal.h"

/* The purpose of the journal. */
typedef enum rset_keep {
    RSET_KEEP_NOTHING, /* it says that the file changes; where it cannot be made, the void mark alone does */
    RSET_KEEP_OLD,  /* it keeps the old bytes of what changes */
    RSET_KEEP_STATE /* it says that the file changes, and will say when it is complete */
} rset_keep;

/* The file is about to change in place: makes its undo journal, or goes on with the one that is there, then marks its
 * protection void, durably both. *out is NULL where nothing of the file was ever protected, and nothing has to be said, or
 * where it says nothing (RSET_KEEP_NOTHING). When the old bytes cannot be kept (no space, no memory) it fails, and the caller may
 * try once more with RSET_KEEP_STATE. */
rset_status rset_change_begin(const rset_local *local, rset_evidence *ev, rset_keep keep,
                              rset_journal **out, rset_err *err);

/* The file is about to be created where nothing of it is protected, though others that belong together with it may be:
 * this rank may have lost what it had. While the journal is there, and OPEN, what lies under the file's name is partially
 * written (P2). *ev is updated. */
rset_status rset_change_begin_first(const rset_local *local, rset_evidence *ev, rset_journal **out,
                                    rset_err *err);

/* A file is about to be put in the place of the old one, which will be put aside. */
rset_status rset_change_begin_aside(const rset_local *local, rset_evidence *ev, rset_journal **out,
                                    rset_err *err);

#endif
