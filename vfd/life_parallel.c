/* life_parallel.c: the life of a file among the ranks of a communicator: who is asked, when, and what
 * follows when they do not come. */
#include "background.h"
#include "comm/mpi/comm_mpi.h"
#include "life.h"

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
propose(const rset_life *life, rset_rendezvous_op op)
{
    rset_proposal p = {.op = op,
                       .kind = life->kind,
                       .most = rset_evidence_newest(&life->evidence),
                       .least_base = UINT64_MAX,
                       .required = life->config.required,
                       .protected_ = life->evidence.any};

    p.evidence =
        life->evidence.any || (op == RSET_RENDEZVOUS_OPEN && is_partially_written(&life->evidence));
    if (op == RSET_RENDEZVOUS_CLOSE)
        p.key = rset_config_key(&life->config);
    return p;
}

bool
rset_life_come_together(rset_life *life)
{
    rset_proposal p = propose(life, RSET_RENDEZVOUS_CLOSE);

    if (life->team == NULL || life->team->comm != NULL)
        return life->team != NULL;
    rset_background_wait(NULL);
    life->came = RSET_ERR_NONE;
    life->came.status = rset_team_gather(life->team, &life->config, &p, &life->known, &life->came);
    life->came_told = p.told;
    return life->came.status == RSET_OK;
}

/* Unless it was tried in rset_life_come_together already. */
static rset_status
ask_team(rset_life *life, rset_proposal *p, uint64_t *nonce_out, rset_err *why)
{
    if (life->came.status == RSET_OK)
        return rset_team_meet(life->team, &life->config, p, nonce_out, &life->known, why);
    *why = life->came;
    p->told = life->came_told;
    return why->status;
}

/* Proposes to do *p with this file. RSET_PEER when the others do not propose the same: the message ends in advice. */
static rset_status
meet(rset_life *life, rset_proposal *p, uint64_t *nonce_out, rset_err *err)
{
    rset_err    why = RSET_ERR_NONE;
    rset_status st = ask_team(life, p, nonce_out, &why);

    life->config.required = p->required;
    life->said_before = life->known || p->told;
    life->others_have = p->protected_;
    if (life->team->comm != NULL && rset_comm_usable(life->team->comm, NULL) != RSET_OK) {
        life->said_before = life->said_before || life->team->end_told;
        life->team->end_told = true;
    }
    if (st != RSET_OK)
        return rset_fail(err, st, "%s: %s" ADVICE, life->path, why.text);
    return RSET_OK;
}

/* ---- encoding ---- */

/* Generations that this process took part in, the latest few. */
enum { OURS = 1024 };
static uint64_t ours[OURS];

static bool
is_ours(const rset_life *life)
{
    const uint64_t generation = rset_evidence_generation(&life->evidence);

    return generation != 0 && ours[generation % OURS] == generation;
}

/* Is what the evidence says known to be on disk, but for what the journal has kept? */
static bool
builds_on(const rset_life *life)
{
    return life->sound && (!life->changed || life->journal != NULL);
}

/* A shadow file that was prepared has the name of its commit now. */
static rset_status
follow_shadow(rset_life *life, rset_err *err)
{
    if (life->shadow == NULL)
        return RSET_OK;
    life->local.shadow = life->shadow;
    free(life->shadow_path);
    if (asprintf(&life->shadow_path, "%s/%s", life->dir_path, life->shadow) >= 0)
        return RSET_OK;
    life->shadow_path = NULL;
    return rset_fail(err, RSET_NOMEM, "%s: no memory for a name", life->path);
}

/* `before`: this rank's failure so far. */
static rset_status
encode_now(rset_life *life, const agreed *a, rset_status before, rset_err *err)
{
    rset_team   *team = life->team;
    rset_layout *layout = NULL;
    rset_status  st = rset_team_layout(team, &life->config, &layout, err);

    if (st != RSET_OK)
        return st;
    if (layout->note[0] != '\0' && team->comm->rank == 0)
        snprintf(life->note, sizeof life->note, "%s", layout->note);
    layout->note[0] = '\0';
    rset_protect_args args = {.world = team->comm,
                              .set = &layout->set,
                              .ranks = layout->ranks,
                              .local = &life->local,
                              .shadow = &life->shadow,
                              .desc = layout->desc,
                              .extra = true,
                              .host = team->host,
                              .before = before,
                              .evidence = builds_on(life) ? &life->evidence : NULL};

    args.desc.generation = rset_generation_next(a->most, a->nonce);
    st = rset_protect(&args, err);
    if (st == RSET_OK)
        ours[args.desc.generation % OURS] = args.desc.generation;
    else
        (void)follow_shadow(life, err);
    return st;
}

/* ---- first use ---- */

/* The others did not come, and what they have is not known. A file that is there and whole is opened all the same, by
 * itself: it may be an input that only this rank reads. It is never protected on that alone. */
static rset_status
resolve_without(rset_life *life, const rset_err *why, bool *replaced_out, rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    rset_status st = rset_life_resolve_serial(life, replaced_out, &own);

    life->blind = true;
    if (life->config.required && st == RSET_OK && !life->known &&
        rset_evidence_asks(&life->evidence))
        return rset_fail(err, why->status, "%s", why->text);
    if (st == RSET_ABSENT)
        return rset_fail(err, st, "%s", own.text);
    if (st != RSET_OK)
        return rset_fail(err, st, "%s; and the other ranks were not there to help: %s", own.text,
                         why->text);
    if (life->note[0] == '\0' && !life->said_before && rset_evidence_asks(&life->evidence))
        snprintf(life->note, sizeof life->note, "opened without the other ranks: %.900s",
                 why->text);
    return RSET_OK;
}

/* On a node that is new, the directory of the file has to be made before anything can come back into
 * it; it goes again when nothing does. */
static rset_status
make_room(rset_life *life, char **made_out, rset_err *err)
{
    rset_status st;

    *made_out = NULL;
    if (life->dir != NULL)
        return RSET_OK;
    st = rset_dir_make(life->dir_path, made_out, err);
    if (st == RSET_OK)
        st = rset_dir_open(life->dir_path, false, &life->dir, err);
    life->local.dir = life->dir;
    if (st == RSET_ABSENT) /* that word is for files that were never protected */
        return rset_fail(err, RSET_IO, "%s: cannot be made: is it a link to what is not there?",
                         life->dir_path);
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
tell_outcome(rset_life *life, const rset_outcome *outcome, bool again, bool first)
{
    const char *own = what_was_done(outcome);

    if (first && again)
        snprintf(life->note, sizeof life->note,
                 "%s: redundancy files were lost, and have been re-encoded", life->path);
    else if (own[0] != '\0')
        snprintf(life->note, sizeof life->note, "%s: %s", life->path, own);
    else if ((first || outcome->torn) && outcome->note[0] != '\0')
        snprintf(life->note, sizeof life->note, "%s", outcome->note);
}

/* With verify=read. */
static rset_status
verify_when_read(rset_life *life, rset_err *err)
{
    if (life->config.verify != RSET_VERIFY_READ || life->evidence.is_void)
        return RSET_OK;
    return rset_life_verify_later(life, err);
}

/* What is there now, and opened: the last that can fail on one rank alone. */
static rset_status
begin_use(rset_life *life, const rset_lower *lower, bool replaced, rset_err *err)
{
    rset_status st = rset_life_survey(life, err);

    if (st == RSET_OK)
        st = verify_when_read(life, err);
    return st == RSET_OK ? lower->open(lower->handle, replaced, err) : st;
}

/* Where all is in order there is nothing left that could fail on one rank, and nothing to agree on. */
static rset_status
recover(rset_life *life, const agreed *a, rset_status before, const rset_lower *lower,
        rset_err *err)
{
    const rset_team  *team = life->team;
    rset_recover_args args = {.world = team->comm,
                              .local = &life->local,
                              .evidence = &life->evidence,
                              .host = team->host,
                              .before = before,
                              .content = life->config.verify == RSET_VERIFY_OPEN,
                              .readonly = rset_life_readonly(life),
                              .required = life->config.required,
                              .tidy = life->mode != RSET_OPEN_READ,
                              .own_run = !life->config.required && is_ours(life)};
    rset_outcome      outcome;
    rset_err          why = RSET_ERR_NONE;
    rset_status       st;
    bool              again;

    if (before == RSET_OK)
        args.before = verify_when_read(life, err);
    st = rset_recover(&args, &outcome, err);
    life->met = life->met && st == RSET_OK;
    life->opened_generation = outcome.generation;
    if (st == RSET_ABSENT && outcome.never &&
        life->found == RSET_FOUND) { /* on all ranks: as if nobody had asked */
        *err = RSET_ERR_NONE;
        return RSET_OK;
    }
    if (st != RSET_OK)
        return st;
    again = outcome.reprotect && !outcome.readonly && encode_now(life, a, RSET_OK, &why) == RSET_OK;
    tell_outcome(life, &outcome, again, team->comm->rank == 0);
    life->sound = args.content && outcome.protected_;
    return outcome.acted ? rset_agree(team->comm, begin_use(life, lower, outcome.replaced, err),
                                      team->host, err)
                         : RSET_OK;
}

rset_status
rset_life_resolve_parallel(rset_life *life, rset_status own, const rset_lower *lower,
                           bool *replaced_out, rset_err *err)
{
    rset_proposal p = propose(life, RSET_RENDEZVOUS_OPEN);
    rset_err      why = RSET_ERR_NONE;
    agreed        a = {0};
    char         *made = NULL;
    rset_status   st;

    p.bits = life->mode == RSET_OPEN_READ ? BIT_READER : 0;
    p.needs_all = life->found == RSET_MISSING;
    st = meet(life, &p, &a.nonce, &why);
    if (own != RSET_OK && st != RSET_OK)
        return own;
    if (st == RSET_PEER)
        return resolve_without(life, &why, replaced_out, err);
    if (st != RSET_OK)
        return rset_fail(err, st, "%s", why.text);
    a.most = p.most;
    life->met = (p.bits & BIT_READER) == 0; /* readers have nothing to say at close */
    st = own == RSET_OK ? make_room(life, &made, err) : own;
    st = recover(life, &a, st, lower, err);
    if (made != NULL && st != RSET_OK) {
        rset_dir_close(life->dir);
        life->dir = life->local.dir = NULL;
        rset_dir_unmake(life->dir_path, made);
    }
    free(made);
    return st;
}

/* ---- close ---- */

/* A change that was reverted - a status flag set and cleared - is none: what is there is what was
 * protected (T4). */
static bool
unchanged_after_all(rset_life *life)
{
    const rset_evidence *ev = &life->evidence;
    rset_err             ignored = RSET_ERR_NONE;
    bool                 same = false;

    if (life->mode != RSET_OPEN_UPDATE || !ev->has_header || !ev->is_void ||
        ev->undo.there || /* it had changed before */
        life->changed_bytes > RSET_SMALL_CHANGE || !ev->header.infos[0].files[0].has_sums)
        return false;
    (void)rset_is_as_recorded(&life->local, &ev->header.infos[0], &same, &ignored);
    if (!same || rset_set_void(life->dir, &life->evidence, false, &ignored) != RSET_OK ||
        rset_undo_remove(life->dir, life->prefix, &(rset_undo){.rotten = true}, &ignored) !=
            RSET_OK)
        return false;
    rset_journal_leave(life->journal);
    life->journal = NULL;
    return true;
}

static rset_status
protect_without_mpi(rset_life *life, rset_err *err)
{
    char why[256];

    if (!life->changed)
        return RSET_OK;
    if (life->ended.status != RSET_OK) { /* the reason is the one that it was then */
        *err = life->ended;
        return err->status;
    }
    snprintf(why, sizeof why, "process %s", rset_mpi_why_not(NULL));
    if (life->team != NULL)
        rset_rendezvous_skip(life->team->rendezvous, &life->kind);
    return rset_fail(err, RSET_PEER, "%s: closed where MPI cannot be called: this %s", life->path,
                     rset_mpi_running() ? "thread may not call it (see MPI_Init_thread)" : why);
}

/* The program has gone on since the close: its ranks may write the file in turn, or something else has changed
 * it. That is not what this rank has written, so as little is it one that all have closed (P2). */
static rset_status
still_as_closed(const rset_life *life, rset_err *err)
{
    struct stat        now;
    const struct stat *then = &life->closed;

    if (!life->behind || !life->changed)
        return RSET_OK;
    if (stat(rset_life_at(life), &now) == 0 && now.st_dev == then->st_dev &&
        now.st_ino == then->st_ino && now.st_size == then->st_size &&
        now.st_mtim.tv_sec == then->st_mtim.tv_sec && now.st_mtim.tv_nsec == then->st_mtim.tv_nsec)
        return RSET_OK;
    return rset_fail(err, RSET_IO,
                     "%s: was changed, renamed or removed by another program or rank before it was "
                     "protected in the background (async=yes)" ADVICE,
                     life->path);
}

/* The files were created over those of an older commit, which may be decided on. */
static rset_status
finish_older(rset_life *life, rset_status before, rset_err *err)
{
    rset_recover_args args = {.world = life->team->comm,
                              .local = &life->local,
                              .evidence = &life->evidence,
                              .host = life->team->host,
                              .before = before};

    return rset_finish_commit(&args, err);
}

/* What this rank's content builds on, where it does not stand for itself: all have to build on the same. */
static void
say_base(const rset_life *life, rset_proposal *p)
{
    if (life->mode != RSET_OPEN_CREATE && (life->met || life->changed))
        p->least_base = p->most_base =
            life->met ? life->opened_generation : rset_evidence_generation(&life->evidence);
}

/* May what all have closed be protected as one? */
static rset_status
may_be_sealed(const rset_life *life, const rset_proposal *p, rset_err *err)
{
    if ((p->bits & BIT_BLIND) != 0)
        return rset_fail(
            err, RSET_PEER,
            "%s: a rank had opened its file without the others, and nobody knows "
            "whether they were of one generation; open the files with all ranks" ADVICE,
            life->path);
    if (p->least_base <= p->most_base && p->least_base != p->most_base)
        return rset_fail(err, RSET_PEER,
                         "%s: ranks have changed files of different generations; open the files "
                         "with all ranks" ADVICE,
                         life->path);
    return RSET_OK;
}

/* `before`: this rank's failure so far. */
static rset_status
meet_to_close(rset_life *life, rset_proposal *p, agreed *a, rset_status before, rset_err *why)
{
    rset_status st;

    p->bits = (life->changed ? BIT_CHANGED : 0) | (before != RSET_OK ? BIT_INCOMPLETE : 0) |
              (life->evidence.next_name != NULL ? BIT_PREPARED : 0) |
              (life->blind && life->mode != RSET_OPEN_CREATE ? BIT_BLIND : 0);
    say_base(life, p);
    st = meet(life, p, &a->nonce, why);
    a->most = p->most;
    life->together = st == RSET_OK;
    life->incomplete = life->incomplete || (st == RSET_OK && (p->bits & BIT_INCOMPLETE) != 0);
    return st;
}

rset_status
rset_life_protect(rset_life *life, rset_err *err)
{
    rset_proposal p = propose(life, RSET_RENDEZVOUS_CLOSE);
    rset_status   before = err->status, st;
    rset_err      why = RSET_ERR_NONE;
    agreed        a = {0};

    if (life->changed && unchanged_after_all(life))
        life->changed = false;
    if (life->team == NULL || !rset_mpi_usable() || rset_background_stuck())
        return protect_without_mpi(life, err);
    if (life->dir == NULL) { /* created just now */
        st = rset_dir_open(life->dir_path, false, &life->dir, err);
        before = before == RSET_OK ? st : before;
        life->local.dir = life->dir;
    }
    st = meet_to_close(life, &p, &a, before, &why);
    if (st != RSET_OK)
        return rset_fail(err, st, "%s", why.text);
    if ((p.bits & BIT_CHANGED) == 0)
        return RSET_OK;
    if (before == RSET_OK)
        before = still_as_closed(life, err);
    if (before == RSET_OK && (before = may_be_sealed(life, &p, err)) != RSET_OK &&
        life->team->comm->rank != 0)
        life->said_before = true; /* all find the same, and rank 0 says it */
    if ((p.bits & BIT_PREPARED) != 0)
        before = finish_older(life, before, err);
    return encode_now(life, &a, before, err);
}
