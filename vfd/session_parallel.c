/* session_parallel.c: the first use of a file among the ranks of a communicator. See session_internal.h. */
#include "rebuilding.h"
#include "scrub.h"
#include "session_internal.h"
#include "tell.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- first use ---- */

/* The others did not come, and what they have is not known. A file that is there and whole is opened all the same, by
 * itself: it may be an input that only this rank reads. It is never protected on that alone. *own: what came of that; *why: what
 * is said of the others, unless `told`; `only_some`: have such a file, as was known before. */
static rset_status
resolve_without(rset_session *session, const rset_err *own, const rset_err *why, bool told,
                bool only_some, rset_err *err)
{
    const rset_status alone = own->status;

    session->basis.company = RSET_COMPANY_ABSENT;
    if (session->config.required && alone == RSET_OK && !only_some &&
        rset_evidence_asks(&session->at.evidence))
        return rset_fail_as(err, why);
    if (alone == RSET_ABSENT &&
        session->how.followed) /* HDF5 would read fill values instead (P2) */
        return rset_fail(err, why->status,
                         "%.300s: is missing, and only all ranks together can say whether it was "
                         "lost: read what is linked to it on all ranks, or run \"mpirun h5redset "
                         "rebuild\" before: %.500s",
                         session->at.path, why->text);
    if (alone == RSET_ABSENT)
        return rset_fail_as(err, own);
    if (alone != RSET_OK)
        return rset_fail(err, alone, "%s; and the other ranks were not there to help: %s",
                         own->text, why->text);
    if (session->tell.note[0] == '\0' && !told && rset_evidence_asks(&session->at.evidence))
        snprintf(session->tell.note, sizeof session->tell.note,
                 "opened without the other ranks: %.900s", why->text);
    return RSET_OK;
}

/* On a node that is new, the directory of the file has to be made before anything can come back into
 * it; it goes again when nothing does. */
static rset_status
make_room(rset_session *session, char **made_out, rset_err *err)
{
    rset_status st;

    *made_out = NULL;
    if (session->at.local.dir != NULL)
        return RSET_OK;
    st = rset_dir_make(session->at.dir_path, made_out, err);
    if (st == RSET_OK)
        st = rset_dir_open(session->at.dir_path, false, &session->at.local.dir, err);
    if (st == RSET_ABSENT) /* that word is for files that were never protected */
        return rset_fail(err, RSET_IO, "%s: cannot be made: is it a link to what is not there?",
                         session->at.dir_path);
    if (st == RSET_OK)
        rset_dir_share(session->at.local.dir);
    return st;
}

/* What is there now, and opened: the last that can fail on one rank alone. `verified`: what was verified or rebuilt; zeros:
 * whatever is there, after an older generation has become the newest. */
static rset_status
begin_use(rset_session *session, const rset_identity *verified, const rset_lower *lower,
          rset_err *err)
{
    rset_status st = rset_session_survey(session, err);

    if (st == RSET_OK && verified->inode != 0 &&
        !rset_identity_same(verified, &session->at.evidence.data))
        st = rset_fail(err, RSET_BUSY,
                       "%s: another process replaced it while it was opened; open it again",
                       session->at.path);
    if (st == RSET_OK)
        st = rset_session_verify_when_read(session, err);
    return st == RSET_OK ? lower->open(lower->handle, &session->at.evidence.data, err) : st;
}

static void
add_opened(void *into, const void *other)
{
    rset_opened       *sum = into;
    const rset_opened *more = other;

    sum->concerned += more->concerned;
    sum->rebuilt += more->rebuilt;
}

static rset_opened
own_opened(rset_did did)
{
    return (rset_opened){.concerned = did > RSET_DID_NOTHING, .rebuilt = did == RSET_DID_REBUILD};
}

static void
take_opened(rset_session *session, const rset_opened *sum)
{
    session->outcome.opened.concerned = sum->concerned;
    session->outcome.opened.rebuilt = sum->rebuilt;
}

/* All open what is there now, or none does; and hear of how many ranks anything was done. `lower`: NULL on a rank that has nothing to
 * open. Collective. */
static rset_status
begin_use_together(rset_session *session, const rset_identity *verified, const rset_lower *lower,
                   rset_err *err)
{
    const rset_team     *team = session->team;
    rset_opened          sum = own_opened(session->outcome.opened.did);
    const rset_reduction what = {&sum, sizeof sum, add_opened};
    rset_status          st = lower != NULL ? begin_use(session, verified, lower, err) : RSET_OK;

    st = rset_reduce(team->comm, st, team->host, &what, err);
    take_opened(session, &sum);
    return st;
}

/* The same in the last step of a recovery. */
typedef struct restored_use {
    rset_session     *session;
    const rset_lower *lower;
    rset_opened       sum;
} restored_use;

static rset_status
begin_use_of_restored(void *arg, const rset_outcome *out, rset_err *err)
{
    restored_use       *use = arg;
    const rset_identity verified = use->session->at.evidence.data;

    use->sum = own_opened(rset_session_did(out));
    return begin_use(use->session, &verified, use->lower, err);
}

/* The content is what it was, and so is what it is called. */
static rset_status
encode_again(rset_session *session, const rset_agreed *a, rset_err *why)
{
    const rset_evidence *ev = &session->at.evidence;
    char                *own = session->change.label;
    rset_status          st;

    session->change.label = ev->has_header ? ev->header.infos[0].stamp.label : NULL;
    st = rset_sessions_encode(&(rset_ending){.session = session}, 1, a, RSET_OK, why);
    session->change.label = own;
    return st;
}

/* This rank's file, which was never protected, is not there; those that are there are open. Who only follows a link to it would read fill
 * values in its place (P2). */
static rset_status
say_absent(const rset_session *session, rset_err *err)
{
    return rset_fail(err, session->how.followed ? RSET_LOST : RSET_ABSENT,
                     "%s: is missing, and was never protected", session->at.path);
}

/* For whoever creates new files over these, in this job or another one, and for the next commit, which keeps what can be had. */
static void
note_refusal(rset_session *session, rset_status st, rset_reason reason)
{
    const bool lost = reason == RSET_REASON_UNRECOVERABLE || reason == RSET_REASON_AHEAD ||
                      reason == RSET_REASON_MIXTURE || reason == RSET_REASON_NEWER ||
                      reason == RSET_REASON_NO_RECORD;

    if (session->at.local.dir == NULL || rset_session_readonly(session) ||
        (st != RSET_OK && (st != RSET_LOST || !lost)))
        return;
    rset_mark_refused(&session->at.local, &session->at.evidence, st != RSET_OK);
    session->at.evidence.refused = st != RSET_OK;
}

/* Where all is in order there is nothing left that could fail on one rank, and nothing to agree on. *doubted_out: with RSET_LOST, it
 * is there, and nobody can tell whether it is what was protected. */
static rset_status
recover(rset_session *session, const rset_agreed *a, rset_status before, const rset_lower *lower,
        bool *doubted_out, rset_err *err)
{
    const rset_team       *team = session->team;
    rset_recover_args      args = {.world = team->comm,
                                   .local = &session->at.local,
                                   .evidence = &session->at.evidence,
                                   .host = team->host,
                                   .before = before,
                                   .content = rset_session_content_wanted(session, a->reads),
                                   .readonly = rset_session_readonly(session),
                                   .reads = a->reads,
                                   .alike = a->alike && session->older.back == 0,
                                   .required = session->config.required,
                                   .fallback = a->fallback,
                                   .keep_changed = session->config.keep_changed,
                                   .stays = session->config.moved == RSET_MOVES_NO,
                                   .copies = session->config.moved == RSET_MOVES_COPY,
                                   .tidy = session->how.mode != RSET_OPEN_READ,
                                   .own_run = rset_session_is_ours(session)};
    restored_use           restored = {.session = session, .lower = lower};
    const rset_recover_use use = {
        begin_use_of_restored, &restored, {&restored.sum, sizeof restored.sum, add_opened}};
    rset_search_list  search;
    rset_long_rebuild rebuild;
    rset_outcome      outcome;
    rset_err          why = RSET_ERR_NONE;
    rset_identity     verified;
    rset_status       st;
    bool              again, absent;

    rset_beside_search(&session->config, &search);
    args.search = search.dirs;
    rset_long_rebuild_begin(&rebuild, team->host);
    args.watch = &rebuild.watch;
    args.use = session->older.back == 0 ? &use : NULL;
    if (before == RSET_OK)
        args.before = rset_session_verify_when_read(session, err);
    session->at.evidence.distrusted =
        session->at.evidence.distrusted || rset_session_is_distrusted(session);
    st = rset_recover(&args, &outcome, err);
    rset_long_rebuild_end(&rebuild, st);
    note_refusal(session, st, outcome.reason);
    if (st != RSET_OK || outcome.partly) /* who has no file does not come to the close */
        session->basis.company = RSET_COMPANY_NONE;
    *doubted_out = outcome.reason == RSET_REASON_UNVERIFIABLE;
    session->basis.generation = outcome.generation;
    if (st == RSET_ABSENT && outcome.never &&
        session->how.found == RSET_FOUND) { /* on all ranks: as if nobody had asked */
        *err = RSET_ERR_NONE;
        return RSET_OK;
    }
    if (st != RSET_OK)
        return st;
    verified = session->at.evidence.data;
    if (outcome.apart && a->reads)
        rset_rendezvous_read_apart(team->rendezvous, &session->kind);
    if (session->older.back > 0 && !a->reads && !outcome.protected_ && !outcome.reprotect)
        return rset_fail(err, RSET_LOST, "%.900s", outcome.note);
    again = outcome.reprotect && !outcome.readonly && !rset_session_is_older(session) &&
            encode_again(session, a, &why) == RSET_OK;
    rset_tell_outcome(
        &(rset_tell_of){.files = session->at.path, .base = session->at.base, .team = team},
        &outcome, again, session->tell.note);
    session->basis.content = !outcome.protected_                 ? RSET_CONTENT_IS_UNKNOWN
                             : args.content == RSET_CONTENT_NONE ? RSET_CONTENT_IS_PROTECTED
                                                                 : RSET_CONTENT_IS_VERIFIED;
    rset_session_count_outcome(session, &outcome);
    rset_session_verify_behind(session, &outcome);
    session->outcome.opened.did = rset_session_did(&outcome);
    if (outcome.in_use) {
        take_opened(session, &restored.sum);
        return RSET_OK;
    }
    absent = outcome.partly && rset_outcome_was_lost(&outcome);
    if (outcome.acted && session->older.back == 0)
        st = begin_use_together(session, &verified, absent ? NULL : lower, err);
    return st == RSET_OK && absent ? say_absent(session, err) : st;
}

/* What there is of a generation. */
typedef enum had { HAD, DOUBTED, GONE } had;

/* Of one rank. */
static rset_status
recover_root(rset_session *session, rset_status before, const rset_lower *lower, had *had_out,
             rset_err *err)
{
    rset_did_root did;
    rset_status   st = rset_session_recover_root(session, before, &did, err);

    *had_out = st == RSET_LOST && did.gone ? GONE : HAD;
    if (st != RSET_OK)
        return st;
    session->outcome.opened.did = did.replaced ? RSET_DID_REBUILD : RSET_DID_NOTHING;
    return did.acted && session->older.back == 0
               ? begin_use_together(session, &did.verified, lower, err)
               : RSET_OK;
}

/* *had_out: the same on all ranks. */
static rset_status
recover_one(rset_session *session, const rset_agreed *a, rset_status before,
            const rset_lower *lower, had *had_out, rset_err *err)
{
    bool        doubted;
    rset_status st;

    if (rset_session_is_shared_root(session))
        return recover_root(session, before, lower, had_out, err);
    st = recover(session, a, before, lower, &doubted, err);
    *had_out = st != RSET_LOST ? HAD : doubted ? DOUBTED : GONE;
    return st;
}

/* No older generation can be had: the newest, which is there, is opened unverified after all. Not with required=yes. */
static rset_status
recover_doubted(rset_session *session, const rset_agreed *a, const rset_lower *lower, rset_err *err)
{
    rset_agreed newest = *a;
    had         ignored;
    rset_status st = rset_session_rise_again(session, err);

    newest.fallback = newest.alike = false;
    return recover_one(session, &newest, st, lower, &ignored, err);
}

/* The newest generation, or where that cannot be had one that can; that becomes the newest before it changes. */
static rset_status
recover_any(rset_session *session, const rset_agreed *a, rset_status before,
            const rset_lower *lower, rset_err *err)
{
    const rset_team    *team = session->team;
    const rset_identity any = {0};
    const rset_company  company = session->basis.company;
    had                 newest, any_had;
    rset_status         st = recover_one(session, a, before, lower, &newest, err);

    any_had = newest;
    while (any_had != HAD && (st = rset_session_fall_back(session, err)) == RSET_OK)
        st = recover_one(session, a, before, lower, &any_had, err);
    if (any_had != HAD && newest == DOUBTED && !session->config.required) {
        session->basis.company = company;
        return recover_doubted(session, a, lower, err);
    }
    if (st != RSET_OK || session->older.back == 0)
        return st;
    if (!a->reads)
        st = rset_session_restore(session, a, err);
    if (st != RSET_OK) {
        session->basis.company = RSET_COMPANY_NONE;
        return st;
    }
    if (team->comm->rank == 0)
        rset_session_say_older(session);
    return begin_use_together(session, &any, lower, err);
}

/* ---- with the others ---- */

/* *p says what this rank knows of its own file: `whole`, `needs_all`, `came`. */
static rset_status
meet_to_open(rset_session *session, const rset_err *mine, rset_proposal *p, rset_agreed *a,
             rset_err *why)
{
    const rset_proposal known = *p;

    *p = rset_session_propose(session, RSET_RENDEZVOUS_OPEN);
    p->bits = (session->how.mode == RSET_OPEN_READ ? RSET_BIT_READER : RSET_BIT_WRITER) |
              (session->config.fallback ? 0 : RSET_BIT_NEWEST);
    p->whole = known.whole;
    p->needs_all = known.needs_all;
    p->came = known.came;
    p->step = session->how.mode == RSET_OPEN_UPDATE && !rset_session_is_root(session);
    rset_session_say_whole(session, mine, p);
    return rset_session_meet(session, p, a, why);
}

/* Some have not come. Each of those who have finds out whether it can do without, and then they meet once more: all of them open
 * their files, or none (P4). RSET_OK: all have come after all. Else *own says what came of this rank's file, *why what is said of
 * the others. */
static rset_status
meet_without(rset_session *session, rset_proposal *p, rset_agreed *a, rset_err *own, rset_err *why)
{
    const bool again =
        p->came > 1 && !a->only_some && (p->evidence || rset_evidence_asks(&session->at.evidence));

    if (own->status == RSET_OK)
        own->status = rset_session_resolve_serial(
            session, again ? rset_session_content_wanted(session, true) : RSET_CONTENT_NONE, own);
    if (!again)
        return RSET_PEER;
    *why = RSET_ERR_NONE;
    p->whole = false;
    p->needs_all = own->status != RSET_OK;
    return meet_to_open(session, own, p, a, why);
}

/* RSET_OK: all have come. RSET_PEER: it is open, p->by_itself; or some have not come, and *mine says what came of this rank's file. */
static rset_status
meet_others(rset_session *session, rset_proposal *p, rset_agreed *a, rset_err *mine, rset_err *why)
{
    rset_status st;

    *p = (rset_proposal){.whole = rset_session_seems_whole(session, mine->status),
                         .needs_all = session->how.found == RSET_MISSING};
    st = meet_to_open(session, mine, p, a, why);
    if (st == RSET_PEER && p->by_itself) {
        if (rset_session_opens_by_itself(session))
            return RSET_PEER;
        *why = RSET_ERR_NONE; /* it needs the others after all */
        *p = (rset_proposal){.needs_all = session->how.found == RSET_MISSING};
        st = meet_to_open(session, mine, p, a, why);
    }
    return st == RSET_PEER ? meet_without(session, p, a, mine, why) : st;
}

rset_status
rset_session_resolve_parallel(rset_session *session, rset_status own, const rset_lower *lower,
                              rset_err *err)
{
    rset_proposal p;
    rset_err      why = RSET_ERR_NONE, mine = RSET_ERR_NONE;
    rset_agreed   a = {0};
    char         *made = NULL;
    rset_status   st;

    mine.status = own;
    st = meet_others(session, &p, &a, &mine, &why);
    if (st == RSET_PEER && p.by_itself)
        return RSET_OK;
    if (own != RSET_OK && st != RSET_OK)
        return own;
    if (st == RSET_PEER)
        return resolve_without(session, &mine, &why, p.told, a.only_some, err);
    if (st != RSET_OK)
        return rset_fail_as(err, &why);
    a.most = p.most;
    a.fallback = (p.bits & RSET_BIT_NEWEST) == 0;
    a.reads = p.reads &&
              (p.bits & RSET_BIT_WRITER) == 0; /* who opens a file of one rank counts no step */
    if ((p.bits & RSET_BIT_READER) == 0)       /* readers have nothing to say at close */
        session->basis.company = RSET_COMPANY_ALL;
    if (rset_session_what_all_say(&p) == RSET_ALL_WHOLE) {
        rset_session_take_whole(session, (p.bits & RSET_BIT_WANTS_NONE) != 0 ? RSET_CONTENT_NONE
                                                                             : RSET_CONTENT_ALL);
        return RSET_OK;
    }
    a.alike = rset_session_what_all_say(&p) == RSET_ALL_ALIKE;
    st = own == RSET_OK ? make_room(session, &made, err) : own;
    st = recover_any(session, &a, st, lower, err);
    if (made != NULL && st != RSET_OK) {
        rset_dir_close(session->at.local.dir);
        session->at.local.dir = NULL;
        rset_dir_unmake(session->at.dir_path, made);
    }
    free(made);
    return st;
}
