/* newer.h: what had the data file's name when an older generation took its place (protect.h, rset_protect_restored). Local.
 *
 * It is put aside as it is, since it could not be had: its data file is <prefix>redset.<generation>.newer, and whatever lay
 * beside it has that name and a dot as its prefix. So it is a file like any other, for whoever finds what was lost of it. It stays
 * until the file is deleted or unprotected, or somebody removes it. One that is not older than what has the name was left by a
 * restoration that did not come to be, and is the same file (M6). */
#ifndef RSET_NEWER_H
#define RSET_NEWER_H

#include "member.h"

/* Gives all that lies here of the files of `local` names of that generation as well, by links: nothing is copied, and nothing loses
 * its name. Where the data file is missing an empty one stands for it. Durable when the directory has been synced; may be done again.
 * Nothing is here: RSET_OK. RSET_USAGE: no links on this file system. */
rset_status rset_newer_put(const rset_local *local, uint64_t generation, rset_err *err);

/* Removes what was put aside as that generation. */
rset_status rset_newer_drop(const rset_local *local, uint64_t generation, rset_err *err);

/* Removes all that was put aside. */
rset_status rset_newer_forget(const rset_local *local, rset_err *err);

/* `current` has the name now (0: it is not known): removes what is not older than that, of what *ev lists, which is updated. */
rset_status rset_newer_part(const rset_local *local, uint64_t current, rset_evidence *ev,
                            rset_err *err);

#endif
