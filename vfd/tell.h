/* tell.h: what the user is told of files that were opened, or recovered, and were not as they should be. */
#ifndef RSET_TELL_H
#define RSET_TELL_H

#include "recover/recover.h"
#include "team.h"

typedef struct rset_tell_of {
    const char      *files; /* as messages name them */
    const char      *base;  /* name in its directory; of several: "*" */
    bool             several;
    const rset_team *team;
} rset_tell_of;

/* Leaves in note[] what became of this rank's files, and on the first rank, and those whose files are not complete, what became of
 * all; or nothing. `again`: all were encoded again. Local. */
void rset_tell_outcome(const rset_tell_of *of, const rset_outcome *outcome, bool again,
                       char note[RSET_ERR_TEXT]);

/* Was this rank's data file rebuilt, or rolled back? */
bool rset_tell_was_done(const rset_outcome *outcome);

#endif
