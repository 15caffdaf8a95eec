/* old_copies.h: copies of a rank's file that it cannot see while it creates the file anew, since it ran on another node when they were
 * protected. Were they left as they are, the rank would take them for the newest once it is back there.
 *
 *   the first file of a kind        -> rset_old_copies_find: what lies in this rank's directories
 *   a rank created its file anew    -> rset_old_copies_ask: who has older files of that rank and name, and of which generations
 *   the commit gets a newer number  -> than all of these
 *   it is published on all ranks    -> rset_old_copies_settle: what was found has been put aside (member/newer.h, the sort `lost`) */
#ifndef RSET_OLD_COPIES_H
#define RSET_OLD_COPIES_H

#include "comm/comm.h"
#include "member/member.h"
#include "picture/picture.h"

/* Old copies: files that earlier runs left in this rank's directories of the files whose names differ from that of its own in numbers only. */
typedef struct rset_old_copies rset_old_copies;

/* Looks into the rank's directory, of which the path is given, and into others (picture.h). Local. RSET_IO, RSET_NOMEM. */
rset_status rset_old_copies_find(const rset_look_at *at, rset_old_copies **out, rset_err *err);
void        rset_old_copies_free(rset_old_copies *all);

/* Is any of them another file than `name`? Local. */
bool rset_old_copies_any(const rset_old_copies *all, const char *name);

/* Who creates which file. */
typedef struct rset_old_copies_args {
    rset_comm           *world;
    const rset_local    *local;
    const rset_evidence *evidence; /* what protects this rank's file */
    const char          *host;     /* name of this process's */
    bool anew; /* this rank created its file where nothing protected was beside it */
} rset_old_copies_args;

/* *newest_out: the newest generation that any rank has, or knows of, of a file that a rank created anew; 0: none; the same on all ranks.
 * What is found of such files gets names as for putting it aside, and loses none. `before`: this rank's failure so far. Collective. `all` NULL: nothing is
 * here. To be ended, also after a failure. RSET_USAGE: no links on that file system; RSET_IO,
 * RSET_NOMEM, RSET_PEER. */
rset_status rset_old_copies_ask(rset_old_copies *all, const rset_old_copies_args *args,
                                rset_status before, uint64_t *newest_out, rset_err *err);

/* How the commit ended that the ranks asked for. */
typedef enum rset_old_copies_end {
    RSET_OLD_COPIES_REPLACED, /* all ranks have published it: what was found loses its old names */
    RSET_OLD_COPIES_STAY,     /* it did not come to be: it loses the new ones */
    RSET_OLD_COPIES_DOUBT     /* nobody knows: it has both */
} rset_old_copies_end;
/* Removes names as `end` says. A file of which that fails stays as it is. Local. */
void rset_old_copies_settle(rset_old_copies *all, rset_old_copies_end end);

#endif
