/* session.c: the whole story of a file on a few pages: open = survey, rendezvous, restore; close = rendezvous, protect.
 * See session.h. Who is asked and what is said is decided here; what becomes of the files, in recover/decide.h. */
#include "background.h"
#include "session_internal.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* ---- open ---- */

/* Does the disk, or what others may have, say anything about the file? `others`: there may be others. */
static bool
concerns_us(const rset_session *session, bool others)
{
    const rset_evidence *ev = &session->at.evidence;

    return rset_evidence_asks(ev) || (others && rset_session_insists(session));
}

/* A file that is none of ours: passed through, and never thought of again. */
static bool
none_of_ours(const rset_session *session)
{
    const bool protects = rset_team_protects(session->team); /* this thread or another one */
    const bool others = rset_team_has_others(session->team);

    if (session->how.found == RSET_UNSEEN)
        return !others;
    if (session->how.found == RSET_UNOPENABLE)
        return !others || !concerns_us(session, others);
    if (session->how.found == RSET_FOUND &&
        (session->at.local.dir == NULL ||
         rset_dir_lacks_file(session->at.local.dir, session->at.base)))
        return true;
    if (session->how.mode == RSET_OPEN_CREATE && session->team != NULL &&
        !session->at.evidence.any && !rset_session_has_room(session))
        return true;
    if (session->how.mode == RSET_OPEN_CREATE)
        return !protects && !session->at.evidence.any;
    if (session->how.found == RSET_FOUND && !protects && !session->at.evidence.any)
        return session->at.evidence.undo.head.state != RSET_UNDO_OPEN ||
               !session->at.evidence.undo.there;
    if (session->how.found == RSET_FOUND)
        return !concerns_us(session, others) && (!protects || session->how.mode == RSET_OPEN_READ);
    return !others && !session->at.evidence.any && !rset_session_recorded_nearby(session);
}

/* What the first write would need is looked for when the file is opened: HDF5 is not made to fail in a flush. */
static rset_status
can_be_changed(const rset_session *session, rset_err *err)
{
    rset_err    why = RSET_ERR_NONE;
    rset_status st = rset_dir_may_change(session->at.local.dir, &why);

    if (st == RSET_OK)
        return RSET_OK;
    return rset_fail(err, st,
                     "%s: is protected, and cannot be opened for writing: %.800s; its undo journal "
                     "and new redundancy belong there; open it read-only, or give write permission",
                     session->at.path, why.text);
}

/* A rank that cannot ask the others cannot protect its file: with required=yes the open fails, before anything changes that the others have no
 * part in. */
static rset_status
can_be_protected(const rset_session *session, rset_err *err)
{
    if (!session->config.required || session->no_team.status == RSET_OK)
        return RSET_OK;
    return rset_fail(err, session->no_team.status, "%s: cannot be opened for writing: %.900s",
                     session->at.path, session->no_team.text);
}

static rset_status
begin(rset_session *session, rset_err *err)
{
    rset_status st = rset_session_look(session, err);

    if (st == RSET_OK && session->how.mode == RSET_OPEN_UPDATE && session->at.evidence.any)
        st = can_be_protected(session, err);
    if (st == RSET_OK && session->how.mode == RSET_OPEN_UPDATE && session->at.local.dir != NULL &&
        session->at.evidence.any)
        st = can_be_changed(session, err);
    if (st == RSET_OK)
        st = rset_session_say_used(session, err);
    if (st != RSET_OK && session->how.mode != RSET_OPEN_CREATE &&
        rset_team_has_others(session->team)) {
        session->outcome.verdict = *err; /* the others would wait for this rank */
        *err = RSET_ERR_NONE;
        return RSET_OK;
    }
    if (st == RSET_OK && none_of_ours(session)) {
        if (session->how.mode == RSET_OPEN_CREATE) /* it is written from the beginning */
            (void)rset_undo_remove(session->at.local.dir, session->at.prefix,
                                   &session->at.evidence.undo, NULL);
        return RSET_ABSENT;
    }
    return st == RSET_OK && session->how.mode == RSET_OPEN_CREATE
               ? rset_session_begin_creation(session, err)
               : st;
}

rset_status
rset_session_open(const rset_config *config, const char *path, const rset_opening *how,
                  rset_session **session_out, rset_err *err)
{
    rset_session    *session = NULL;
    rset_phase_scope scope;
    rset_status      st;

    *session_out = NULL;
    if (!rset_config_covers(config, path))
        return RSET_OK;
    st = rset_session_new(config, path, &session, err);
    if (st != RSET_OK)
        return st;
    session->how = *how;
    if (how->mode == RSET_OPEN_CREATE)
        rset_session_step(session, RSET_EVENT_CREATE);
    rset_phases_begin(&scope);
    st = begin(session, err);
    if (st == RSET_OK) {
        rset_session_spent(session, &scope);
        *session_out = session;
    } else { /* mostly none of ours: costs nothing worth telling */
        rset_phases_end(&scope);
        rset_session_free(session);
    }
    return st == RSET_ABSENT ? RSET_OK : st;
}

/* ---- first use ---- */

/* SWMR readers open while the writer writes: nothing can be verified then (T19). A file that nobody
 * protects needs nothing. */
static bool
nothing_to_ask(const rset_session *session)
{
    return session->how.found == RSET_FOUND && session->outcome.verdict.status == RSET_OK &&
           (session->how.swmr || !concerns_us(session, rset_team_has_others(session->team) &&
                                                           rset_team_may_meet(session->team)));
}

/* What cannot be opened to be changed will not be closed either: this rank has done with that step, and is not to be
 * taken for one that comes late to it (P2). */
static void
skip_step(rset_session *session, rset_status why)
{
    if (session->how.mode == RSET_OPEN_UPDATE && why != RSET_ABSENT && session->team != NULL &&
        !rset_session_is_root(session))
        rset_rendezvous_skip(session->team->rendezvous, &session->kind);
}

/* The first use, and what came of it. */
static rset_status
resolve(rset_session *session, rset_status own, const rset_lower *lower, rset_err *err)
{
    const bool  asks = !nothing_to_ask(session);
    rset_status st;
    rset_err    ignored = RSET_ERR_NONE;

    if (own == RSET_OK && session->outcome.verdict.status != RSET_OK)
        own = session->outcome.verdict.status;
    else
        session->outcome.verdict = *err;
    st = own;
    if (asks)
        rset_background_wait(NULL);
    if (asks && rset_team_may_meet(session->team) && !rset_background_stuck())
        st = rset_session_resolve_parallel(session, own, lower, &session->outcome.verdict);
    else if (asks && own == RSET_OK)
        st = rset_session_resolve_serial(session, RSET_CONTENT_NONE, &session->outcome.verdict);
    if (rset_session_is_root(session))
        st = rset_session_end_root(session, st, &session->outcome.verdict);
    if (!session->how.swmr) /* else its writer changes it all the time */
        session->is = session->at.evidence.data;
    if (st == RSET_OK)
        st = lower->open(lower->handle, &session->is, &session->outcome.verdict);
    if (st != RSET_OK) {
        if (asks)
            skip_step(session, st);
        session->outcome.verdict.status = st;
        *err = session->outcome.verdict;
        rset_session_step(session, RSET_EVENT_REFUSE);
        return st;
    }
    session->outcome.verdict = RSET_ERR_NONE;
    rset_session_step(session, RSET_EVENT_USE);
    (void)rset_session_say_used(session, &ignored); /* of a file that has come back */
    return RSET_OK;
}

rset_status
rset_session_resolve(rset_session *session, rset_status own, const rset_lower *lower, rset_err *err)
{
    rset_phase_scope scope;
    rset_status      st;

    if (session->state != RSET_SESSION_TENTATIVE) {
        if (session->outcome.verdict.status != RSET_OK)
            *err = session->outcome.verdict;
        return session->outcome.verdict.status;
    }
    rset_phases_begin(&scope);
    st = resolve(session, own, lower, err);
    rset_session_note_opened(session);
    rset_session_spent(session, &scope);
    return st;
}

/* ---- close ---- */

/* What a close that could not be protected is labelled with. One process alone is a job of one rank, and has finished
 * when it has closed. */
static rset_label
label_of(const rset_session *session)
{
    rset_label label = {.step = 1, .ranks = 1};

    if (session->team != NULL)
        return rset_rendezvous_label(session->team->rendezvous, &session->kind);
    if (getrandom(&label.job, sizeof label.job, 0) != (ssize_t)sizeof label.job)
        label.job = (uint64_t)getpid();
    label.job |= 1;
    return label;
}

/* Written for the first time, closed, and nobody else has come with such a file: it is none of ours any more. Nor is one
 * that is gone, or has another name now. Not what may have been decided on. */
static bool
is_left_alone(const rset_ending *e, rset_status why)
{
    const rset_session  *session = e->session;
    const rset_evidence *ev = &session->at.evidence;

    if (!rset_session_is(session, RSET_IS_NEW) || session->shadow.name != NULL || ev->any ||
        ev->next_name != NULL)
        return false;
    return rset_dir_lacks_file(session->at.local.dir, session->at.base) ||
           (why == RSET_PEER && e->a.only_some && !e->met && !e->p.protected_);
}

/* A rank that had nothing to change closes in the same step: only then all files are of one. */
static rset_status
begin_unchanged(rset_session *session, rset_err *err)
{
    rset_status st = rset_session_survey(session, err);

    return st == RSET_OK ? rset_change_begin(&session->at.local, &session->at.evidence,
                                             RSET_KEEP_OLD, &session->change.journal, err)
                         : st;
}

/* The file is closed, but could not be protected (`why`): the program sees what it wrote all the same, what was protected
 * last can still be had, and all is ready for the journal to say in which step it was closed. */
static rset_status
begin_to_settle(const rset_ending *e, rset_status why, bool in_step, rset_err *err)
{
    rset_session *session = e->session;
    rset_journal *journal = session->change.journal;
    bool          as_left = false;

    if (session->at.local.dir == NULL)
        return RSET_OK;
    (void)rset_session_is_as_left(session, &as_left,
                                  NULL); /* where that cannot be seen, it may be another by now */
    /* The label of a step is for files that all have closed in it, that of one rank for a process alone. Without one all roll back. */
    if (!as_left || (session->shadow.name == NULL && session->no_team.status != RSET_OK)) {
        session->change.journal = NULL;
        rset_journal_leave(journal);
        return RSET_OK;
    }
    if (session->shadow.name != NULL) {
        rset_journal_leave(journal);
        return rset_shadow_settle(&session->at.local, &session->at.evidence, in_step,
                                  &session->change.journal, err);
    }
    if (is_left_alone(e, why)) {
        session->change.journal = NULL;
        rset_journal_leave(journal);
        return rset_unprotect(&session->at.local, err);
    }
    return journal == NULL && !rset_session_is_changed(session) ? begin_unchanged(session, err)
                                                                : RSET_OK;
}

/* That, and the journals say so: of all files, or of none. */
static rset_status
settle(const rset_ending *of, int n, rset_status why, rset_err *err)
{
    rset_label    labels[RSET_TOGETHER_MAX];
    rset_journal *journals[RSET_TOGETHER_MAX] = {NULL};
    rset_status   st = RSET_OK;

    for (int i = 0; st == RSET_OK && i < n; i++) {
        labels[i] = label_of(of[i].session);
        st = begin_to_settle(&of[i], why, labels[i].ranks > 1, err);
        journals[i] = of[i].session->change.journal;
        of[i].session->change.journal = NULL;
    }
    if (st == RSET_OK)
        return rset_journal_close_all(journals, labels, n, err);
    for (int i = 0; i < n; i++)
        rset_journal_leave(journals[i]);
    return st;
}

/* Not all files are complete, so all go back to what was protected last: a new file beside the old one goes right away; what
 * changed in place stays open in its journal, by which the next open rolls it back. */
static void
go_back(rset_session *session)
{
    if (session->shadow.name != NULL)
        rset_shadow_drop(&session->at.local);
}

/* Of all of them, on all ranks? */
static bool
all_complete(const rset_ending *of, int n)
{
    bool all = true;

    for (int i = 0; i < n; i++)
        all = all && of[i].complete;
    return all;
}

/* Another process protects, or has replaced, files of these names: a new file would take the place of one that is protected, or
 * lose its own. */
static rset_status
give_way(const rset_ending *of, int n, const rset_err *why, rset_err *err)
{
    bool any = false;

    for (int i = 0; i < n; i++) {
        any = any || of[i].session->shadow.name != NULL;
        go_back(of[i].session);
    }
    return any ? rset_fail(err, RSET_BUSY,
                           "%.900s; what this job wrote was not kept: write it under another name",
                           why->text)
               : RSET_OK;
}

static rset_status
end_parallel(rset_ending *of, int n, bool lower_ok, rset_err *err)
{
    rset_err    why = RSET_ERR_NONE, own = RSET_ERR_NONE;
    rset_status st = rset_sessions_protect_complete(of, n, lower_ok, &why);
    rset_status settled = RSET_OK;

    if (st == RSET_OK)
        return RSET_OK;
    for (int i = 0; i < n; i++)
        rset_session_count(of[i].session, RSET_COUNT_UNPROTECTED);
    rset_session_say_not_protected(&of[0], &why, err);
    if (!all_complete(of, n))
        for (int i = 0; i < n; i++)
            go_back(of[i].session);
    else if (st != RSET_BUSY || (settled = give_way(of, n, &why, &own)) == RSET_OK)
        settled = settle(of, n, st, &own);
    if (settled == RSET_OK)
        return st;
    for (int i = 0; i < n; i++)
        of[i].session->config.required =
            true; /* what was written is not where it belongs: never only a warning */
    *err = own;
    return own.status;
}

bool
rset_session_leave(rset_session *session, void *comm)
{
    struct stat now;

    if (rset_session_is_root(session) || (session->config.comm != NULL && comm == NULL) ||
        stat(rset_session_at(session), &now) != 0) {
        free(comm);
        return false;
    }
    if (session->change.left.st_ino == 0)
        rset_session_left(session, &now);
    session->comm = comm;
    session->config.comm = comm;
    return true;
}

static void
take_note(const rset_ending *of, int n, char warning_out[RSET_ERR_TEXT])
{
    for (int i = 0; i < n && warning_out[0] == '\0'; i++)
        snprintf(warning_out, RSET_ERR_TEXT, "%s", of[i].session->tell.note);
}

static atomic_bool has_said; /* of some close that it was not protected */

bool
rset_session_sum_up(char text_out[RSET_ERR_TEXT])
{
    const rset_stats         all = rset_stats_of(NULL);
    const unsigned long long none = all.files[RSET_COUNT_UNPROTECTED];

    if (!atomic_load(&has_said) || none == 0)
        return false;
    snprintf(text_out, RSET_ERR_TEXT,
             "%llu of %llu closes of this rank were not protected; what was said of each kind of "
             "file, the first time, has the reason",
             none, none + (unsigned long long)all.files[RSET_COUNT_PROTECTED]);
    return true;
}

/* What came of it, for the program: an error where any of the files asks for that. `own`: the message of a failure. */
static rset_status
tell(const rset_ending *of, int n, rset_status st, const rset_err *own,
     char warning_out[RSET_ERR_TEXT], rset_err *err)
{
    bool required = false, told = false;

    for (int i = 0; i < n; i++) {
        required = required || of[i].session->config.required;
        told = told || of[i].p.told;
    }
    if (st != RSET_OK && required)
        *err = *own;
    else if (st != RSET_OK && !told) {
        snprintf(warning_out, RSET_ERR_TEXT, "%s", own->text);
        atomic_store(&has_said, true);
    } else if (st == RSET_OK)
        take_note(of, n, warning_out);
    return required ? st : RSET_OK;
}

rset_status
rset_sessions_close(rset_session *const *sessions, int n, bool lower_ok,
                    char warning_out[RSET_ERR_TEXT], rset_err *err)
{
    rset_ending      of[RSET_TOGETHER_MAX] = {0};
    rset_status      st = RSET_OK;
    rset_err         own = RSET_ERR_NONE;
    rset_phase_scope scope;

    warning_out[0] = '\0';
    for (int i = 0; i < n; i++)
        of[i].session = sessions[i];
    if (rset_session_is_inherited(sessions[0])) {
        for (int i = 0; i < n; i++)
            rset_session_free(sessions[i]);
        return RSET_OK;
    }
    take_note(of, n, warning_out); /* of before: what is noted now is in the error, if it is one */
    rset_phases_begin(&scope);
    if (n > 1 || rset_session_needs_others(sessions[0])) {
        st = end_parallel(of, n, lower_ok, &own);
        for (int i = 0; i < n; i++)
            rset_history_closed(sessions[i]->at.path, st != RSET_OK ? &own : NULL);
    }
    rset_session_spent(sessions[0], &scope);
    st = tell(of, n, st, &own, warning_out, err);
    for (int i = 0; i < n; i++)
        rset_session_free(sessions[i]);
    return st;
}

rset_status
rset_session_close(rset_session *session, bool lower_ok, char warning_out[RSET_ERR_TEXT],
                   rset_err *err)
{
    return rset_sessions_close(&session, 1, lower_ok, warning_out, err);
}

rset_status
rset_session_delete(const rset_config *config, const char *path, rset_err *err)
{
    rset_beside at;
    uint64_t    lost = 0;
    rset_status st;

    if (!rset_config_covers(config, path))
        return RSET_OK;
    st = rset_beside_look(path, &at, err);
    if (st == RSET_OK && at.local.dir != NULL && (at.evidence.refused || rset_history_lost(path)))
        st = rset_lost_put(&at.local, &lost, err);
    if (st == RSET_OK && at.local.dir != NULL)
        st = rset_unprotect(&(rset_local){.dir = at.local.dir, .prefix = at.prefix}, err);
    rset_beside_free(&at);
    return st;
}
