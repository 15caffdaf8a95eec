/* commands.h: what changes something. Each is collective over the processes of the job, and returns this one's exit status, of which the
 * worst counts: EXITS_NOTHING where nothing of what was asked for is protected; messages go to stderr, what was done to stdout. */
#ifndef COMMANDS_H
#define COMMANDS_H

#include "catalog.h"
#include "job.h"
#include "options.h"
#include "picture.h"

/* Brings back what is not healthy and was asked for. */
int command_rebuild(job *j, const options *o, const picture *p);

/* Brings what was asked for to o->to, and changes nothing where it is. */
int command_scavenge(job *j, const options *o, const picture *p);

/* Says of what was named, and is nowhere in `c`, which has files of several owners, that nobody knows whose it is. The exit status. */
int rebuild_unknown(const job *j, const options *o, const catalog *c);

/* The paths that this process is to protect: alone all that were named, and those in directories; of several processes its own, with
 * its rank for %r, in *own_out, to be freed. Empty on all of them, with a message, where one has none, or cannot tell which they are:
 * the exit status of that. Collective. */
int protect_paths(job *j, const options *o, strings *own_out);

/* The owner of these files of all processes, `own` of this one. RSET_USAGE: of several owners, of which each is told what it has to. Collective. */
rset_status protect_owner(job *j, const strings *own, uint64_t *owner_out, rset_err *err);

/* Makes redundancy for o->paths, which are those of protect_paths, as they are. `p`: of what protects them now. */
int command_protect(job *j, const options *o, const picture *p);

/* Gives the files that are called as o->from says the names that o->into says, with what protects them. */
int command_mv(job *j, const options *o, const picture *p);

/* Removes the redundancy of what was asked for. */
int command_unprotect(job *j, const options *o, const picture *p);

/* Removes what was asked for, with all that protects it: of files that were protected together all, or none. */
int command_rm(job *j, const options *o, const picture *p);

/* Removes what protects files that were deleted, on all ranks, and nothing else. */
int command_gc(job *j, const options *o, const picture *p);

/* Removes the older generation o->which of the files that are listed; of some files on all processes or on none, as far as that can be
 * told before. With o->changed what other programs had made of the files that were asked for, as far as it was put aside (replaced.h). */
int command_drop(job *j, const options *o, const picture *p);

/* Makes the older generation o->which of the files that are listed the newest, on all ranks or on none. */
int command_restore(job *j, const options *o, const picture *p);

#endif
