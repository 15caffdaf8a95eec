/* plain_internal.h: a call under way. Each of these uses those below it:
 *   plain.c         which calls there are, and how ranks meet for one
 *   plain_rename.c  what a rename does         plain_drop.c  what dropping an older generation does
 *   plain_steps.c   what the others do
 * Nobody else includes this. */
#ifndef RSET_PLAIN_INTERNAL_H
#define RSET_PLAIN_INTERNAL_H

#include "plain.h"
#include "recover/recover.h"
#include "stats.h"
#include "team.h"

typedef struct rset_plain {
    const rset_plain_job *job;
    rset_config           config; /* job->config; a rename takes the scheme from what is recorded */
    rset_plain_outcome   *out;
    rset_plain_files      files, to; /* `to`: those that a rename makes of them */
    rset_team            *team;
    uint64_t              most, nonce; /* newest generation of any rank; a random number */
    rset_stamp_text       stamp;
    rset_stats            cost;
} rset_plain;

/* As the job's share of the figures. Local. */
void rset_plain_count(rset_plain *p, rset_count what);

/* What encoding p->files together takes, with the next generation, as p->config says. `all`: RSET_USAGE where no set has room for
 * some rank. Collective the first time that the ranks of this team do that. */
rset_status rset_plain_protection(rset_plain *p, bool all, rset_protect_args *out, rset_err *err);

/* The files are protected as they are; or nothing protects them any more. `before`: this rank's failure so far: nothing is begun
 * anywhere then. Collective. */
rset_status rset_plain_protect(rset_plain *p, rset_status before, rset_err *err);
rset_status rset_plain_unprotect(rset_plain *p, rset_status before, rset_err *err);

/* All files of p->files are there as they were protected, and are protected; or p->out->never. As above. */
rset_status rset_plain_recover(rset_plain *p, rset_status before, rset_err *err);

/* The one file of each rank gets the name of p->to, with all that protects it. As above. */
rset_status rset_plain_rename(rset_plain *p, rset_status before, rset_err *err);

/* The older generation p->job->generation of the one file of each rank goes. As above. */
rset_status rset_plain_drop(rset_plain *p, rset_status before, rset_err *err);

#endif
