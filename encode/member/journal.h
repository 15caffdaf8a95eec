/* journal.h: writing the undo journal of a data file that a program changes (undo.h, P3). */
#ifndef RSET_JOURNAL_H
#define RSET_JOURNAL_H

#include "member.h"

typedef struct rset_journal rset_journal;

/* The file is about to change in place: makes its undo journal, or goes on with the one that is there, then marks its
 * protection void, durably both. `keep`: with the old bytes of what changes, else it only says that the file changes.
 * *out is NULL where nothing of the file was ever protected, and nothing has to be said. When it cannot be written (no
 * space, read-only directory) it fails, and the caller may try once more with keep = false. */
rset_status rset_journal_begin(const rset_local *local, rset_evidence *ev, bool keep,
                               rset_journal **out, rset_err *err);

/* The file is about to be created where nothing of it is protected, though others that belong together with it may be:
 * this rank may have lost what it had. While the journal is there, and OPEN, what lies under the file's name is partially
 * written (P2). *ev is updated. */
rset_status rset_journal_begin_first(const rset_local *local, rset_evidence *ev, rset_journal **out,
                                     rset_err *err);

/* A file is about to be put in the place of the old one, which will be put aside. */
rset_status rset_journal_begin_aside(const rset_local *local, rset_evidence *ev, rset_journal **out,
                                     rset_err *err);

/* Bytes [off, off+len) are about to change: keeps what is there, unless that was done before. `len` may
 * reach beyond the old end. NULL is accepted. */
rset_status rset_journal_save(rset_journal *journal, uint64_t off, uint64_t len, rset_err *err);

/* Can what was protected be had again by it? NULL: no. */
bool rset_journal_leads_back(const rset_journal *journal);

/* From now on old bytes are not kept, durably: it cannot be rolled back any more. */
rset_status rset_journal_give_up(rset_journal *journal, rset_err *err);

/* The program has closed the file, which is complete although not protected: makes its content durable, says so in the
 * journal, and ends it. One process alone does not take a label away that ranks had given together. */
rset_status rset_journal_close(rset_journal *journal, const rset_label *label, rset_err *err);

/* Ends it as it is, and releases the lock; NULL is accepted. */
void rset_journal_leave(rset_journal *journal);

#endif
