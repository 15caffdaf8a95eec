/* newer.h: what is put aside: generations that could not be had, and files that another program has changed. Local.
 *
 * One sort (`newer`) had the data file's name when an older generation took its place (protect.h, rset_protect_restored). The other sort
 * (`lost`) had it when a program created new files over what it could not open (protect_args.aside). The second part of this file is about
 * that. The third is about files that were changed.
 *
 * What is newer is put aside as it is, since it could not be had: its data file is <prefix>redset.<generation>.newer, and whatever lay
 * beside it has that name and a dot as its prefix. So it is a file like any other, for whoever finds what was lost of it. It stays
 * until the file is deleted or unprotected, or somebody removes it. One that is not older than what has the name was left by a
 * restoration that did not come to be, and is the same file (CO3). */
#ifndef RSET_NEWER_H
#define RSET_NEWER_H

#include "member/member.h"

/* Gives all that lies here of the files of `local` names of that generation as well, by links: nothing is copied, and nothing loses
 * its name. Where the data file is missing an empty one stands for it. Durable when the directory has been synced; may be done again.
 * Nothing is here: RSET_OK. RSET_USAGE: no links on this file system. */
rset_status rset_newer_put(const rset_local *local, uint64_t generation, rset_err *err);

/* Removes what was put aside as that generation. */
rset_status rset_newer_drop(const rset_local *local, uint64_t generation, rset_err *err);

/* Removes all that was put aside. */
rset_status rset_newer_forget(const rset_local *local, rset_err *err);

/* `current` has the name now (0: it is not known): removes what is not older than that, of what *ev lists, which is updated. Of the sort
 * `lost` only what is the same file as the one that has the name, or stands for a file that is missing as well. */
rset_status rset_newer_part(const rset_local *local, uint64_t current, rset_evidence *ev,
                            rset_err *err);

/* ---- what was lost when new files were created ---- */

/* Its data file is <prefix>redset.<generation>.lost, else all is as for what is newer. It stays for the commit that takes its place, and
 * goes with the next commit that has nothing to put aside, or when h5redset unprotects or removes the file. */

/* Gives all that lies here of the files of `local`, but for local->shadow, such names as well: nothing loses its name. *generation_out: the
 * generation that it is of, as its redundancy file, journal, or data file says; 0: none of them says one, and nothing was done. Durable when
 * the directory has been synced; may be done again. RSET_USAGE: no links on this file system. */
rset_status rset_lost_put(const rset_local *local, uint64_t *generation_out, rset_err *err);

/* The same, and takes the old names away, durably: nothing lies here under the names of `local` afterwards. For whoever is about to write
 * over the file itself, or to delete it. After a crash in it the files have both names, or the data file has lost its old one; doing it
 * again finishes it. */
rset_status rset_lost_move(const rset_local *local, uint64_t *generation_out, rset_err *err);

/* Removes what was put aside as that generation. */
rset_status rset_lost_drop(const rset_local *local, uint64_t generation, rset_err *err);

/* Removes all that was put aside so. */
rset_status rset_lost_forget(const rset_local *local, rset_err *err);

/* ---- what another program had changed ---- */

/* A data file that another program has changed is put aside when it is restored to what was protected: it is <name>.redset.<number>.changed,
 * and nothing lies beside it. The number is the generation that was protected, or the next one that is free. It stays for the commit that
 * comes after, and goes with the one after that, or when somebody says so (h5redset drop --changed, h5redset rm). What has no protection any
 * more leaves it; a file that gets another name takes it along. */

/* Gives each data file of `local` that is there one more name, by a link, durably. *number_out: as above. Where the file system has no links it loses its own
 * name. */
rset_status rset_changed_put(const rset_local *local, uint64_t generation, uint64_t *number_out,
                             rset_err *err);

/* Removes what was put aside under that number. */
rset_status rset_changed_drop(const rset_local *local, uint64_t number, rset_err *err);

/* Removes what was put aside before the generation `before` was protected. */
rset_status rset_changed_retire(const rset_local *local, uint64_t before, rset_err *err);

/* `from`, of one data file, is about to be called `to`: so are its changed files, durably. After a crash in it each has its old name, its new
 * one, or both; doing it again finishes it. RSET_USAGE: no links on this file system. */
rset_status rset_changed_follow(const rset_local *from, const rset_local *to, rset_err *err);

/* Has a changed file that counts (names.h) that name? Local. */
bool rset_changed_is(rset_dir *dir, const char *name);

/* Removes one changed file by its name, durably; and the names file where nothing is left that it could list. RSET_USAGE: what has that name
 * is none, or does not count (names.h). */
rset_status rset_changed_remove(rset_dir *dir, const char *name, rset_err *err);

#endif
