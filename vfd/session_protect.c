/* session_protect.c: the end of a file among the ranks of a communicator: who closes what, and whether it is protected. See
 * session_internal.h. */
#include "anew.h"
#include "background.h"
#include "comm/mpi/comm_mpi.h"
#include "deleted.h"
#include "external.h"
#include "pending.h"
#include "scrub.h"
#include "session_internal.h"

#include <stdio.h>

/* ---- close ---- */

/* The file has the recorded content; does it get the recorded time as well? Otherwise damage that comes later would be taken for a change by
 * another program. What the program has left is that file. */
static bool
date_back(rset_session *session)
{
    const rset_info *info = &session->at.evidence.header.infos[0];
    struct stat     *left = &session->change.left, now;
    rset_err         ignored = RSET_ERR_NONE;
    uint64_t         when;

    if (rset_times_restore(&session->at.local, info, &ignored) != RSET_OK ||
        rset_times_differ(&session->at.local, info, &when) ||
        rset_dir_stat(session->at.local.dir, session->at.base, &now, &ignored) != RSET_OK)
        return false;
    if (left->st_ino != 0)
        left->st_mtim = now.st_mtim;
    return true;
}

/* A change that was reverted - a status flag set and cleared - is none: what is there is what was
 * protected (T4). The mark and the journal go when content and time are on disk. */
static bool
unchanged_after_all(rset_session *session)
{
    const rset_evidence *ev = &session->at.evidence;
    rset_err             ignored = RSET_ERR_NONE;
    bool                 same = false;

    if (!rset_session_is_update(session) || !ev->has_header || !ev->is_void ||
        ev->undo.there || /* it had changed before */
        session->change.bytes > RSET_SMALL_CHANGE || !ev->header.infos[0].files[0].has_sums)
        return false;
    (void)rset_is_as_recorded(&session->at.local, &ev->header.infos[0], &same, &ignored);
    if (!same || !date_back(session) ||
        rset_set_void(session->at.local.dir, &session->at.evidence, false, &ignored) != RSET_OK ||
        rset_undo_remove(session->at.local.dir, session->at.prefix,
                         &(rset_undo){.of = rset_evidence_generation(ev), .rotten = true},
                         &ignored) != RSET_OK)
        return false;
    rset_journal_leave(session->change.journal);
    session->change.journal = NULL;
    return true;
}

static rset_status
fail_without_mpi(rset_ending *e, rset_err *err)
{
    rset_session *session = e->session;
    char          why[256];

    if (!rset_session_is_changed(session))
        return RSET_OK;
    if (session->ended.why.status != RSET_OK) /* the reason is the one that it was then */
        return rset_session_recall(session, &e->p, &e->a, err);
    if (session->no_team.status != RSET_OK)
        return rset_fail(err, session->no_team.status, "%s: %.900s", session->at.path,
                         session->no_team.text);
    snprintf(why, sizeof why, "process %s", rset_mpi_why_not(NULL));
    if (session->team != NULL)
        rset_rendezvous_skip(session->team->rendezvous, &session->kind);
    if (rset_session_is_of_others(session, err))
        return err->status;
    return rset_fail(err, RSET_PEER, "%s: closed where MPI cannot be called: this %s",
                     session->at.path,
                     rset_mpi_running() ? "thread may not call it (see MPI_Init_thread)" : why);
}

static rset_status
protect_without_mpi(rset_ending *of, int n, rset_err *err)
{
    rset_status st = RSET_OK;

    for (int i = 0; st == RSET_OK && i < n; i++)
        st = fail_without_mpi(&of[i], err);
    return st;
}

/* Somebody has gone on since the close: another job, ranks that write the file in turn, or something else. That is not what this
 * rank has written, so as little is it one that all have closed (P2). */
static rset_status
still_as_left(const rset_session *session, rset_err *err)
{
    bool        is = false;
    rset_status st = rset_session_is_as_left(session, &is, err);

    if (st != RSET_OK || is)
        return st;
    return rset_fail(err, RSET_BUSY,
                     "%s: was changed, renamed or removed by another process before it was "
                     "protected; two jobs must not write the same files at once" RSET_ADVICE,
                     session->at.path);
}

/* The files were created over those of an older commit, which may be decided on. */
static rset_status
finish_older(rset_session *session, rset_status before, rset_err *err)
{
    rset_recover_args args = {.world = session->team->comm,
                              .local = &session->at.local,
                              .evidence = &session->at.evidence,
                              .host = session->team->host,
                              .before = before};

    return rset_finish_commit(&args, err);
}

/* What this rank's content builds on, where it does not stand for itself: all have to build on the same. */
static void
say_base(const rset_session *session, rset_proposal *p)
{
    const bool met = session->basis.company == RSET_COMPANY_ALL;

    if (!rset_session_is(session, RSET_IS_NEW) && (met || rset_session_is_changed(session)))
        p->least_base = p->most_base =
            met ? session->basis.generation : rset_evidence_generation(&session->at.evidence);
}

/* May what all have closed be protected as one? */
static rset_status
may_be_sealed(const rset_session *session, const rset_proposal *p, rset_err *err)
{
    if ((p->bits & RSET_BIT_APART) != 0)
        return rset_fail(
            err, RSET_PEER,
            "%s: a rank had opened its file without the others, and nobody knows "
            "whether they were of one generation; open the files with all ranks" RSET_ADVICE,
            session->at.path);
    if (p->least_base <= p->most_base && p->least_base != p->most_base)
        return rset_fail(err, RSET_PEER,
                         "%s: ranks have changed files of different generations; open the files "
                         "with all ranks" RSET_ADVICE,
                         session->at.path);
    return RSET_OK;
}

/* Nothing has changed, but the redundancy of some rank was found damaged: it is repaired while all are here. */
static rset_status
repair_redundancy(rset_session *session, rset_status before, rset_err *err)
{
    rset_recover_args args = {.world = session->team->comm,
                              .local = &session->at.local,
                              .evidence = &session->at.evidence,
                              .content = RSET_CONTENT_ALL,
                              .host = session->team->host,
                              .required = session->config.required,
                              .before = before};
    rset_outcome      outcome;
    rset_status       st = rset_recover(&args, &outcome, err);

    if (st != RSET_OK)
        return st;
    rset_scrub_forget(session->at.dir_path, session->at.base);
    if (outcome.note[0] != '\0' && session->team->comm->rank == 0)
        snprintf(session->tell.note, sizeof session->tell.note, "%s", outcome.note);
    return RSET_OK;
}

/* What is being replaced, if this rank has created its file. */
static uint64_t
say_replaced(const rset_session *session)
{
    const rset_evidence *ev = &session->at.evidence;

    if (!rset_session_is(session, RSET_IS_NEW))
        return 0;
    return (session->over == RSET_OVER_REFUSED ? RSET_BIT_REFUSED : 0) |
           (session->over == RSET_OVER_NOTHING ? RSET_BIT_OVER_NOTHING : 0) |
           (ev->has_header && ev->header.infos[0].desc.ranks == session->team->ranks ? RSET_BIT_HAS
                                                                                     : 0);
}

/* Of a generation that some rank could not open, or has nothing of, nobody knows that it can be had. */
static bool
is_put_aside(uint64_t bits)
{
    return (bits & RSET_BIT_REFUSED) != 0 || (bits & (RSET_BIT_OVER_NOTHING | RSET_BIT_HAS)) ==
                                                 (RSET_BIT_OVER_NOTHING | RSET_BIT_HAS);
}

/* `before`: this rank's failure so far. */
static rset_status
meet_to_close(rset_ending *e, rset_status before, rset_err *why)
{
    rset_session  *session = e->session;
    rset_proposal *p = &e->p;
    rset_status    st;

    p->bits =
        (rset_session_is_changed(session) ? RSET_BIT_CHANGED : 0) |
        (before != RSET_OK ? RSET_BIT_INCOMPLETE : 0) |
        (session->at.evidence.next_name != NULL ? RSET_BIT_PREPARED : 0) |
        (rset_session_is_distrusted(session) ? RSET_BIT_DISTRUSTED : 0) |
        (session->basis.company == RSET_COMPANY_ABSENT && !rset_session_is(session, RSET_IS_NEW)
             ? RSET_BIT_APART
             : 0) |
        (session->external ? RSET_BIT_EXTERNAL : 0) | say_replaced(session) |
        rset_anew_bits(session);
    say_base(session, p);
    if (rset_session_is_changed(session))
        rset_deleted_say(session, p);
    st = rset_session_meet(session, p, &e->a, why);
    e->a.most = p->most;
    e->met = st == RSET_OK;
    e->put_aside = e->met && is_put_aside(p->bits);
    e->complete = e->complete && !(e->met && (p->bits & RSET_BIT_INCOMPLETE) != 0);
    return st;
}

/* All ranks meet about it. `mates`: how many files are closed together, the same on all ranks. *before: this rank's failure so
 * far, with its message in *err. */
static rset_status
meet(rset_ending *e, int mates, rset_status *before, rset_err *err)
{
    rset_session *session = e->session;
    rset_err      why = RSET_ERR_NONE;
    rset_status   st;

    e->p = rset_session_propose(session, RSET_RENDEZVOUS_CLOSE);
    e->p.keys[RSET_KEY_TOGETHER] += (uint64_t)mates - 1;
    if (session->at.local.dir == NULL) { /* created just now */
        st = rset_dir_open(session->at.dir_path, false, &session->at.local.dir,
                           *before == RSET_OK ? err : &why);
        *before = *before == RSET_OK ? st : *before;
        why = RSET_ERR_NONE;
    }
    st = meet_to_close(e, *before, &why);
    if (st == RSET_OK && (e->p.bits & RSET_BIT_DISTRUSTED) != 0 &&
        session->basis.content == RSET_CONTENT_IS_VERIFIED)
        session->basis.content = RSET_CONTENT_IS_PROTECTED;
    if (st == RSET_OK && (e->p.bits & RSET_BIT_EXTERNAL) != 0 && session->team->comm->rank == 0)
        rset_external_note(session->at.path, session->external);
    return st == RSET_OK ? RSET_OK : rset_fail_as(err, &why);
}

/* May it be protected with the others? Finishes an older commit first. */
static rset_status
check(rset_ending *e, const rset_team *team, rset_status before, rset_err *err)
{
    rset_session *session = e->session;

    if (before == RSET_OK)
        before = still_as_left(session, err);
    if (before == RSET_OK && session->team != team)
        before =
            rset_fail(err, RSET_USAGE,
                      "%s: is not a file of the same ranks as those that it is closed together "
                      "with (together=)",
                      session->at.path);
    if (before == RSET_OK && (before = may_be_sealed(session, &e->p, err)) != RSET_OK &&
        team->comm->rank != 0)
        e->p.told = true; /* all find the same, and rank 0 says it */
    if ((e->p.bits & RSET_BIT_PREPARED) != 0)
        before = finish_older(session, before, err);
    return before;
}

/* Where no rank has changed any of them. */
static rset_status
repair_each(const rset_ending *of, int n, rset_status before, rset_err *err)
{
    rset_status st = RSET_OK;

    for (int i = 0; st == RSET_OK && i < n; i++)
        if ((of[i].p.bits & RSET_BIT_DISTRUSTED) != 0)
            st = repair_redundancy(of[i].session, before, err);
    return st;
}

/* Those whose files were created anew are numbered after all old copies that any rank has. Gives back what all have come to. */
static rset_status
ask_for_copies(rset_ending *of, int n, rset_status before, uint64_t *most, rset_err *err)
{
    for (int i = 0; i < n; i++)
        if (rset_anew_asks(of[i].p.bits))
            before = rset_anew_ask(of[i].session, before, most, &of[i].copies, err);
    return before;
}

/* *bits_out: what all ranks have said, where they have come. */
static rset_status
protect(rset_ending *of, int n, uint64_t *bits_out, rset_err *err)
{
    const rset_session *first = of[0].session;
    rset_agreed         all = {0};
    rset_status         before = err->status, st = RSET_OK;

    for (int i = 0; i < n; i++)
        if (rset_session_is_changed(of[i].session) && unchanged_after_all(of[i].session))
            rset_session_step(of[i].session, RSET_EVENT_REVERT);
    for (int i = 0; i < n; i++)
        if (!rset_team_may_meet(of[i].session->team) || rset_background_stuck())
            return protect_without_mpi(of, n, err);
    for (int i = 0; st == RSET_OK && i < n; i++) {
        st = meet(&of[i], n, &before, err);
        all.most = of[i].a.most > all.most ? of[i].a.most : all.most;
        *bits_out |= st == RSET_OK ? of[i].p.bits : 0;
    }
    if (st != RSET_OK)
        return st;
    all.nonce = of[0].a.nonce;
    if ((*bits_out & RSET_BIT_CHANGED) == 0)
        return repair_each(of, n, before, err);
    for (int i = 0; i < n; i++)
        before = check(&of[i], first->team, before, err);
    before = ask_for_copies(of, n, before, &all.most, err);
    st = rset_sessions_encode(of, n, &all, before, err);
    for (int i = 0; i < n; i++)
        rset_anew_settle(of[i].copies, first->team->comm, st);
    for (int i = 0; st == RSET_OK && i < n; i++)
        rset_deleted_committed(of[i].session, &of[i].p);
    return st;
}

rset_status
rset_sessions_protect(rset_ending *of, int n, rset_err *err)
{
    rset_session     *first = of[0].session;
    uint64_t          bits = 0;
    const rset_status st = protect(of, n, &bits, err);

    if ((bits & RSET_TEAM_PENDING) != 0)
        rset_pending_copy(first->team, &first->config, first->tell.note);
    if (st != RSET_OK)
        rset_team_stay(first->team);
    return st;
}
