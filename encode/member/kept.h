/* kept.h: older generations of a data file that can still be had (keep=N). Local.
 *
 * Such a generation is a file like any other: its data file is <prefix>redset.<generation>.kept, and what protects it has
 * that name and a dot as its prefix. So it is surveyed, verified, rebuilt and moved by the code that does so for every file.
 * It is older than what has the name; one that is not was left by a commit that did not come to be (M6). */
#ifndef RSET_KEPT_H
#define RSET_KEPT_H

#include "member.h"

enum { RSET_KEEP_ALL = INT32_MAX };

/* A commit of other content under these names is being prepared: what was protected last gets names of its own as well,
 * as far as this rank has it. By links where the new content is in local->shadow, so that nothing is copied; else as a copy, of
 * what the undo journal leads back to where the file has changed. Durable when the directory has been synced.
 * *generation_out: that of it, 0: there is nothing that could be kept. RSET_USAGE: no links on this file system. */
rset_status rset_kept_add(const rset_local *local, uint64_t *generation_out, rset_err *err);

/* Removes that generation from among them. */
rset_status rset_kept_drop(const rset_local *local, uint64_t generation, rset_err *err);

/* `current` has the name now: removes all others than the keep - 1 newest that are older (0: all of them). */
rset_status rset_kept_retire(const rset_local *local, uint64_t current, int keep, rset_err *err);

/* The file is about to change: what a commit that did not come to be has named beside it is the same file (M6). *ev is
 * updated. */
rset_status rset_kept_part(const rset_local *local, rset_evidence *ev, rset_err *err);

/* The newest of them that is older than `than`; 0: none. `ev`: of the file that they are kept of. Pure. */
uint64_t rset_kept_before(const rset_evidence *ev, uint64_t than);

#endif
