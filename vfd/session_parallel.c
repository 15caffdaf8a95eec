/* session_parallel.c: the session of a file among the ranks of a communicator: who is asked, when, and what
 * follows when they do not come. */
#include "background.h"
#include "comm/mpi/comm_mpi.h"
#include "session_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What any rank says of its file, or-ed. */
enum {
    BIT_CHANGED = 1,
    BIT_READER = 2,
    BIT_PREPARED = 4,   /* an older commit is prepared, and perhaps decided */
    BIT_INCOMPLETE = 8, /* it could not be written completely */
    BIT_BLIND = 16      /* opened without the others, then changed in place */
};

/* What to do about files that are not one per rank; ends every such message. */
#define ADVICE                                                                                     \
    "; if it is not one file per rank, name those that are with files=GLOB in HDF5_DRIVER_CONFIG"

/* What all have agreed on when they met. */
typedef struct agreed {
    uint64_t most, nonce; /* newest generation of any rank; a random number */
} agreed;

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

static rset_proposal
propose(const rset_session *session, rset_rendezvous_op op)
{
    rset_proposal p = {.op = op,
                       .kind = session->kind,
                       .most = rset_evidence_newest(&session->evidence),
                       .least_base = UINT64_MAX,
                       .required = session->config.required,
                       .protected_ = session->evidence.any};

    p.evidence =
        session->evidence.any || (op == RSET_RENDEZVOUS_OPEN &&
                                  (session->followed || is_partially_written(&session->evidence)));
    if (op == RSET_RENDEZVOUS_CLOSE)
        p.key = rset_config_key(&session->config);
    return p;
}

bool
rset_session_gather(rset_session *session)
{
    rset_proposal p = propose(session, RSET_RENDEZVOUS_CLOSE);

    if (session->team == NULL || session->team->comm != NULL)
        return session->team != NULL;
    rset_background_wait(NULL);
    session->came = RSET_ERR_NONE;
    session->came.status =
        rset_team_gather(session->team, &session->config, &p, &session->known, &session->came);
    session->came_told = p.told;
    return session->came.status == RSET_OK;
}

/* Unless it was tried in rset_session_gather already. */
static rset_status
ask_team(rset_session *session, rset_proposal *p, uint64_t *nonce_out, rset_err *why)
{
    if (session->came.status == RSET_OK)
        return rset_team_meet(session->team, &session->config, p, nonce_out, &session->known, why);
    *why = session->came;
    p->told = session->came_told;
    return why->status;
}

/* Proposes to do *p with this file. RSET_PEER when the others do not propose the same: the message ends in advice. */
static rset_status
meet(rset_session *session, rset_proposal *p, uint64_t *nonce_out, rset_err *err)
{
    rset_err    why = RSET_ERR_NONE;
    rset_status st = ask_team(session, p, nonce_out, &why);

    session->config.required = p->required;
    session->said_before = session->known || p->told;
    session->others_have = p->protected_;
    if (session->team->comm != NULL && rset_comm_usable(session->team->comm, NULL) != RSET_OK) {
        session->said_before = session->said_before || session->team->end_told;
        session->team->end_told = true;
    }
    if (st != RSET_OK)
        return rset_fail(err, st, "%s: %s" ADVICE, session->path, why.text);
    return RSET_OK;
}

/* ---- encoding ---- */

/* Generations that this process took part in, the latest few. */
enum { OURS = 1024 };
static uint64_t ours[OURS];

static bool
is_ours(const rset_session *session)
{
    const uint64_t generation = rset_evidence_generation(&session->evidence);

    return generation != 0 && ours[generation % OURS] == generation;
}

/* Is what the evidence says known to be on disk, but for what the journal has kept? */
static bool
builds_on(const rset_session *session)
{
    return session->sound && (!session->changed || session->journal != NULL);
}

/* A shadow file that was prepared has the name of its commit now. */
static rset_status
follow_shadow(rset_session *session, rset_err *err)
{
    if (session->shadow == NULL)
        return RSET_OK;
    session->local.shadow = session->shadow;
    free(session->shadow_path);
    if (asprintf(&session->shadow_path, "%s/%s", session->dir_path, session->shadow) >= 0)
        return RSET_OK;
    session->shadow_path = NULL;
    return rset_fail(err, RSET_NOMEM, "%s: no memory for a name", session->path);
}

/* `before`: this rank's failure so far. */
static rset_status
encode_now(rset_session *session, const agreed *a, rset_status before, rset_err *err)
{
    rset_team   *team = session->team;
    rset_layout *layout = NULL;
    rset_status  st = rset_team_layout(team, &session->config, &layout, err);

    if (st != RSET_OK)
        return st;
    if (layout->note[0] != '\0' && team->comm->rank == 0)
        snprintf(session->note, sizeof session->note, "%s", layout->note);
    layout->note[0] = '\0';
    rset_protect_args args = {.world = team->comm,
                              .set = &layout->set,
                              .ranks = layout->ranks,
                              .local = &session->local,
                              .shadow = &session->shadow,
                              .desc = layout->desc,
                              .extra = true,
                              .host = team->host,
                              .before = before,
                              .evidence = builds_on(session) ? &session->evidence : NULL};

    args.desc.generation = rset_generation_next(a->most, a->nonce);
    st = rset_protect(&args, err);
    if (st == RSET_OK)
        ours[args.desc.generation % OURS] = args.desc.generation;
    else
        (void)follow_shadow(session, err);
    return st;
}

/* ---- first use ---- */

/* The others did not come, and what they have is not known. A file that is there and whole is opened all the same, by
 * itself: it may be an input that only this rank reads. It is never protected on that alone. */
static rset_status
resolve_without(rset_session *session, const rset_err *why, bool *replaced_out, rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    rset_status st = rset_session_resolve_serial(session, replaced_out, &own);

    session->blind = true;
    if (session->config.required && st == RSET_OK && !session->known &&
        rset_evidence_asks(&session->evidence))
        return rset_fail(err, why->status, "%s", why->text);
    if (st == RSET_ABSENT && session->followed) /* HDF5 would read fill values instead (P2) */
        return rset_fail(err, why->status,
                         "%.300s: is missing, and only all ranks together can say whether it was "
                         "lost: read what is linked to it on all ranks, or run \"mpirun h5redset "
                         "rebuild\" before: %.500s",
                         session->path, why->text);
    if (st == RSET_ABSENT)
        return rset_fail(err, st, "%s", own.text);
    if (st != RSET_OK)
        return rset_fail(err, st, "%s; and the other ranks were not there to help: %s", own.text,
                         why->text);
    if (session->note[0] == '\0' && !session->said_before && rset_evidence_asks(&session->evidence))
        snprintf(session->note, sizeof session->note, "opened without the other ranks: %.900s",
                 why->text);
    return RSET_OK;
}

/* On a node that is new, the directory of the file has to be made before anything can come back into
 * it; it goes again when nothing does. */
static rset_status
make_room(rset_session *session, char **made_out, rset_err *err)
{
    rset_status st;

    *made_out = NULL;
    if (session->dir != NULL)
        return RSET_OK;
    st = rset_dir_make(session->dir_path, made_out, err);
    if (st == RSET_OK)
        st = rset_dir_open(session->dir_path, false, &session->dir, err);
    session->local.dir = session->dir;
    if (st == RSET_ABSENT) /* that word is for files that were never protected */
        return rset_fail(err, RSET_IO, "%s: cannot be made: is it a link to what is not there?",
                         session->dir_path);
    return st;
}

/* What became of this rank's own file. */
static const char *
what_was_done(const rset_outcome *outcome)
{
    if (!outcome->replaced || outcome->action == RSET_ACTION_NOTHING)
        return "";
    return outcome->action == RSET_ACTION_UNDO ? "was rolled back to what was protected last"
                                               : "was lost or damaged, and was rebuilt";
}

/* What concerns one rank's file is said by that rank, what concerns all by the first and by those whose files are not
 * complete. */
static void
tell_outcome(rset_session *session, const rset_outcome *outcome, bool again, bool first)
{
    const char *own = what_was_done(outcome);

    if (first && again)
        snprintf(session->note, sizeof session->note,
                 "%s: redundancy files were lost, and have been re-encoded", session->path);
    else if (own[0] != '\0')
        snprintf(session->note, sizeof session->note, "%s: %s", session->path, own);
    else if ((first || outcome->torn) && outcome->note[0] != '\0')
        snprintf(session->note, sizeof session->note, "%s", outcome->note);
}

/* With verify=read. */
static rset_status
verify_when_read(rset_session *session, rset_err *err)
{
    if (session->config.verify != RSET_VERIFY_READ || session->evidence.is_void)
        return RSET_OK;
    return rset_session_verify_later(session, err);
}

/* What is there now, and opened: the last that can fail on one rank alone. */
static rset_status
begin_use(rset_session *session, const rset_lower *lower, bool replaced, rset_err *err)
{
    rset_status st = rset_session_survey(session, err);

    if (st == RSET_OK)
        st = verify_when_read(session, err);
    return st == RSET_OK ? lower->open(lower->handle, replaced, err) : st;
}

/* Where all is in order there is nothing left that could fail on one rank, and nothing to agree on. */
static rset_status
recover(rset_session *session, const agreed *a, rset_status before, const rset_lower *lower,
        rset_err *err)
{
    const rset_team  *team = session->team;
    rset_recover_args args = {.world = team->comm,
                              .local = &session->local,
                              .evidence = &session->evidence,
                              .host = team->host,
                              .before = before,
                              .content = session->config.verify == RSET_VERIFY_OPEN,
                              .readonly = rset_session_readonly(session),
                              .required = session->config.required,
                              .tidy = session->mode != RSET_OPEN_READ,
                              .own_run = !session->config.required && is_ours(session)};
    rset_outcome      outcome;
    rset_err          why = RSET_ERR_NONE;
    rset_status       st;
    bool              again;

    if (before == RSET_OK)
        args.before = verify_when_read(session, err);
    st = rset_recover(&args, &outcome, err);
    session->met = session->met && st == RSET_OK;
    session->opened_generation = outcome.generation;
    if (st == RSET_ABSENT && outcome.never &&
        session->found == RSET_FOUND) { /* on all ranks: as if nobody had asked */
        *err = RSET_ERR_NONE;
        return RSET_OK;
    }
    if (st != RSET_OK)
        return st;
    again =
        outcome.reprotect && !outcome.readonly && encode_now(session, a, RSET_OK, &why) == RSET_OK;
    tell_outcome(session, &outcome, again, team->comm->rank == 0);
    session->sound = args.content && outcome.protected_;
    return outcome.acted ? rset_agree(team->comm, begin_use(session, lower, outcome.replaced, err),
                                      team->host, err)
                         : RSET_OK;
}

rset_status
rset_session_resolve_parallel(rset_session *session, rset_status own, const rset_lower *lower,
                              bool *replaced_out, rset_err *err)
{
    rset_proposal p = propose(session, RSET_RENDEZVOUS_OPEN);
    rset_err      why = RSET_ERR_NONE;
    agreed        a = {0};
    char         *made = NULL;
    rset_status   st;

    p.bits = session->mode == RSET_OPEN_READ ? BIT_READER : 0;
    p.needs_all = session->found == RSET_MISSING;
    p.step = session->mode == RSET_OPEN_UPDATE;
    st = meet(session, &p, &a.nonce, &why);
    if (own != RSET_OK && st != RSET_OK)
        return own;
    if (st == RSET_PEER)
        return resolve_without(session, &why, replaced_out, err);
    if (st != RSET_OK)
        return rset_fail(err, st, "%s", why.text);
    a.most = p.most;
    session->met = (p.bits & BIT_READER) == 0; /* readers have nothing to say at close */
    st = own == RSET_OK ? make_room(session, &made, err) : own;
    st = recover(session, &a, st, lower, err);
    if (made != NULL && st != RSET_OK) {
        rset_dir_close(session->dir);
        session->dir = session->local.dir = NULL;
        rset_dir_unmake(session->dir_path, made);
    }
    free(made);
    return st;
}

/* ---- close ---- */

/* A change that was reverted - a status flag set and cleared - is none: what is there is what was
 * protected (T4). */
static bool
unchanged_after_all(rset_session *session)
{
    const rset_evidence *ev = &session->evidence;
    rset_err             ignored = RSET_ERR_NONE;
    bool                 same = false;

    if (session->mode != RSET_OPEN_UPDATE || !ev->has_header || !ev->is_void ||
        ev->undo.there || /* it had changed before */
        session->changed_bytes > RSET_SMALL_CHANGE || !ev->header.infos[0].files[0].has_sums)
        return false;
    (void)rset_is_as_recorded(&session->local, &ev->header.infos[0], &same, &ignored);
    if (!same || rset_set_void(session->dir, &session->evidence, false, &ignored) != RSET_OK ||
        rset_undo_remove(session->dir, session->prefix, &(rset_undo){.rotten = true}, &ignored) !=
            RSET_OK)
        return false;
    rset_journal_leave(session->journal);
    session->journal = NULL;
    return true;
}

static rset_status
protect_without_mpi(rset_session *session, rset_err *err)
{
    char why[256];

    if (!session->changed)
        return RSET_OK;
    if (session->ended.status != RSET_OK) { /* the reason is the one that it was then */
        *err = session->ended;
        return err->status;
    }
    snprintf(why, sizeof why, "process %s", rset_mpi_why_not(NULL));
    if (session->team != NULL)
        rset_rendezvous_skip(session->team->rendezvous, &session->kind);
    return rset_fail(err, RSET_PEER, "%s: closed where MPI cannot be called: this %s",
                     session->path,
                     rset_mpi_running() ? "thread may not call it (see MPI_Init_thread)" : why);
}

/* The program has gone on since the close: its ranks may write the file in turn, or something else has changed
 * it. That is not what this rank has written, so as little is it one that all have closed (P2). */
static rset_status
still_as_closed(const rset_session *session, rset_err *err)
{
    struct stat        now;
    const struct stat *then = &session->closed;

    if (!session->behind || !session->changed)
        return RSET_OK;
    if (stat(rset_session_at(session), &now) == 0 && now.st_dev == then->st_dev &&
        now.st_ino == then->st_ino && now.st_size == then->st_size &&
        now.st_mtim.tv_sec == then->st_mtim.tv_sec && now.st_mtim.tv_nsec == then->st_mtim.tv_nsec)
        return RSET_OK;
    return rset_fail(err, RSET_IO,
                     "%s: was changed, renamed or removed by another program or rank before it was "
                     "protected in the background (async=yes)" ADVICE,
                     session->path);
}

/* The files were created over those of an older commit, which may be decided on. */
static rset_status
finish_older(rset_session *session, rset_status before, rset_err *err)
{
    rset_recover_args args = {.world = session->team->comm,
                              .local = &session->local,
                              .evidence = &session->evidence,
                              .host = session->team->host,
                              .before = before};

    return rset_finish_commit(&args, err);
}

/* What this rank's content builds on, where it does not stand for itself: all have to build on the same. */
static void
say_base(const rset_session *session, rset_proposal *p)
{
    if (session->mode != RSET_OPEN_CREATE && (session->met || session->changed))
        p->least_base = p->most_base = session->met ? session->opened_generation
                                                    : rset_evidence_generation(&session->evidence);
}

/* May what all have closed be protected as one? */
static rset_status
may_be_sealed(const rset_session *session, const rset_proposal *p, rset_err *err)
{
    if ((p->bits & BIT_BLIND) != 0)
        return rset_fail(
            err, RSET_PEER,
            "%s: a rank had opened its file without the others, and nobody knows "
            "whether they were of one generation; open the files with all ranks" ADVICE,
            session->path);
    if (p->least_base <= p->most_base && p->least_base != p->most_base)
        return rset_fail(err, RSET_PEER,
                         "%s: ranks have changed files of different generations; open the files "
                         "with all ranks" ADVICE,
                         session->path);
    return RSET_OK;
}

/* `before`: this rank's failure so far. */
static rset_status
meet_to_close(rset_session *session, rset_proposal *p, agreed *a, rset_status before, rset_err *why)
{
    rset_status st;

    p->bits = (session->changed ? BIT_CHANGED : 0) | (before != RSET_OK ? BIT_INCOMPLETE : 0) |
              (session->evidence.next_name != NULL ? BIT_PREPARED : 0) |
              (session->blind && session->mode != RSET_OPEN_CREATE ? BIT_BLIND : 0);
    say_base(session, p);
    st = meet(session, p, &a->nonce, why);
    a->most = p->most;
    session->together = st == RSET_OK;
    session->incomplete = session->incomplete || (st == RSET_OK && (p->bits & BIT_INCOMPLETE) != 0);
    return st;
}

rset_status
rset_session_protect(rset_session *session, rset_err *err)
{
    rset_proposal p = propose(session, RSET_RENDEZVOUS_CLOSE);
    rset_status   before = err->status, st;
    rset_err      why = RSET_ERR_NONE;
    agreed        a = {0};

    if (session->changed && unchanged_after_all(session))
        session->changed = false;
    if (session->team == NULL || !rset_mpi_usable() || rset_background_stuck())
        return protect_without_mpi(session, err);
    if (session->dir == NULL) { /* created just now */
        st = rset_dir_open(session->dir_path, false, &session->dir, err);
        before = before == RSET_OK ? st : before;
        session->local.dir = session->dir;
    }
    st = meet_to_close(session, &p, &a, before, &why);
    if (st != RSET_OK)
        return rset_fail(err, st, "%s", why.text);
    if ((p.bits & BIT_CHANGED) == 0)
        return RSET_OK;
    if (before == RSET_OK)
        before = still_as_closed(session, err);
    if (before == RSET_OK && (before = may_be_sealed(session, &p, err)) != RSET_OK &&
        session->team->comm->rank != 0)
        session->said_before = true; /* all find the same, and rank 0 says it */
    if ((p.bits & BIT_PREPARED) != 0)
        before = finish_older(session, before, err);
    return encode_now(session, &a, before, err);
}
