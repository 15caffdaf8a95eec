/* kept.h: older generations of a data file that can still be had (keep=N). Local.
 *
 * Such a generation is a file like any other: its data file is <prefix>redset.<generation>.data, and what protects it has
 * that name and a dot as its prefix. So it is surveyed, verified, rebuilt and moved by the code that does so for every file.
 * By what protects it a generation is one that is kept. It is older than what has the name; one that is not was left by a commit that
 * did not come to be (CO3).
 *
 * Where the file was created over, the old one is still there whole, under that name. Where it has changed in place, its
 * undo journal leads back from the next newer generation, and there is no data file until somebody wants to read it (rset_kept_expand,
 * kept_expand.c). Where a file that had changed in place was then created over there are both. Of its redundancy there is either the old
 * file, or where the commit was an update of that, what leads back to it, as an update that is not put into its file yet
 * (delta.h). Whatever changes or removes a generation makes the next older one whole first, if that rests on it. */
#ifndef RSET_KEPT_H
#define RSET_KEPT_H

#include "member/member.h"

enum { RSET_KEEP_ALL = INT32_MAX };

/* A commit of other content under these names is prepared, but for the names in the directory: what was protected last is kept as
 * well, as far as this rank has it. Old files get one more name where the new content is in local->shadow, else the
 * undo journal stays; everything is copied where the file system has no links. May be done again. Durable
 * when the directory has been synced. *generation_out: that of it, 0: there is nothing that could be kept. */
rset_status rset_kept_add(const rset_local *local, uint64_t *generation_out, rset_err *err);

/* The same where the commit changes the redundancy file in place: `was` is what the disk says of it, `since` what leads back to
 * that, and `update` what the commit changes. The disk is not looked at again. `noted`: the names file lists that generation by
 * now (rset_names_note). */
rset_status rset_kept_add_updated(const rset_local *local, const rset_evidence *was,
                                  const rset_undo *since, const rset_overlay *update, bool noted,
                                  uint64_t *generation_out, rset_err *err);

/* ---- kept_remove.c ---- */

/* The commit did not come to be: removes what rset_kept_add has made. */
rset_status rset_kept_take_back(const rset_local *local, uint64_t generation, rset_err *err);

/* Removes that generation, which is older than what has the name, whatever rests on it. */
rset_status rset_kept_remove(const rset_local *local, uint64_t generation, rset_err *err);

/* The next older one is made whole, if it rests on that generation, which may go then. Needs space. RSET_IO, RSET_BUSY,
 * RSET_DAMAGED. */
rset_status rset_kept_detach(const rset_local *local, uint64_t generation, rset_err *err);

/* Removes that generation from among them, after rset_kept_detach. */
rset_status rset_kept_drop(const rset_local *local, uint64_t generation, rset_err *err);

/* `current` has the name now: removes all others than the keep - 1 newest that are older (0: all of them), the oldest first, and
 * what is the same file as the one that has the name. */
rset_status rset_kept_retire(const rset_local *local, uint64_t current, int keep, rset_err *err);

/* The file is about to change: what a commit that did not come to be has named beside it is the same file (CO3), or will not lead
 * back. `leads_back`: its old bytes will be kept, so that what leads back does so still, be it of a commit that is under way;
 * else the newest older generation is made whole, if that can be done. *ev is updated. */
rset_status rset_kept_part(const rset_local *local, rset_evidence *ev, bool leads_back,
                           rset_err *err);

/* What the file was when it was protected is about to be out of reach: the newest older generation is made whole, as far as that can
 * be done: best effort. */
void rset_kept_release(const rset_local *local);

/* The newest of them that is there and older than `than`; 0: none. `ev`: of the file that they are kept of. */
uint64_t rset_kept_before(const rset_local *local, const rset_evidence *ev, uint64_t than);

/* rset_kept_add, or the other one, has failed for want of room. The commit can go on without it: removes what was made of that generation. What rests on it is made whole, as far as that can
 * be done. RSET_IO. */
rset_status rset_kept_do_without(const rset_local *local, uint64_t generation, rset_err *err);

/* ---- kept_files.c ---- */

/* Adds to *names, which are those beside the data file, the names of what protects its older generations: together they are all that
 * these rest on. RSET_IO, RSET_NOMEM. */
rset_status rset_kept_add_names(const rset_local *local, rset_names *names, rset_err *err);

/* In which form an older generation is kept: not at all; with a data file of its own; or as what leads back to it from the next newer
 * one, so that it has to be made whole before it is opened. */
typedef enum { RSET_KEPT_NOT, RSET_KEPT_WHOLE, RSET_KEPT_BACK } rset_kept_form;

/* Looks in which form that generation of the file `local` is there. Local. RSET_IO: it cannot be told; RSET_NOMEM. */
rset_status rset_kept_find(const rset_local *local, uint64_t generation, rset_kept_form *form_out,
                           rset_err *err);

/* Is there that generation, in either form? Yes where it cannot be told: who opens it gets the error. */
bool rset_kept_is_there(const rset_local *local, uint64_t generation);

/* Leaves those in ev->kept that are there, for whoever lists them. Takes time in proportion to their number, as a commit does not. */
void rset_kept_look(const rset_local *local, rset_evidence *ev);

/* ---- kept_expand.c ---- */

/* Makes that generation of the file `local` whole, and those that it rests on: a data file and a redundancy file of its own. What
 * comes out is compared with what is recorded of it (P2); what differs gets the void mark, so that whoever opens it
 * compares it again, and rebuilds it. RSET_OK also where something that it rests on is lost: then it has no data file, and is
 * rebuilt like one that is lost. It may be read beside a program that is changing the file, and each step may be done again
 * after a crash. RSET_IO: no space, it cannot be written, or another process has been doing the same for too long. RSET_BUSY: the
 * newest has become another one each time. RSET_DAMAGED: the
 * file that it rests on, or what leads back to it, cannot be read. */
rset_status rset_kept_expand(const rset_local *local, uint64_t generation, rset_err *err);

/* ---- kept_ready.c ---- */

/* rset_kept_expand for whoever is going to open that generation, where that has to be done. What rests on something that cannot be
 * read is lost to him: RSET_OK. `readonly`: nothing may be written, which is an error then, as where the directory may not be
 * changed. Where it is missing, it may be rebuilt, or brought by others, and will be among those that are kept. RSET_IO,
 * RSET_BUSY. */
rset_status rset_kept_make_ready(const rset_local *local, uint64_t generation, bool readonly,
                                 rset_err *err);

/* The same of the older generation whose data file has that name in `dir`. The name of another file: nothing has to be done. */
rset_status rset_kept_make_named_ready(rset_dir *dir, const char *name, bool readonly,
                                       rset_err *err);

/* The data file of that name in `dir` is gone. If it was that of an older generation, the names file lists that no more. */
void rset_kept_forget_named(rset_dir *dir, const char *name);

#endif
