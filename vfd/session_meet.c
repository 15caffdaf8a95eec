/* session_meet.c: how the session of a file meets the other ranks, and has all files encoded. See session_internal.h. */
#include "background.h"
#include "comm/mpi/comm_mpi.h"
#include "last_used.h"
#include "moment.h"
#include "ours.h"
#include "pending.h"
#include "report.h"
#include "scrub.h"
#include "session_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rendezvous ---- */

/* To an open that counts as much as a protected file: others may have an older one of it (P2). One that was closed may be
 * of a kind that only this rank has. */
static bool
is_partially_written(const rset_evidence *ev)
{
    const bool closed_first = ev->undo.there && (ev->undo.head.flags & RSET_UNDO_FIRST) != 0 &&
                              ev->undo.head.state == RSET_UNDO_CLOSED;

    return rset_evidence_asks(ev) && !closed_first;
}

/* All open the same name, numbers and all, and all are known to come. Not together with ranks for which it is no file of one
 * rank: their root= says something else. */
static void
propose_root(const rset_session *session, rset_proposal *p)
{
    p->kind = (rset_kind){0};
    p->path = NULL; /* all open it */
    snprintf(p->kind.text, sizeof p->kind.text, "%s", session->at.base);
    p->evidence = true;
    p->keys[RSET_KEY_ROOT] = 1;
}

/* Numbers go on from what was put aside as well. */
static uint64_t
newest_known(const rset_evidence *ev)
{
    uint64_t newest = rset_evidence_newest(ev);

    for (size_t i = 0; i < ev->nlost; i++)
        if (rset_generation_newer(ev->lost[i], newest))
            newest = ev->lost[i];
    return newest;
}

rset_proposal
rset_session_propose(const rset_session *session, rset_rendezvous_op op)
{
    rset_proposal p = {.op = op,
                       .kind = session->kind,
                       .path = session->known_as,
                       .most = newest_known(&session->at.evidence),
                       .least_base = UINT64_MAX,
                       .required = session->config.required,
                       .protected_ = session->at.evidence.any};

    p.evidence = session->at.evidence.any ||
                 (op == RSET_RENDEZVOUS_OPEN &&
                  (session->how.followed || is_partially_written(&session->at.evidence)));
    if (rset_session_is_shared_root(session))
        propose_root(session, &p);
    else if (op == RSET_RENDEZVOUS_CLOSE)
        rset_config_keys(&session->config, p.keys);
    return p;
}

bool
rset_session_gather(rset_session *session)
{
    rset_proposal       p = rset_session_propose(session, RSET_RENDEZVOUS_CLOSE);
    rset_session_ended *ended = &session->ended;
    rset_phase_scope    scope;

    if (session->team == NULL || session->team->comm != NULL)
        return session->team != NULL;
    rset_background_wait(NULL);
    rset_phases_begin(&scope);
    *ended = (rset_session_ended){0};
    ended->why.status =
        rset_team_gather(session->team, &session->config, &p, &ended->only_some, &ended->why);
    ended->told = p.told;
    ended->others_have = p.protected_;
    rset_session_spent(session, &scope);
    return ended->why.status == RSET_OK;
}

rset_status
rset_session_recall(const rset_session *session, rset_proposal *p, rset_agreed *a, rset_err *err)
{
    *err = session->ended.why;
    p->told = session->ended.told;
    p->protected_ = session->ended.others_have;
    a->only_some = session->ended.only_some;
    return err->status;
}

/* Unless it was tried in rset_session_gather already. From now on the file is that of the ranks that have come. */
static rset_status
ask_team(rset_session *session, rset_proposal *p, rset_agreed *a, rset_err *why)
{
    rset_status st;

    if (session->ended.why.status != RSET_OK && session->team->comm == NULL)
        return rset_session_recall(session, p, a, why);
    st = rset_team_meet(session->team, &session->config, p, &a->nonce, &a->only_some, why);
    if (st == RSET_OK && !session->team->alone)
        st = rset_team_of(session->team, p->among, &session->team, why);
    if (st == RSET_OK)
        rset_report_want(rset_team_place(session->team), session->config.report);
    if (st == RSET_OK && p->among != NULL && (p->bits & RSET_TEAM_REPORTS) != 0)
        session->team->reports = true;
    return st;
}

/* What to do about ranks that have not come: where it is known why, nothing, or only what that can be. */
static const char *
advice(const rset_session *session)
{
    if (session->team->comm != NULL)
        return RSET_ADVICE;
    switch (rset_mpi_apart(session->config.comm)) {
    case RSET_APART_FAILED: return "";
    case RSET_APART_LATE: return RSET_ADVICE;
    case RSET_APART_SILENT: return RSET_ADVICE_SILENT;
    default: return RSET_ADVICE_FIRST;
    }
}

/* Proposes to do *p with this file. RSET_PEER when the others do not propose the same: the message ends in advice. */
rset_status
rset_session_meet(rset_session *session, rset_proposal *p, rset_agreed *a, rset_err *err)
{
    rset_err    why = RSET_ERR_NONE;
    rset_status st = ask_team(session, p, a, &why);

    session->config.required = p->required;
    if (session->team->comm != NULL && rset_comm_usable(session->team->comm, NULL) != RSET_OK) {
        p->told = p->told || session->team->end_told;
        session->team->end_told = true;
    }
    if (st != RSET_OK)
        return rset_fail(err, st, "%s: %s%s", session->at.path, why.text, advice(session));
    if (rset_team_is_back(session->team))
        snprintf(session->tell.note, sizeof session->tell.note,
                 "%s: all ranks are there again after some had given up waiting for another one; "
                 "files are protected from now on",
                 session->at.path);
    if (!session->team->alone)
        rset_last_used_set(&session->kind,
                           session->team->whole != NULL ? session->team->whole : session->team,
                           &session->config);
    return RSET_OK;
}

/* ---- encoding ---- */

bool
rset_session_is_distrusted(const rset_session *session)
{
    return rset_scrub_found_damage(session->at.dir_path, session->at.base,
                                   rset_evidence_generation(&session->at.evidence));
}

/* Is what is on disk what the evidence says, or should be, but for what the journal has kept? */
static bool
builds_on(const rset_session *session)
{
    return session->basis.content != RSET_CONTENT_IS_UNKNOWN &&
           (!rset_session_is_changed(session) || session->change.journal != NULL ||
            session->at.local.next != NULL);
}

/* A shadow file that was prepared has the name of its commit now. */
static rset_status
follow_shadow(rset_session *session, rset_err *err)
{
    if (session->shadow.name == NULL)
        return RSET_OK;
    session->at.local.shadow = session->shadow.name;
    free(session->shadow.path);
    if (asprintf(&session->shadow.path, "%s/%s", session->at.dir_path, session->shadow.name) >= 0)
        return RSET_OK;
    session->shadow.path = NULL;
    return rset_fail(err, RSET_NOMEM, "%s: no memory for a name", session->at.path);
}

/* That of a file of one rank is made of the time: its writer may not know what others have replicas of. */
uint64_t
rset_session_next_generation(const rset_session *session, const rset_agreed *a)
{
    return rset_session_is_root(session) ? rset_generation_at(a->most, rset_moment_now(), a->nonce)
                                         : rset_generation_next(a->most, a->nonce);
}

/* With which generation of a file of one rank did its history begin? Two that began apart cannot be told which is newer by their numbers. */
static uint64_t
begun_with(const rset_session *session, uint64_t next)
{
    const rset_evidence *ev = &session->at.evidence;

    if (!rset_session_is_root(session))
        return 0;
    if (ev->has_header)
        return ev->header.infos[0].stamp.since;
    return newest_known(ev) == 0 ? next : 0;
}

rset_status
rset_session_protection(rset_session *session, const rset_agreed *a, rset_stamp_text *stamp,
                        rset_protect_args *out, rset_err *err)
{
    const rset_status st = rset_team_protection(
        session->team, &session->config, session->config.required, session->tell.note, out, err);

    if (st != RSET_OK)
        return st;
    out->local = &session->at.local;
    out->shadow = &session->shadow.name;
    out->stamp = stamp;
    out->desc.generation = rset_session_next_generation(session, a);
    rset_stamp_now(session->config.job, session->change.label, stamp);
    stamp->since = begun_with(session, out->desc.generation);
    return RSET_OK;
}

void
rset_session_note_protected(rset_session *session, const rset_desc *desc)
{
    if (session->others != NULL)
        rset_pending_note(session->others, &session->config, session->at.path, desc->generation);
    if (rset_session_is_root(session))
        rset_moment_heard_generation(desc->generation);
    session->basis.generation = desc->generation;
    rset_ours_note(desc->generation);
    rset_session_count(session, rset_desc_is_left_over(desc) ? RSET_COUNT_UNPROTECTED
                                                             : RSET_COUNT_PROTECTED);
}

/* Rank 0 says for all what became of the files that could not be had; it may have none of them itself. */
static void
note_aside(const rset_ending *e, uint64_t now)
{
    rset_session  *session = e->session;
    const uint64_t was = rset_evidence_generation(&session->at.evidence);
    char           names[64] = "*", number[64] = "before";

    if (!e->put_aside || session->team->comm->rank != 0)
        return;
    if (was != 0) {
        snprintf(names, sizeof names, "%016" PRIx64, was);
        snprintf(number, sizeof number, "as generation %" PRIu64, rset_generation_commits(was));
    }
    snprintf(session->tell.note, sizeof session->tell.note,
             "%s: what was protected %s could not be had when new files were created, and was put "
             "aside on each rank that has it, as %s.redset.%s.lost*; the commit after generation "
             "%" PRIu64 " removes it; when what was lost of it is back, h5redset restore makes it "
             "the newest again, h5redset drop removes it",
             session->at.path, number, session->at.base, names, rset_generation_commits(now));
}

/* What some rank has is not what its program wrote: nobody keeps what was written since the last commit, and that is never only a
 * warning. */
static void
take_back(rset_ending *of, int n)
{
    for (int i = 0; i < n; i++) {
        of[i].complete = false;
        of[i].session->config.required = true;
    }
}

/* `before`: this rank's failure so far. */
rset_status
rset_sessions_encode(rset_ending *of, int n, const rset_agreed *a, rset_status before,
                     rset_err *err)
{
    rset_protect_args args[RSET_TOGETHER_MAX];
    rset_stamp_text   stamps[RSET_TOGETHER_MAX];
    rset_err          unkept[RSET_TOGETHER_MAX];
    bool              changed = false;
    rset_status       st = RSET_OK;

    for (int i = 0; st == RSET_OK && i < n; i++) {
        rset_session *session = of[i].session;
        rset_err      own = RSET_ERR_NONE;

        st = rset_session_protection(session, a, &stamps[i], &args[i], &own);
        if (st != RSET_OK || (before == RSET_OK && args[i].before != RSET_OK))
            *err = own;
        if (st == RSET_OK && before == RSET_OK)
            before = args[i].before;
        args[i].before = RSET_OK;
        args[i].evidence = builds_on(session) ? &session->at.evidence : NULL;
        args[i].changed_out = &changed;
        args[i].journal = session->change.journal;
        args[i].verified = session->basis.content == RSET_CONTENT_IS_VERIFIED;
        args[i].left = session->change.left.st_ino != 0 ? &session->change.left : NULL;
        args[i].keep = session->config.keep;
        args[i].aside = of[i].put_aside;
        args[i].aside_before = session->at.evidence.nlost > 0;
        args[i].changed_before =
            session->at.evidence.nchanged > 0 ? rset_evidence_generation(&session->at.evidence) : 0;
        args[i].unkept = &unkept[i];
        unkept[i] = RSET_ERR_NONE;
        args[i].desc.generation = args[0].desc.generation;
    }
    if (st != RSET_OK)
        return st;
    args[0].before = before;
    st = rset_protect_together(args, n, err);
    if (st == RSET_CHANGED || changed)
        take_back(of, n);
    for (int i = 0; i < n; i++) {
        rset_session *session = of[i].session;

        if (st == RSET_OK)
            note_aside(&of[i], args[i].desc.generation);
        if (st == RSET_OK)
            rset_session_note_protected(session, &args[i].desc);
        else
            (void)follow_shadow(session, err);
        if (unkept[i].status != RSET_OK)
            snprintf(session->tell.note, sizeof session->tell.note, "%s", unkept[i].text);
    }
    return st;
}
