/* tell.c: see tell.h. */
#include "tell.h"

#include <stdio.h>

bool
rset_tell_was_done(const rset_outcome *outcome)
{
    return outcome->replaced && rset_outcome_action(outcome) != RSET_ACTION_NOTHING;
}

/* What became of this rank's own files, "" if nothing. They may have been moved and then rolled back. */
static const char *
what_was_done(const rset_outcome *outcome, bool several)
{
    if (!rset_tell_was_done(outcome))
        return "";
    if (rset_outcome_action(outcome) == RSET_ACTION_UNDO)
        return several ? "were rolled back to what was protected last"
                       : "was rolled back to what was protected last";
    if (rset_outcome_was_lost(outcome))
        return several ? "were lost, and were rebuilt" : "was lost, and was rebuilt";
    return several ? "were damaged, and were rebuilt" : "was damaged, and was rebuilt";
}

/* Of files that another program had changed: when, and where that lies now. False: they were not. */
static bool
tell_changed(const rset_tell_of *of, const rset_outcome *outcome, const char *where,
             char note[RSET_ERR_TEXT])
{
    char how[576];

    if (!outcome->replaced || !outcome->altered.any || outcome->aside == 0)
        return false;
    rset_put_aside_say(&outcome->altered, of->base, outcome->aside, how, sizeof how);
    snprintf(note, RSET_ERR_TEXT,
             "%s: %s; changed=keep would have opened it as it was changed (%s)", of->files, how,
             where);
    return true;
}

/* What concerns all, and no file of this rank. */
static void
tell_of_all(const rset_tell_of *of, const rset_outcome *outcome, bool again,
            char note[RSET_ERR_TEXT])
{
    if (outcome->note[0] != '\0')
        snprintf(note, RSET_ERR_TEXT, "%s", outcome->note);
    else if (again && outcome->renamed)
        snprintf(note, RSET_ERR_TEXT,
                 "%s: had another name when it was protected; what protects it has the new one now",
                 of->files);
    else if (again)
        snprintf(note, RSET_ERR_TEXT, "%s: redundancy files were lost, and have been re-encoded",
                 of->files);
}

void
rset_tell_outcome(const rset_tell_of *of, const rset_outcome *outcome, bool again,
                  char note[RSET_ERR_TEXT])
{
    const rset_comm *comm = of->team->comm;
    const char      *own = what_was_done(outcome, of->several);
    const bool       first = comm->rank == 0;
    char             then[112] = "", where[RSET_HOST_NAME + 32];

    snprintf(where, sizeof where, "rank %d on %s", rset_comm_world(comm, comm->rank),
             of->team->host);
    if (own[0] != '\0')
        snprintf(then, sizeof then, "; %s %s", of->several ? "they" : "it", own);
    if (tell_changed(of, outcome, where, note))
        return;
    if (first && again && own[0] == '\0')
        tell_of_all(of, outcome, again, note);
    else if (outcome->moved_from[0] != '\0' && outcome->copied)
        snprintf(note, RSET_ERR_TEXT,
                 of->several ? "%s: were copied here from %s%s" : "%s: was copied here from %s%s",
                 of->files, outcome->moved_from, then);
    else if (outcome->moved_from[0] != '\0')
        snprintf(note, RSET_ERR_TEXT,
                 of->several ? "%s: lay on %s, and were moved here%s"
                             : "%s: lay on %s, and was moved here%s",
                 of->files, outcome->moved_from, then);
    else if (own[0] != '\0' && outcome->was_on[0] != '\0')
        snprintf(note, RSET_ERR_TEXT,
                 of->several ? "%s: %s; they were on %s (%s)" : "%s: %s; it was on %s (%s)",
                 of->files, own, outcome->was_on, where);
    else if (own[0] != '\0')
        snprintf(note, RSET_ERR_TEXT, "%s: %s (%s)", of->files, own, where);
    else if (first || outcome->torn || outcome->partly)
        tell_of_all(of, outcome, false, note);
}
