/* session_commit.c: what is complete is protected: at the end of a session, or in the middle of it, while the file stays open.
 * See session_internal.h. */
#include "session_internal.h"

#include <stdio.h>
#include <stdlib.h>

/* Does the name lead to another file than the one that HDF5 has written, or had open (V6)? Where there is none any more, its
 * directory says what becomes of the file. */
static bool
is_another(const rset_session *session)
{
    struct stat   sb;
    rset_identity now = {0};

    if (session->is.inode != 0 && stat(rset_session_at(session), &sb) == 0)
        now = rset_identity_of(&sb);
    return now.inode != 0 && !rset_identity_same(&now, &session->is);
}

/* Its own failure to close, for the others to hear. What was written and is not under its name is lost: never only a warning. */
static rset_status
closed_badly(rset_session *session, bool lower_ok, rset_err *err)
{
    if (lower_ok && is_another(session)) {
        session->config.required = session->config.required || rset_session_is_changed(session);
        return rset_fail(
            err, RSET_BUSY,
            "%s: while it was open, another process (h5redset, or another job) gave its "
            "name to another file; what was written here is in neither",
            session->at.path);
    }
    if (!lower_ok)
        return rset_fail(
            err, RSET_IO,
            "%s: could not be read, or written and closed, completely, so it is not protected",
            session->at.path);
    return RSET_OK;
}

/* Protects what is complete. */
rset_status
rset_sessions_protect_complete(rset_ending *of, int n, bool lower_ok, rset_err *err)
{
    rset_err ignored = RSET_ERR_NONE;

    for (int i = 0; i < n; i++) {
        rset_session *session = of[i].session;

        of[i].complete = closed_badly(session, lower_ok, err) == RSET_OK;
        session->at.local.shadow = session->shadow.name;
        if (of[i].complete && session->shadow.name != NULL)
            (void)rset_file_set_like(session->at.local.dir, session->shadow.name, session->at.base,
                                     &ignored);
    }
    return rset_sessions_protect(of, n, err);
}

/* What could not be protected, in words that nobody has to look up. */
void
rset_session_say_not_protected(const rset_ending *e, const rset_err *why, rset_err *err)
{
    const rset_session *session = e->session;
    const char         *then = "";

    if (!e->complete)
        then = "; all ranks keep what was protected last";
    else if (rset_session_is_changed(session) && session->at.evidence.any)
        then = "; if it is not protected by a later close, the next open may go back to what was "
               "protected last";
    *err = *why;
    snprintf(err->text, sizeof err->text, "not protected: %.800s%s", why->text, then);
}

/* ---- and stays open ---- */

/* This rank's share of a commit is done: the file is like one that was opened just now, together with all others. What it
 * changes next begins another undo journal. */
static void
go_on(rset_session *session)
{
    rset_err ignored = RSET_ERR_NONE;

    rset_session_end_changes(session);
    rset_session_forget_shadow(session);
    rset_session_step(session, RSET_EVENT_COMMIT);
    free(session->verified); /* of what was recorded before */
    session->verified = NULL;
    session->basis.company = rset_session_is_root(session) ? RSET_COMPANY_NONE : RSET_COMPANY_ALL;
    (void)rset_session_say_used(session, &ignored);
}

/* Which commit protects the file now? Where that cannot be seen it is looked for again before the next change. */
void
rset_session_look_again(rset_session *session)
{
    rset_err ignored = RSET_ERR_NONE;

    (void)rset_session_survey(session, &ignored);
    session->at.evidence.any = true;
    if (rset_identity_same(&session->is, &session->at.evidence.data))
        session->is = session->at.evidence.data; /* with what it has written itself */
}

/* What did the failed commit leave on this rank? Nothing, as a rule: the file goes on as before, and so does its undo journal.
 * But it may have been published here, though not everywhere, or be prepared and perhaps published elsewhere (P11). */
static void
not_committed(rset_session *session)
{
    const uint64_t before = rset_evidence_generation(&session->at.evidence);
    rset_evidence  now = {0};
    rset_err       ignored = RSET_ERR_NONE;
    bool           doubt;

    if (session->at.local.dir == NULL || rset_survey(session->at.local.dir, session->at.prefix,
                                                     session->at.base, &now, &ignored) != RSET_OK)
        return;
    doubt = rset_evidence_in_doubt(&now) &&
            (session->at.evidence.next_name == NULL || now.next != session->at.evidence.next);
    rset_session_step(session, doubt ? RSET_EVENT_DOUBT : RSET_EVENT_FAIL);
    if (rset_evidence_generation(&now) != before) {
        rset_session_look_again(session);
        go_on(session);
        session->basis.generation = rset_evidence_generation(&session->at.evidence);
        session->basis.content = RSET_CONTENT_IS_UNKNOWN;
    }
    rset_evidence_free(&now);
}

/* *why: as it was found, *err: in words for the user. Where no rank has changed anything, nothing is encoded. */
static rset_status
commit(rset_ending *e, bool lower_ok, rset_err *why, rset_err *err)
{
    rset_session     *session = e->session;
    const uint64_t    before = session->basis.generation;
    const rset_status st = rset_sessions_protect_complete(e, 1, lower_ok, why);

    if (st == RSET_OK && session->basis.generation != before) {
        rset_session_look_again(session);
        go_on(session);
        session->basis.content =
            RSET_CONTENT_IS_VERIFIED; /* all have what all have encoded: the next commit can build on it */
    } else if (st != RSET_OK) {
        rset_session_say_not_protected(e, why, err);
        not_committed(session);
    }
    rset_history_closed(session->at.path, st != RSET_OK ? err : NULL);
    if (rset_session_is_changed(session))
        rset_history_changes(session->at.path);
    return st;
}

rset_status
rset_session_tell(const rset_ending *e, rset_commit_by by, const rset_err *own,
                  char warning_out[RSET_ERR_TEXT], rset_err *err)
{
    if (own->status == RSET_OK)
        return RSET_OK;
    if (by == RSET_COMMIT_BY_CALL || e->session->config.required) {
        *err = *own;
        return own->status;
    }
    if (!e->p.told)
        snprintf(warning_out, RSET_ERR_TEXT, "%s", own->text);
    return RSET_OK;
}

rset_status
rset_session_commit(rset_session *session, rset_commit_by by, bool lower_ok,
                    char warning_out[RSET_ERR_TEXT], rset_err *err)
{
    rset_ending      e = {.session = session};
    rset_err         why = RSET_ERR_NONE, own = RSET_ERR_NONE;
    rset_phase_scope scope;

    warning_out[0] = '\0';
    if (session->how.mode == RSET_OPEN_READ)
        return rset_fail(err, RSET_USAGE,
                         "%s: is open for reading only, so there is nothing to commit",
                         session->at.path);
    rset_phases_begin(&scope);
    own.status = commit(&e, lower_ok, &why, &own);
    rset_session_spent(session, &scope);
    return rset_session_tell(&e, by, &own, warning_out, err);
}

void
rset_session_finalize(rset_session *session, bool lower_ok)
{
    rset_ending      e = {.session = session};
    rset_err         why = RSET_ERR_NONE, own = RSET_ERR_NONE;
    rset_phase_scope scope;

    if (!rset_session_needs_others(session))
        return;
    rset_phases_begin(&scope);
    session->ended = (rset_session_ended){0};
    if (commit(&e, lower_ok, &why, &own) != RSET_OK) {
        session->ended = (rset_session_ended){.why = why,
                                              .told = e.p.told,
                                              .only_some = e.a.only_some,
                                              .others_have = e.p.protected_};
        snprintf(session->tell.note, sizeof session->tell.note, "%s", own.text);
    }
    if (session->basis.company == RSET_COMPANY_ALL)
        session->basis.company = RSET_COMPANY_NONE; /* nobody can be asked any more */
    rset_session_spent(session, &scope);
}
