/* journal.h: the way back from a changed file to the content that its redundancy covers (P3, FORMAT.md 15).
 *
 * Beside a data file of which exactly one belongs to a rank's protection, under <prefix> + name:
 *
 *   redset.journal   says that there is a way back, from which generation, and holds the old bytes of
 *                    every part of the file that changed in place, each written before its first change
 *   redset.old       the old file itself, put aside when a new one took its name without protection
 *
 * Of new files that lie beside the old one, see beside.h.
 *
 * The old content is what the journal has, over redset.old, or if there is none, over the file. It is
 * believed only where it has the recorded checksums (P2), so nothing has to be synced for each change: what
 * a power failure tears comes out as damage. A journal exists only together with checksums.
 *
 * A file that is written for the first time has a journal too, of generation 0 and with nothing in it.
 *
 * While a program changes the file the journal is locked. One that is neither locked nor closed belongs to
 * a program that died in the middle: an interrupted update. */
#ifndef RSET_JOURNAL_H
#define RSET_JOURNAL_H

#include "member.h"

/* ---- reading: old.c ---- */

/* Looks for the way back from the changed file to generation `generation`, at which it had `size` bytes.
 * One that is not valid, or of another generation and not closed, is none, but says that the file may be half changed:
 * out->spoiled. */
rset_status rset_old_load(rset_dir *dir, const char *prefix, uint64_t generation, uint64_t size,
                          rset_old *out, rset_err *err);

/* The same for a file of which no redundancy file is there: out->there, when it was written for the first time, and
 * out->kept.complete when it was closed. One without a head was just begun. One of a generation leads nowhere without
 * that: out->since. */
rset_status rset_old_load_first(rset_dir *dir, const char *prefix, rset_old *out, rset_err *err);
void        rset_old_free(rset_old *old);

/* Removes what rset_journal_begin and rset_put_in_place left. */
rset_status rset_old_forget(rset_dir *dir, const char *prefix, rset_err *err);

/* ---- writing: journal.c ---- */

typedef struct rset_journal rset_journal;

/* The file is about to change in place: makes or continues its journal, then marks its protection void
 * (P3), durably both. *out is NULL when there is nothing to go back to, or `keep` is false: then only the
 * mark is made. When the journal cannot be written (no space, read-only directory) it fails, and the caller
 * may go on with keep = false. */
rset_status rset_journal_begin(const rset_local *local, rset_evidence *ev, bool keep,
                               rset_journal **out, rset_err *err);

/* The file is about to be created where nothing of it is protected, though others that belong together with it may be:
 * this rank may have lost what it had. Makes a journal of generation 0, which leads back to nothing, and its name
 * durable: while it is there, and not closed, what lies under the file's name is half written (P2). *ev is updated. */
rset_status rset_journal_begin_first(const rset_local *local, rset_evidence *ev, rset_journal **out,
                                     rset_err *err);

/* Bytes [off, off+len) are about to change: keeps what is there, unless that was done before. `len` may
 * reach beyond the old end. NULL is accepted. */
rset_status rset_journal_save(rset_journal *journal, uint64_t off, uint64_t len, rset_err *err);

/* Ends it and releases the lock; NULL is accepted. RSET_JOURNAL_CLOSED: the program has closed the file,
 * which is complete although not protected; what was written is durable first, if there is something to go back to.
 * RSET_JOURNAL_DROP: there shall be no way back. */
typedef enum { RSET_JOURNAL_LEAVE, RSET_JOURNAL_CLOSED, RSET_JOURNAL_DROP } rset_journal_fate;
rset_status rset_journal_end(rset_journal *journal, rset_journal_fate fate, rset_err *err);

/* Makes a journal that is not closed, and has nothing in it: of what it leads back to, as it is under its name. Its name
 * is durable with the directory. */
rset_status rset_journal_leave(const rset_local *local, uint64_t generation, uint64_t size,
                               rset_err *err);

/* The change that the journal is of was closed; it shall be taken back all the same, also if this job dies before that:
 * not closed any more, durably. Nothing to do where there is no journal. *old is updated. */
rset_status rset_journal_unclose(const rset_local *local, rset_old *old, rset_err *err);

/* Ends what rset_evidence_apart says, unless a program is about to change the file now. */
rset_status rset_journal_end_sign(const rset_local *local, const rset_evidence *ev, rset_err *err);

/* Gives local->beside the file's name without protection, and keeps the old content reachable where there
 * is one: by a journal that ends so. Nothing to do where it has the name already. What it holds is durable
 * first. One that shall go back all the same (RSET_JOURNAL_LEAVE) does not take the name without a way back, nor one that
 * of what may be protected elsewhere. */
rset_status rset_put_in_place(const rset_local *local, rset_evidence *ev, rset_journal_fate fate,
                              rset_err *err);

/* The last entry of the journal of a file that was closed says so when one process alone had brought that back, or taken it
 * back, before it was changed: where others have changed theirs since, all go back. */
enum { RSET_JOURNAL_APART = 1 };

/* What its file begins with (overlay.h). */
#define RSET_JOURNAL_MAGIC "RSETJRN1"

#endif
