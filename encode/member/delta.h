/* delta.h: updating a redundancy file in place (FORMAT-extensions.md 5), for when little of a set has changed.
 *
 * The new bytes, header included, are first written into a file of their own under ".new", complete and
 * synced: it is to the commit what a whole new redundancy file is, and begins with other bytes. Once all ranks have theirs it
 * becomes ".redo": from then on it is laid over the redundancy file whoever reads that, so it does not matter
 * how much of it has arrived there, and the update has happened (P11). Then its bytes are put into the
 * redundancy file, which loses its void mark, and it goes. Each step can be done again after a crash.
 *
 * All calls are local. */
#ifndef RSET_DELTA_H
#define RSET_DELTA_H

#include "member.h"

enum { RSET_DELTA_HEAD = 32 }; /* where its entries begin */

/* Opens a redundancy file `name` with `over`, which is that of the file `over_name`, or NULL. A base that is missing is
 * no error where there is something to be laid over it; what it had is then missing. */
rset_status rset_layered_open(rset_dir *dir, const char *name, const char *over_name,
                              const rset_overlay *over, rset_layered *out, rset_err *err);
void        rset_layered_close(rset_layered *l);
/* The length of the file below, in *out; 0: there is none. RSET_IO: it cannot be told. */
rset_status rset_layered_size(const rset_layered *l, uint64_t *out, rset_err *err);

/* rset_layered_read, and RSET_IO when there are not so many bytes; `name` is for the message. */
rset_status rset_layered_exactly(const rset_layered *l, uint64_t off, void *buf, size_t len,
                                 const char *name, rset_err *err);

/* The redundancy file that the evidence is from. */
rset_status rset_layered_evidence(rset_dir *dir, const rset_evidence *ev, rset_layered *out,
                                  rset_err *err);

/* Begins a file of that kind; over->generation and size are given. */
rset_status rset_delta_begin(rset_file *file, rset_overlay *over, rset_err *err);

/* Is the file of that name an update, by what it begins with? False: it is a whole redundancy file, or cannot be read. */
bool rset_delta_is(rset_dir *dir, const char *name);

/* Loads `over_name`, which is a complete overlay, or out->complete is false. RSET_NOMEM; RSET_IO: it cannot be
 * read. */
rset_status rset_delta_load(rset_dir *dir, const char *over_name, rset_overlay *out, rset_err *err);

/* The redundancy file that `name`, perhaps with a suffix of ours, stands for: as it is called without, or with
 * the void mark. *base_out: a new string, NULL when it fails: without memory (RSET_NOMEM), or where the disk does not say
 * whether there is one with the mark (RSET_IO); then nobody may go on as if it were not there. */
rset_status rset_delta_base(rset_dir *dir, const char *name, char **base_out, rset_err *err);

/* Decides on the update of redundancy file `name`, durably. */
rset_status rset_delta_decide(rset_dir *dir, const char *name, rset_err *err);

/* Is there what the update can be put into? The file `base`, whatever has become of it meanwhile: its checksums tell; or none, where the
 * update is all of it. *there_out: whether that file is there. RSET_IO: that cannot be told. Local. */
rset_status rset_delta_has_base(rset_dir *dir, const char *base, const rset_overlay *over,
                                bool *there_out, bool *has_out, rset_err *err);

/* Puts the bytes of "<name>.redo" into the file, takes off its void mark, or gives it that if it `is_void` then, removes it. *done_out: false, and
 * nothing was changed, where there is nothing that it could be put into: what was in that is lost, and is computed anew from what
 * others have. */
rset_status rset_delta_finish(rset_dir *dir, const char *name, const rset_overlay *over,
                              bool is_void, bool *done_out, rset_err *err);

#endif
