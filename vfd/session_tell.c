/* session_tell.c: what the user is told of an open that was not like others. See session_internal.h. */
#include "session_internal.h"

#include <stdio.h>

/* What became of this rank's own file. It may have been moved and then rolled back. */
static const char *
what_was_done(const rset_outcome *outcome)
{
    if (!outcome->replaced || outcome->action == RSET_ACTION_NOTHING)
        return "";
    if (outcome->action == RSET_ACTION_UNDO)
        return "was rolled back to what was protected last";
    return outcome->lost ? "was lost, and was rebuilt" : "was damaged, and was rebuilt";
}

/* This process's rank as messages give it. */
static int
world_rank(const rset_session *session)
{
    return rset_comm_world(session->team->comm, session->team->comm->rank);
}

/* Of a file that another program had changed: when, and where that lies now. False: it was not. */
static bool
tell_changed(rset_session *session, const rset_outcome *outcome)
{
    char how[576];

    if (!outcome->replaced || !outcome->altered.any || outcome->aside == 0)
        return false;
    rset_put_aside_say(&outcome->altered, session->at.base, outcome->aside, how, sizeof how);
    snprintf(session->tell.note, sizeof session->tell.note,
             "%s: %s; changed=keep would have opened it as it was changed (rank %d on %s)",
             session->at.path, how, world_rank(session), session->team->host);
    return true;
}

void
rset_session_tell_outcome(rset_session *session, const rset_outcome *outcome, bool again,
                          bool first)
{
    const char *own = what_was_done(outcome);

    if (tell_changed(session, outcome))
        return;
    if (first && again && own[0] == '\0' && outcome->note[0] != '\0')
        snprintf(session->tell.note, sizeof session->tell.note, "%s", outcome->note);
    else if (first && again && outcome->renamed && own[0] == '\0')
        snprintf(session->tell.note, sizeof session->tell.note,
                 "%s: had another name when it was protected; what protects it has the new one now",
                 session->at.path);
    else if (first && again && own[0] == '\0')
        snprintf(session->tell.note, sizeof session->tell.note,
                 "%s: redundancy files were lost, and have been re-encoded", session->at.path);
    else if (outcome->moved_from[0] != '\0')
        snprintf(session->tell.note, sizeof session->tell.note,
                 outcome->copied ? "%s: was copied here from %s%s%s"
                                 : "%s: lay on %s, and was moved here%s%s",
                 session->at.path, outcome->moved_from, own[0] != '\0' ? "; it " : "", own);
    else if (own[0] != '\0')
        snprintf(session->tell.note, sizeof session->tell.note, "%s: %s%s%s (rank %d on %s)",
                 session->at.path, own, outcome->was_on[0] != '\0' ? "; it was on " : "",
                 outcome->was_on, world_rank(session), session->team->host);
    else if ((first || outcome->torn) && outcome->note[0] != '\0')
        snprintf(session->tell.note, sizeof session->tell.note, "%s", outcome->note);
}
