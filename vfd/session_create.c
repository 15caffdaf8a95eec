/* session_create.c: where a file is created: as a shadow file beside an old one that is worth something, or in place; and what
 * is rolled back when it is not created after all. See session_internal.h. */
#include "background.h"
#include "comm/mpi/comm_mpi.h"
#include "session_internal.h"

#include <stdio.h>
#include <stdlib.h>

/* Is there anything that the new file would take away: its own protection, or what belongs to that of others? */
static bool
has_something_to_lose(const rset_session *session)
{
    const rset_evidence *ev = &session->at.evidence;

    if (session->at.local.dir == NULL || !session->config.atomic || session->how.swmr)
        return false;
    if (ev->has_header && ev->is_void && !ev->undo.there)
        return false; /* it changed in place, and it cannot be rolled back */
    return ev->any || ev->next_name != NULL;
}

/* One with several names would leave the others behind. But where it is protected under another one, as a rename that was interrupted
 * leaves it (protect/rename.c), it would be lost there. What cannot be looked at is not overwritten. */
static rset_status
is_written_over(const rset_session *session, bool *is_out, rset_err *err)
{
    const rset_evidence *ev = &session->at.evidence;
    struct stat          sb = {.st_nlink = 1};
    rset_status          st = RSET_OK;

    if (session->how.found != RSET_MISSING)
        st = rset_dir_stat(session->at.local.dir, session->at.base, &sb, err);
    *is_out = sb.st_nlink > 1 && (ev->mark == 0 || ev->mark == rset_evidence_generation(ev));
    return st;
}

/* Nothing of it is protected as far as this rank knows; it may have lost what it had, while the others create theirs
 * beside an old one. Then it says until it is protected that it is partially written. */
static rset_status
create_first(rset_session *session, rset_err *err)
{
    const bool say =
        session->config.atomic && !session->how.swmr && session->at.local.dir != NULL &&
        !session->at.evidence.any &&
        (session->how.found == RSET_MISSING || rset_evidence_asks(&session->at.evidence));
    rset_err    why = RSET_ERR_NONE;
    rset_status st = RSET_OK;

    if (say)
        st = rset_change_begin_first(&session->at.local, &session->at.evidence,
                                     &session->change.journal, &why);
    if (st != RSET_OK && session->config.required)
        return rset_fail(err, st, "%s; atomic=no does without that file", why.text);
    return rset_session_change(session, 0, UINT64_MAX, err);
}

/* The file could not be opened, and would be written over: it is put aside before that. */
static rset_status
create_after_loss(rset_session *session, rset_err *err)
{
    uint64_t    generation;
    rset_status st;

    if (session->at.local.dir == NULL || !session->at.evidence.any)
        return create_first(session, err);
    st = rset_lost_move(&session->at.local, &generation, err);
    if (st == RSET_OK)
        st = rset_session_survey(session, err);
    return st == RSET_OK ? create_first(session, err) : st;
}

/* The new file will have the name from the start, and the old one goes aside: that takes a rename, and an undo journal. One
 * that is aside already is older than what has the name, which has nowhere to go. */
static rset_status
put_aside(rset_session *session, rset_err *err)
{
    const rset_status st =
        rset_aside_begin(&session->at.local, &session->at.evidence, &session->change.journal, err);

    if (st == RSET_OK)
        rset_session_step(session, RSET_EVENT_NAME);
    return st;
}

/* The new file cannot be written beside the old one. Nothing that is protected is given up before something else is: unless the
 * user wants to know (required=yes), the old file is put aside. */
static rset_status
create_otherwise(rset_session *session, const rset_err *why, rset_err *err)
{
    rset_err own = RSET_ERR_NONE;

    if (session->config.required || session->at.evidence.undo.aside)
        return rset_fail(err, why->status, "%s; atomic=no creates files in place", why->text);
    rset_session_forget_shadow(session);
    rset_placeholder_remove(&session->at.local);
    if (put_aside(session, &own) != RSET_OK)
        return rset_fail(err, own.status,
                         "%.480s; nor can that be put aside: %.400s; atomic=no "
                         "creates files in place",
                         why->text, own.text);
    snprintf(session->tell.note, sizeof session->tell.note,
             "%.700s; so it was put aside, and other programs saw the new one under the name "
             "before that was protected",
             why->text);
    return RSET_OK;
}

/* HDF5 compares the file that a symbolic link leads to with the one that is open: so the new file has to have the name
 * from the start, and the old one goes aside instead. */
static rset_status
create_aside(rset_session *session, rset_err *err)
{
    rset_err          why = RSET_ERR_NONE;
    const rset_status st = put_aside(session, &why);

    return st == RSET_OK ? st
                         : rset_fail(err, st, "%s; atomic=no creates files in place", why.text);
}

static rset_status
create_shadow(rset_session *session, rset_err *err)
{
    rset_err    why = RSET_ERR_NONE;
    rset_status st =
        rset_shadow_begin(&session->at.local, &session->at.evidence, &session->shadow.name, &why);

    if (st == RSET_OK &&
        asprintf(&session->shadow.path, "%s/%s", session->at.dir_path, session->shadow.name) < 0) {
        session->shadow.path = NULL;
        st = rset_fail(&why, RSET_NOMEM, "%s: no memory to create it", session->at.path);
    }
    if (st == RSET_OK && session->how.found == RSET_MISSING)
        st = rset_placeholder_make(&session->at.local, &why);
    if (st == RSET_OK)
        st = rset_shadow_make(&session->at.local, session->shadow.name, &session->shadow.guard,
                              &why);
    if (st != RSET_OK)
        return create_otherwise(session, &why, err);
    rset_session_step(session, RSET_EVENT_SHADOW);
    return RSET_OK;
}

rset_status
rset_session_begin_creation(rset_session *session, rset_err *err)
{
    const bool  loses = has_something_to_lose(session);
    bool        over = false;
    rset_status st = loses ? is_written_over(session, &over, err) : RSET_OK;

    if (rset_history_lost(session->at.path) || session->at.evidence.refused)
        session->over = RSET_OVER_REFUSED;
    else if (session->how.found == RSET_MISSING && !session->at.evidence.any)
        session->over = RSET_OVER_NOTHING;
    if (st == RSET_OK && (!loses || over))
        st = session->over == RSET_OVER_REFUSED ? create_after_loss(session, err)
                                                : create_first(session, err);
    else if (st == RSET_OK)
        st = session->how.link ? create_aside(session, err) : create_shadow(session, err);
    if (st == RSET_OK) {
        rset_history_opened(session->at.path, &session->outcome.opened, NULL);
        rset_history_changes(session->at.path);
    }
    return st;
}

rset_status
rset_session_create_aside(rset_session *session, rset_err *err)
{
    rset_local shadow = session->at.local;
    rset_err   why = RSET_ERR_NONE;

    shadow.shadow = session->shadow.name;
    rset_shadow_drop(&shadow);
    (void)rset_fail(&why, RSET_IO,
                    "%s: the new file could not be created beside the old one, which stays until "
                    "the new one is protected; if inodes, space or descriptors are short, make "
                    "room",
                    session->at.path);
    return create_otherwise(session, &why, err);
}

/* ---- and then ---- */

void
rset_session_created(rset_session *session, const rset_identity *is)
{
    session->is = *is;
}

/* Others shall see the file under its name from now on. It goes on changing: it is not closed. */
rset_status
rset_session_show(rset_session *session, rset_err *err)
{
    rset_journal *aside = NULL;
    rset_status   st;

    if (session->shadow.name == NULL)
        return RSET_OK;
    session->at.local.shadow = session->shadow.name;
    st = rset_shadow_settle(&session->at.local, &session->at.evidence, false, &aside, err);
    rset_journal_leave(aside);
    rset_session_forget_shadow(session);
    rset_session_step(session, RSET_EVENT_NAME);
    rset_evidence_free(&session->at.evidence); /* of no use any more, whatever became of it */
    if (st == RSET_OK)
        st = rset_session_survey(session, err);
    if (st == RSET_OK)
        st = rset_change_begin(&session->at.local, &session->at.evidence, RSET_KEEP_OLD,
                               &session->change.journal, err);
    return st;
}

/* ---- not created after all ---- */

/* Undoes what was begun to create the file; what lies under its own name stays as the lower driver has left it. */
static void
undo_creation(rset_session *session)
{
    rset_local shadow = session->at.local;

    shadow.shadow = session->shadow.name;
    rset_journal_leave(session->change.journal);
    session->change.journal = NULL;
    if (session->shadow.name != NULL)
        rset_shadow_drop(&shadow);
    else if (session->at.local.dir != NULL && session->at.evidence.has_header)
        rset_aside_undo(&session->at.local);
    else if (session->at.local.dir != NULL &&
             rset_dir_lacks_file(session->at.local.dir, session->at.base))
        (void)rset_undo_remove(session->at.local.dir, session->at.prefix,
                               &(rset_undo){.of = session->at.evidence.undo.of, .rotten = true},
                               NULL);
}

/* The others are told. What goes on in the background is in a conversation with them, and comes first (V3). */
static void
announce(rset_team *team, const rset_config *config, const rset_kind *kind, const char *path)
{
    rset_background_wait(NULL);
    if (team->comm == NULL && rset_team_may_meet(team))
        rset_mpi_will_not_come(config->comm,
                               rset_rendezvous_step(team->rendezvous, RSET_RENDEZVOUS_CLOSE, kind));
    if (!rset_background_stuck())
        rset_rendezvous_announce_failure(team->rendezvous, kind, path);
}

void
rset_session_abandon(rset_session *session)
{
    if (session != NULL && rset_session_is(session, RSET_IS_NEW) &&
        !rset_session_is_inherited(session)) {
        undo_creation(session);
        rset_history_closed(session->at.path, NULL);
        if (session->team != NULL)
            announce(session->team, &session->config, &session->kind, session->at.path);
    }
    rset_session_free(session);
}

void
rset_session_not_created(const rset_config *config, const char *path)
{
    rset_team *team = NULL;
    rset_err   ignored = RSET_ERR_NONE;
    rset_kind  kind;

    if (!rset_config_covers(config, path) || rset_config_is_root(config, path) ||
        rset_team_find(config, &team, &ignored) != RSET_OK || team == NULL)
        return;
    rset_kind_of(path, &kind);
    announce(team, config, &kind, path);
}
