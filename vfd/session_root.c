/* session_root.c: files of one rank (root=): protected by their writer alone, opened by all. See session_internal.h. */
#include "replicas/replicas.h"
#include "session_internal.h"

#include <stdio.h>

static void
tell_outcome(rset_session *session, const rset_replica_outcome *out)
{
    if (out->from[0] != '\0')
        snprintf(session->note, sizeof session->note,
                 "%s: was missing, outdated or damaged here, and was copied from %s", session->path,
                 out->from);
    rset_session_count(session, out->from[0] != '\0' ? RSET_COUNT_REBUILT : RSET_COUNT_VERIFIED);
}

rset_status
rset_session_recover_root(rset_session *session, rset_status before, bool *acted_out,
                          bool *replaced_out, rset_err *err)
{
    const rset_team *team = session->team;
    const bool       by_content =
        session->config.verify == RSET_VERIFY_OPEN || session->config.verify == RSET_VERIFY_ALL;
    rset_replica_args    args = {.world = team->comm,
                                 .local = &session->local,
                                 .evidence = &session->evidence,
                                 .host = team->host,
                                 .before = before,
                                 .content = by_content ? RSET_CONTENT_ALL : RSET_CONTENT_NONE,
                                 .readonly = rset_session_readonly(session),
                                 .tidy = session->mode != RSET_OPEN_READ,
                                 .keep = rset_session_is_older(session) ? 0 : session->config.keep};
    rset_replica_outcome out;
    rset_status          st = rset_replica_open(&args, &out, err);

    *acted_out = out.acted;
    *replaced_out = out.replaced;
    if (st == RSET_ABSENT && out.never && session->found == RSET_FOUND) {
        *err = RSET_ERR_NONE;
        *acted_out = false;
        return RSET_OK;
    }
    if (st != RSET_OK)
        return st;
    session->sound = by_content;
    tell_outcome(session, &out);
    return RSET_OK;
}

rset_status
rset_session_end_root(rset_session *session, rset_status st, rset_err *err)
{
    const bool     alone = session->blind || session->team == NULL; /* others were not asked */
    const rset_err why = *err;

    session->met = false; /* nobody comes to close it */
    if (session->blind && rset_session_is_ours(session))
        session->blind = false;
    if (session->team != NULL)
        rset_session_be_alone(session);
    if (st == RSET_OK || !alone)
        return st;
    *err = RSET_ERR_NONE;
    return rset_fail(err, st == RSET_ABSENT ? RSET_LOST : st,
                     "%.900s; replicas may lie on other nodes: open it with all ranks", why.text);
}
