/* session_change.c: a file before it changes in place: may it, and what is kept of it. See session_internal.h. */
#include "session_internal.h"

#include <stdio.h>

/* The user is told at once, and whoever asks for the status of the file, that it cannot be rolled back. */
static void
cannot_roll_back(rset_session *session, const rset_err *why)
{
    session->change.no_way_back = RSET_ERR_NONE;
    (void)rset_fail(
        &session->change.no_way_back, why->status,
        "%s: its old content could not be kept until the new one is protected: %.600s; what "
        "is written before the next commit or close is not protected, and if the job "
        "dies before that, the file may have to be rebuilt, where it could have been "
        "rolled back",
        session->at.path, why->text);
    session->tell.at_once = &session->change.no_way_back;
    rset_history_in_place(session->at.path, &session->change.no_way_back);
}

bool
rset_session_has_to_say(rset_session *session, rset_err *err)
{
    if (session->tell.at_once == NULL)
        return false;
    *err = *session->tell.at_once;
    session->tell.at_once = NULL;
    return true;
}

/* From now on nothing leads back to what was protected last. What rests on that is made whole while the journal still does. */
static rset_status
give_up(const rset_session *session, rset_err *err)
{
    if (rset_journal_leads_back(session->change.journal))
        rset_kept_release(&session->at.local);
    return rset_journal_give_up(session->change.journal, err);
}

/* Keeping the old content may fail for want of space. The program's own work goes on all the same, unless the user wants to
 * know (required=yes): in place. But there is a journal in any case: else what is closed could not be told from what is
 * partially written. */
static rset_status
go_on_without(rset_session *session, const rset_err *why, rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    rset_status st;

    if (why->status == RSET_BUSY) /* another process keeps it, of what it changes itself */
        return rset_fail_as(err, why);
    if (session->config.required)
        return rset_fail(err, why->status, "%s; atomic=no changes files in place", why->text);
    st = session->change.journal != NULL
             ? give_up(session, &own)
             : rset_change_begin(&session->at.local, &session->at.evidence, RSET_KEEP_STATE,
                                 &session->change.journal, &own);
    if (st != RSET_OK)
        return rset_fail(err, st, "%s; atomic=no changes files in place without it", own.text);
    cannot_roll_back(session, why);
    return RSET_OK;
}

/* Does a commit of it count that this session knows nothing of? What it commits in the background may be published already. */
static rset_status
is_of_another_generation(const rset_session *session, bool *other_out, rset_err *err)
{
    rset_evidence ev = {0};
    rset_status   st;

    *other_out = false;
    if (session->part != NULL)
        return RSET_OK;
    st = rset_survey_one(session->at.local.dir, session->at.prefix, session->at.base, &ev, err);
    *other_out = rset_evidence_generation(&ev) != rset_evidence_generation(&session->at.evidence);
    rset_evidence_free(&ev);
    return st;
}

/* Does the name still lead to the file that was opened, of the generation that it was of (V6)? Whoever has removed the name wants the
 * file gone, and a time that was set is no change. */
static rset_status
is_what_was_opened(const rset_session *session, bool *is_out, rset_err *err)
{
    const rset_identity *is = &session->is;
    rset_identity        now;
    bool                 other = false;
    rset_status          st;

    *is_out = true;
    if (!rset_session_is_update(session) || session->at.local.dir == NULL || is->inode == 0)
        return RSET_OK;
    st = rset_dir_identity(session->at.local.dir, session->at.base, &now, err);
    if (st != RSET_OK || rset_identity_unchanged(&now, is) || now.inode == 0)
        return st;
    *is_out = rset_identity_same(&now, is);
    if (*is_out) {
        st = is_of_another_generation(session, &other, err);
        *is_out = !other;
    }
    return st;
}

/* Opened without the others, or left by them in the middle of a commit, it is not this process's to change while they may have
 * decided to protect what it is (P11). */
static rset_status
may_change(const rset_session *session, rset_err *err)
{
    bool        same = true;
    rset_status st =
        session->state == RSET_SESSION_CLEAN ? is_what_was_opened(session, &same, err) : RSET_OK;

    if (st != RSET_OK)
        return st;
    if (!same)
        return rset_fail(err, RSET_BUSY,
                         "%s: another process (h5redset, or another job) has replaced or committed "
                         "it since it was opened; nothing was changed: close it, and open it again",
                         session->at.path);
    if (!rset_session_is(session, RSET_IS_IN_DOUBT) &&
        (session->state != RSET_SESSION_CLEAN || !rset_evidence_in_doubt(&session->at.evidence)))
        return RSET_OK;
    return rset_fail(err, RSET_LOST,
                     "%s: its last commit was not finished, and only all ranks together "
                     "can tell which content counts; open the files with all of them before any "
                     "of them is changed",
                     session->at.path);
}

/* For the commit in the background. Without it that comes to nothing, and says so, unless all of it has been read already: then
 * what is written from now on has nothing that leads back to it. The program is not to be kept from its work by that. */
static void
keep_moment(rset_session *session, unsigned long long off, unsigned long long len)
{
    rset_journal *next = session->part != NULL ? session->part->at.local.next : NULL;
    rset_err      why = RSET_ERR_NONE, ignored = RSET_ERR_NONE;

    if (rset_journal_save(next, off, len, &why) == RSET_OK)
        return;
    (void)rset_journal_give_up(next, &ignored); /* rset_session_join does it again */
    cannot_roll_back(session, &why);
}

/* What the journal is for. */
static rset_keep
keeps(const rset_session *session)
{
    if (!session->config.atomic || session->how.swmr)
        return RSET_KEEP_NOTHING;
    return rset_session_is(session, RSET_IS_NEW) ? RSET_KEEP_STATE : RSET_KEEP_OLD;
}

/* What rset_session_change does. */
static rset_status
keep_old(rset_session *session, unsigned long long off, unsigned long long len, rset_err *err)
{
    rset_err    why = RSET_ERR_NONE;
    rset_status st = may_change(session, err);

    if (st != RSET_OK)
        return st;
    session->change.bytes +=
        len < UINT64_MAX - session->change.bytes ? len : UINT64_MAX - session->change.bytes;
    if (!rset_session_is_changed(session) && session->at.local.dir != NULL &&
        session->change.journal == NULL) /* else it failed, later */
        st = rset_change_begin(&session->at.local, &session->at.evidence, keeps(session),
                               &session->change.journal, &why);
    if (st == RSET_OK)
        st = rset_journal_save(session->change.journal, off, len, &why);
    if (st != RSET_OK)
        st = go_on_without(session, &why, err);
    if (st == RSET_OK)
        keep_moment(session, off, len);
    if (st == RSET_OK)
        rset_session_step(session, RSET_EVENT_CHANGE);
    return st;
}

/* Of a new file that is written, most calls do nothing, and need no clock. */
rset_status
rset_session_change(rset_session *session, unsigned long long off, unsigned long long len,
                    rset_err *err)
{
    rset_phase_scope scope;
    rset_status      st;
    bool             first, works;

    rset_session_join(session);
    first = !rset_session_is_changed(session);
    works = first || session->change.journal != NULL;
    if (works)
        rset_phases_begin(&scope);
    st = keep_old(session, off, len, err);
    if (first && rset_session_is_changed(session))
        rset_history_changes(session->at.path);
    if (works)
        rset_session_spent(session, &scope);
    return st;
}
