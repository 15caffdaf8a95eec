/* deleted.h: what protects files that the program has deleted goes with the next commit of such files (deleted/deletions.h). */
#ifndef RSET_VFD_DELETED_H
#define RSET_VFD_DELETED_H

#include "rendezvous/rendezvous.h"
#include "session.h"

/* Before a commit of `session`, with its team: which files of its kind that this process has protected, or found left by earlier runs,
 * are gone on this rank: proposal->gone. Local. */
void rset_deleted_say(rset_session *session, rset_proposal *proposal);

/* All ranks have committed `session`, and *agreed says which files are gone on all: what protects these is removed. Local. */
void rset_deleted_committed(const rset_session *session, const rset_proposal *agreed);

#endif
