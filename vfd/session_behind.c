/* session_behind.c: a commit of a file that stays open, in the background, while its program writes on (async=yes). The commit has a
 * session of its own, a part, which the background ends; the program's session keeps what the file was at that moment, until it
 * is told what came of it. See session_internal.h. */
#include "background.h"
#include "session_internal.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- in the background, or not ---- */

static bool
has_others(const rset_session *session)
{
    return session->team != NULL && session->team->ranks > 1 && !rset_session_is_root(session);
}

bool
rset_session_ends_behind(const rset_session *session)
{
    return has_others(session) && rset_session_needs_others(session);
}

/* A file that is created is committed once in the program's own thread: it has its name then. */
static bool
goes_on_behind(const rset_session *session)
{
    return rset_session_is_update(session) && session->basis.company == RSET_COMPANY_ALL &&
           !session->how.swmr && session->config.atomic;
}

bool
rset_session_commits_behind(const rset_session *session)
{
    return has_others(session) && goes_on_behind(session);
}

/* ---- the part ---- */

static bool
may_split(const rset_session *session)
{
    return goes_on_behind(session) && session->part == NULL && session->shadow.name == NULL &&
           !rset_session_is(session, RSET_IS_IN_DOUBT) && session->verified == NULL &&
           session->team != NULL && session->at.local.dir != NULL &&
           session->at.evidence.has_header;
}

/* Another thread's: it shares nothing with this session but the team, and what the file was. */
static rset_status
make_part(const rset_session *session, rset_session **out, rset_err *err)
{
    rset_session *part = NULL;
    rset_status   st = rset_session_new(&session->config, session->at.path, &part, err);

    if (st != RSET_OK)
        return st;
    st = rset_dir_open(part->at.dir_path, false, &part->at.local.dir, err);
    if (st == RSET_OK) {
        rset_dir_share(part->at.local.dir);
        st = rset_session_survey(part, err);
    }
    if (st != RSET_OK) {
        rset_session_free(part);
        return st;
    }
    part->is = session->is;
    part->how = session->how;
    part->team = session->team;
    part->basis = session->basis;
    part->external = session->external;
    rset_session_step(part, RSET_EVENT_USE);
    if (rset_session_is_changed(session))
        rset_session_step(part, RSET_EVENT_CHANGE);
    part->change.bytes = session->change.bytes;
    part->change.left = session->change.left;
    *out = part;
    return RSET_OK;
}

/* What the file is now can be had from now on, and what was protected last as well, whatever is written. */
static rset_status
begin_moment(rset_session *session, rset_journal **next_out, rset_err *err)
{
    rset_status st = RSET_OK;

    if (session->change.journal == NULL)
        st = rset_change_begin(&session->at.local, &session->at.evidence, RSET_KEEP_OLD,
                               &session->change.journal, err);
    if (st == RSET_OK && !rset_journal_leads_back(session->change.journal))
        st = rset_fail(err, RSET_IO, "%s: what was protected last is not kept", session->at.path);
    return st == RSET_OK
               ? rset_journal_begin_next(&session->at.local, &session->at.evidence, next_out, err)
               : st;
}

rset_session *
rset_session_split(rset_session *session)
{
    rset_session *part = NULL;
    rset_journal *next = NULL;
    rset_err      ignored = RSET_ERR_NONE;

    if (!may_split(session) || begin_moment(session, &next, &ignored) != RSET_OK)
        return NULL;
    if (make_part(session, &part, &ignored) != RSET_OK) {
        rset_journal_drop(next);
        return NULL;
    }
    part->at.local.next = next;
    part->change.label = session->change.label;
    session->change.label = NULL;
    session->part = part;
    rset_session_step(session, RSET_EVENT_HAND_OVER);
    session->change.bytes = 0;
    return part;
}

rset_status
rset_session_commit_part(rset_session *part, rset_commit_by by, char warning_out[RSET_ERR_TEXT],
                         rset_err *err)
{
    rset_ending      e = {.session = part};
    rset_err         own = RSET_ERR_NONE;
    rset_phase_scope scope;
    rset_status      st;

    rset_phases_begin(&scope);
    st = rset_sessions_protect_complete(&e, 1, true, &part->ended.why);
    if (st != RSET_OK)
        rset_session_say_not_protected(&e, &part->ended.why, &own);
    part->ended.why.status = own.status = st;
    rset_session_spent(part, &scope);
    return rset_session_tell(&e, by, &own, warning_out, err);
}

/* ---- and what came of it ---- */

/* The journal that was begun has nothing in it: the file is what is protected. */
static void
was_left_alone(rset_session *session)
{
    rset_err ignored = RSET_ERR_NONE;

    if (rset_set_void(session->at.local.dir, &session->at.evidence, false, &ignored) != RSET_OK ||
        rset_undo_remove(session->at.local.dir, session->at.prefix, &session->at.evidence.undo,
                         &ignored) != RSET_OK) {
        rset_session_step(session, RSET_EVENT_CHANGE);
        return;
    }
    rset_journal_leave(session->change.journal);
    session->change.journal = NULL;
    rset_session_look_again(session);
}

/* Is the journal that was begun one that leads back? Where it is not, and cannot say so, nothing is built on it. */
static void
go_on_with_next(rset_session *session)
{
    rset_err ignored = RSET_ERR_NONE;

    if (rset_journal_leads_back(session->change.journal))
        session->change.no_way_back = RSET_ERR_NONE;
    else if (rset_journal_give_up(session->change.journal, &ignored) != RSET_OK)
        session->basis.content = RSET_CONTENT_IS_UNKNOWN;
}

static void
was_committed(rset_session *session, const rset_session *part)
{
    rset_err ignored = RSET_ERR_NONE;

    rset_journal_leave(session->change.journal);
    session->change.journal = part->at.local.next;
    session->basis.generation = part->basis.generation;
    session->basis.content = RSET_CONTENT_IS_VERIFIED;
    if (rset_journal_succeed(part->at.local.next, session->at.base, &ignored) != RSET_OK)
        rset_session_step(session,
                          RSET_EVENT_DOUBT); /* without memory for a name, it cannot be closed */
    go_on_with_next(session);
    rset_session_look_again(session);
}

/* Where it was prepared, others may have published it: the file may not change any more (P11). */
static void
was_not_committed(rset_session *session, rset_session *part)
{
    if (session->change.label == NULL) { /* else the program has given another one since */
        session->change.label = part->change.label;
        part->change.label = NULL;
    }
    if (rset_session_is_changed(part))
        rset_session_step(session, RSET_EVENT_CHANGE);
    rset_session_step(session, rset_journal_joined(part->at.local.next) ? RSET_EVENT_DOUBT
                                                                        : RSET_EVENT_FAIL);
    rset_journal_drop(part->at.local.next);
    if (rset_journal_leads_back(session->change.journal))
        session->change.no_way_back = RSET_ERR_NONE;
    session->change.bytes += part->change.bytes;
    rset_session_look_again(session);
}

void
rset_session_join(rset_session *session)
{
    rset_session *part = session->part;
    const bool    known = rset_session_is_changed(session);

    if (part == NULL || rset_session_is_inherited(session) ||
        rset_background_busy(session->at.path)) /* which does not end, as the process exits */
        return;
    session->part = NULL;
    if (part->ended.why.status == RSET_OK && part->basis.generation != session->basis.generation)
        was_committed(session, part);
    else
        was_not_committed(session, part);
    if (session->state == RSET_SESSION_CLEAN)
        was_left_alone(session);
    if (session->tell.note[0] == '\0')
        snprintf(session->tell.note, sizeof session->tell.note, "%s", part->tell.note);
    rset_history_closed(session->at.path,
                        part->ended.why.status != RSET_OK ? &part->ended.why : NULL);
    if (known || rset_session_is_changed(session))
        rset_history_changes(session->at.path);
    if (session->change.no_way_back.status != RSET_OK)
        rset_history_in_place(session->at.path, &session->change.no_way_back);
    rset_session_free(part);
}
