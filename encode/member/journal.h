/* journal.h: writing the undo journal of a data file that a program changes (undo.h, P3). */
#ifndef RSET_JOURNAL_H
#define RSET_JOURNAL_H

#include "member.h"

typedef struct rset_journal rset_journal;

/* Makes the journal of a file that is about to change, or goes on with the one that is there. `how`: RSET_UNDO_KEPT, or _ASIDE where the
 * old file is about to be put aside; 0: old bytes are not kept. Its name is durable; or where the void mark is still to come, it is
 * when the directory is synced for that. RSET_IO, RSET_NOMEM; RSET_BUSY: another process changes the file. Local. */
rset_status rset_journal_open(const rset_local *local, const rset_evidence *ev, unsigned how,
                              rset_journal **out, rset_err *err);

/* Bytes [off, off+len) are about to change: keeps what is there, unless that was done before. `len` may
 * reach beyond the old end. NULL is accepted. */
rset_status rset_journal_save(rset_journal *journal, uint64_t off, uint64_t len, rset_err *err);

/* Was all of [from, to) written by this process since it has the journal, as far as is noted (grains.h)? NULL: no. */
bool rset_journal_has_written(rset_journal *journal, uint64_t from, uint64_t to);

/* Can what was protected be had again by it? NULL: no. */
bool rset_journal_leads_back(const rset_journal *journal);

/* From now on old bytes are not kept, durably: it cannot be rolled back any more. A next journal that cannot say so stays as it is:
 * what it leads back to differs from what is recorded then (M4), and it is to be given up again when it has succeeded. RSET_IO. */
rset_status rset_journal_give_up(rset_journal *journal, rset_err *err);

/* The program has closed the file, which is complete although not protected: makes its content durable, says so in the
 * journal, and ends it. One process alone does not take a label away that ranks had given together. */
rset_status rset_journal_close(rset_journal *journal, const rset_label *label, rset_err *err);

/* The same of n files that are committed together: where one of them fails, none keeps its label. Those that are NULL have
 * nothing to say. */
rset_status rset_journal_close_all(rset_journal *const *journals, const rset_label *labels, int n,
                                   rset_err *err);

/* ---- a next journal: what the file is now is being protected while the program goes on to change it ----
 *
 * It keeps what changes from now on, beside the journal that leads back to what was protected last: until the commit every
 * change is saved in both. Its generation is one of its own at first; from the moment that its ranks prepare a commit, that of the
 * commit, with which it becomes the journal (commit.h). One that no commit comes to is an orphan. */

/* Begins one; what lies under the file's name, or in local->shadow, is what it leads back to. Local. */
rset_status rset_journal_begin_next(const rset_local *local, const rset_evidence *ev,
                                    rset_journal **out, rset_err *err);

/* Bytes of the file then, and what they were; another thread may save to it meanwhile. *got_out < len at the end. RSET_IO:
 * that is not kept any more. */
uint64_t    rset_journal_size(const rset_journal *journal);
rset_status rset_journal_read(rset_journal *journal, uint64_t off, void *buf, size_t len,
                              size_t *got_out, rset_err *err);

/* It belongs to the commit of this generation from now on; durable with the directory. Its new name is noted already. */
rset_status rset_journal_join(rset_journal *journal, const char *prefix, uint64_t generation,
                              rset_err *err);

/* The next journal is the journal from now on, and says so: its commit is published, and all else of that has finished. Best effort: the
 * next head says so as well, and if the program dies before, whoever opens the file next finishes the commit once more. */
void rset_journal_publish(rset_journal *journal);

/* The journal is written as that of the data file `data` from now on, and not read any more: its commit has finished. RSET_NOMEM. */
rset_status rset_journal_succeed(rset_journal *journal, const char *data, rset_err *err);

/* Does it belong to a commit? Then that decides what becomes of its file. Pure. */
bool rset_journal_joined(const rset_journal *journal);

/* That commit has come to nothing, on all ranks: removes the file, which belongs to none any more. Local. */
void rset_journal_discard(rset_journal *journal);

/* Ends it, and removes the file unless it belongs to a commit. NULL is accepted. */
void rset_journal_drop(rset_journal *journal);

/* Ends it as it is, and releases the lock; NULL is accepted. */
void rset_journal_leave(rset_journal *journal);

#endif
