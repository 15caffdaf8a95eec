/* repaired.h: what the repair of one member's files (set/rebuild.h) means for its report, for whoever watches, and for the outcome.
 * The same where ranks recover together and where a process is alone. Only sources of this room include it. */
#ifndef RSET_REPAIRED_H
#define RSET_REPAIRED_H

#include "recover.h"
#include "set/rebuild.h"

/* Adds to the report what was found amiss (rset_repair_plan). What was changed without an undo journal, as the user wanted it, is no
 * damage. Pure. */
void rset_repaired_report(const rset_repair *rep, rset_report *mine);

/* A file that is CLOSED does not count as that any more: it is about to be rolled back. Local. RSET_IO. */
rset_status rset_repaired_begin_undo(const rset_repair *rep, const rset_report *mine,
                                     rset_err *err);

/* Tells `watch`, if there is one, what is about to be rebuilt: `what` says of which rank, and of how many in all. Local. */
void rset_repaired_tell(const rset_rebuild_watch *watch, const rset_repair *rep,
                        const rset_report *mine, rset_rebuilding what);

/* Notes what was done. Local. */
void rset_repaired_note(const rset_repair *rep, const rset_decision *decided,
                        const rset_report *mine, bool own_run, rset_outcome *out);

#endif
