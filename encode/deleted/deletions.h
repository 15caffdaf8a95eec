/* deletions.h: which files of one kind the program has deleted since they were protected, so that what protects them goes, too.
 *
 *   files that are protected -> rset_deletions_note, of earlier runs rset_deletions_find
 *   before a commit          -> rset_deletions_say: of these the data files of this rank are gone
 *   all ranks                -> those that all have said (rset_proposal.gone)
 *   after the commit         -> rset_deletions_remove: nobody needs what protects them
 *
 * As long as one rank has its file, or has not been asked, what protects it stays: it may be a loss. A file that is gone under its
 * name and lies beside it under another one was renamed, and stays protected (member/renamed.h).
 *
 * One of these is used by several threads. Local, all of it. */
#ifndef RSET_DELETIONS_H
#define RSET_DELETIONS_H

#include "member/member.h"
#include "rendezvous/rendezvous.h"

enum {
    RSET_DELETIONS_KNOWN = 64
}; /* of the files that are there the last ones; of those that are gone all */

typedef struct rset_deletions rset_deletions;

rset_deletions *rset_deletions_new(void); /* NULL: no memory */
void            rset_deletions_free(rset_deletions *d);

/* This rank's file, one data file, is protected as that generation now; what was known of its name is forgotten. What there is no
 * memory for is not known. */
void rset_deletions_note(rset_deletions *d, const rset_local *local, uint64_t generation);

/* Takes in what earlier runs left in this directory: of the files whose names differ from `like` in numbers only, those that rank `rank`
 * of `ranks` wrote, whether they are there or gone. Lists the directory, once; later calls do nothing. */
void rset_deletions_find(rset_deletions *d, rset_dir *dir, const char *like, int rank, int ranks);

/* The generations of which this rank's data files are gone, descending, 0 where there are no more: of several those that were said the
 * fewest times, and of these the newest. Looks at each file that was there before, and lists a directory where one is newly gone. */
void rset_deletions_say(rset_deletions *d, uint64_t said_out[RSET_GONE_MAX]);

/* All ranks have said these: what protects this rank's files of them is removed, unless a file of that name is there again or a process
 * has it open to change it. What cannot be removed now stays (h5redset gc). */
void rset_deletions_remove(rset_deletions *d, const uint64_t common[RSET_GONE_MAX]);

#endif
