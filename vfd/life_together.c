/* life_together.c: the life of a file among the ranks of a communicator: who is asked, when, and what
 * follows when they do not come. */
#include "background.h"
#include "comm/mpi/comm_mpi.h"
#include "life.h"
#include "protect/protect.h"
#include "recover/recover.h"
#include "team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BIT_CHANGED = 1, BIT_READER = 2, BIT_WAITS = 4, BIT_INCOMPLETE = 8 };

/* What to do about files that are not one per rank; ends every such message. */
#define ADVICE                                                                                     \
    "; if it is not one file per rank, name those that are with files=GLOB in HDF5_DRIVER_CONFIG"

/* ---- meeting ---- */

static rset_status
find_team(rset_life *life, rset_proposal *p, rset_team **team_out, rset_err *why)
{
    if (life->came.status != RSET_OK) {
        *team_out = NULL;
        *why = life->came;
        p->told = life->came_told;
        return why->status;
    }
    rset_meet_kind(life->path, p->kind);
    p->protected_ = life->evidence.any;
    /* To an open a half-written file counts as much: others may have an older one of it (P2). */
    p->evidence =
        life->evidence.any || (p->op == RSET_MEET_OPEN && rset_evidence_asks(&life->evidence));
    return rset_team_get(&life->config, p->op, p->kind, p->evidence, team_out, &life->known,
                         &p->told, why);
}

bool
rset_life_come_together(rset_life *life)
{
    rset_proposal p = {.op = RSET_MEET_CLOSE};
    rset_team    *team = NULL;

    if (life->team_met || rset_mpi_met(life->config.comm))
        return true;
    rset_background_wait(NULL);
    life->came = RSET_ERR_NONE;
    life->came.status = find_team(life, &p, &team, &life->came);
    life->came_told = p.told;
    return life->came.status == RSET_OK && team != NULL;
}

/* Proposes to do `op` with this file. *team_out is NULL without MPI. RSET_PEER when the others do not
 * propose the same: the message ends in advice. */
static rset_status
meet(rset_life *life, rset_meet_op op, uint64_t *bits, uint64_t *most, uint64_t *nonce_out,
     rset_team **team_out, rset_err *err)
{
    rset_proposal p = {.op = op, .bits = *bits, .most = *most, .required = life->config.required};
    rset_err      why = RSET_ERR_NONE;
    rset_status   st;

    if (op == RSET_MEET_CLOSE)
        p.key = rset_config_key(&life->config);
    st = find_team(life, &p, team_out, &why);
    if (st == RSET_OK && *team_out == NULL)
        return RSET_OK;
    if (st == RSET_OK)
        st = rset_meet((*team_out)->meeting, &p, nonce_out, &life->known, &why);
    life->config.required = p.required;
    life->said_before = life->known || p.told;
    life->others_have = p.protected_;
    life->vain = p.vain || (st == RSET_PEER && *team_out == NULL && !life->said_before);
    if (*team_out != NULL && rset_comm_usable((*team_out)->comm, NULL) != RSET_OK) {
        life->said_before = life->said_before || (*team_out)->end_told;
        (*team_out)->end_told = true;
    }
    *bits = p.bits;
    *most = p.most;
    if (st != RSET_OK)
        return rset_fail(err, st, "%s: %s" ADVICE, life->path, why.text);
    return RSET_OK;
}

/* ---- first use ---- */

/* Waited for in vain, and nobody else knows of this file: what was begun with it is over, and the next program need not
 * wait for that. Not on what was seen before the wait. */
static void
let_go(rset_life *life)
{
    rset_err ignored = RSET_ERR_NONE;

    if (rset_life_survey(life, &ignored) == RSET_OK && life->evidence.unfinished &&
        life->evidence.next_name == NULL)
        (void)rset_forget(life->dir, life->prefix, NULL, NULL, &ignored);
}

/* The others did not come. A file that is there and whole is opened all the same: it may be an input
 * that only this rank reads. */
static rset_status
resolve_without(rset_life *life, const rset_err *why, bool *replaced_out, rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    rset_status st = rset_life_resolve_alone(life, replaced_out, &own);

    if (life->config.required && st == RSET_OK && !life->known && life->evidence.any)
        return rset_fail(err, why->status, "%s", why->text);
    if (st == RSET_ABSENT)
        return rset_fail(err, st, "%s", own.text);
    if (st != RSET_OK)
        return rset_fail(err, st, "%s; and the other ranks were not there to help: %s", own.text,
                         why->text);
    if (life->mode == RSET_OPEN_UPDATE && life->vain && !life->others_have)
        let_go(life);
    if (life->note[0] == '\0' && !life->said_before)
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

/* Generations that this process took part in, the latest few. */
enum { OURS = 1024 };
static uint64_t ours[OURS];

static bool
is_ours(const rset_life *life)
{
    uint64_t generation =
        life->evidence.has_header ? life->evidence.header.infos[0].desc.generation : 0;

    return generation != 0 && ours[generation % OURS] == generation;
}

/* Is what the evidence says known to be on disk, but for what the journal has kept? */
static bool
builds_on(const rset_life *life)
{
    return life->sound && (!life->changed || life->journal != NULL);
}

static rset_status
encode_now(rset_life *life, rset_team *team, uint64_t most, uint64_t nonce, rset_status before,
           rset_err *err)
{
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
                              .desc = layout->desc,
                              .extra = true,
                              .host = team->host,
                              .before = before,
                              .evidence = builds_on(life) ? &life->evidence : NULL};

    args.desc.generation = rset_generation_next(most, nonce);
    st = rset_protect(&args, err);
    if (st == RSET_OK)
        ours[args.desc.generation % OURS] = args.desc.generation;
    return st;
}

/* What concerns one rank's file is said by that rank, what concerns all by the first. */
static void
tell_outcome(rset_life *life, const rset_outcome *outcome, bool again, bool first)
{
    if (first && again)
        snprintf(life->note, sizeof life->note,
                 "%s: redundancy files were lost and have been made anew", life->path);
    else if (first && outcome->note[0] != '\0')
        snprintf(life->note, sizeof life->note, "%s", outcome->note);
    else if (outcome->replaced && !outcome->forward)
        snprintf(life->note, sizeof life->note, "%s: was lost or damaged, and was brought back",
                 life->path);
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
recover(rset_life *life, rset_team *team, uint64_t most, uint64_t nonce, rset_status before,
        const rset_lower *lower, rset_err *err)
{
    rset_recover_args args = {.world = team->comm,
                              .local = &life->local,
                              .evidence = &life->evidence,
                              .host = team->host,
                              .before = before,
                              .content = life->config.verify == RSET_VERIFY_OPEN,
                              .frozen = rset_life_frozen(life),
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
    if (st == RSET_ABSENT && outcome.never &&
        life->found == RSET_FOUND) { /* on all ranks: as if nobody had asked */
        *err = RSET_ERR_NONE;
        return RSET_OK;
    }
    if (st != RSET_OK)
        return st;
    again = outcome.reprotect && !outcome.frozen &&
            encode_now(life, team, most, nonce, RSET_OK, &why) == RSET_OK;
    tell_outcome(life, &outcome, again, team->comm->rank == 0);
    life->sound = args.content && outcome.protected_;
    return outcome.acted ? rset_agree(team->comm, begin_use(life, lower, outcome.replaced, err),
                                      team->host, err)
                         : RSET_OK;
}

rset_status
rset_life_resolve_together(rset_life *life, rset_status own, const rset_lower *lower,
                           bool *replaced_out, rset_err *err)
{
    rset_team  *team = NULL;
    rset_err    why = RSET_ERR_NONE;
    uint64_t    bits = life->mode == RSET_OPEN_READ ? BIT_READER : 0;
    uint64_t    most = rset_evidence_newest(&life->evidence), nonce = 0;
    char       *made = NULL;
    rset_status st = meet(life, RSET_MEET_OPEN, &bits, &most, &nonce, &team, &why);

    if (own != RSET_OK && (st != RSET_OK || team == NULL))
        return own;
    if (st == RSET_PEER || (st == RSET_OK && team == NULL))
        return resolve_without(life, &why, replaced_out, err);
    if (st != RSET_OK)
        return rset_fail(err, st, "%s", why.text);
    life->met = (bits & BIT_READER) == 0; /* readers have nothing to say at close */
    st = own == RSET_OK ? make_room(life, &made, err) : own;
    st = recover(life, team, most, nonce, st, lower, err);
    if (made != NULL && st != RSET_OK) {
        rset_dir_close(life->dir);
        life->dir = life->local.dir = NULL;
        rset_dir_unmake(life->dir_path, made);
    }
    free(made);
    return st;
}

/* ---- close ---- */

/* A change that was taken back - a status flag set and cleared - is none: what is there is what was
 * protected (T4). */
static bool
unchanged_after_all(rset_life *life)
{
    rset_err ignored = RSET_ERR_NONE;
    bool     same = false;

    if (life->mode != RSET_OPEN_UPDATE || !life->evidence.has_header || !life->evidence.is_void ||
        life->changed_bytes > RSET_SMALL_CHANGE ||
        !life->evidence.header.infos[0].files[0].has_sums)
        return false;
    (void)rset_is_as_recorded(&life->local, &life->evidence.header.infos[0], &same, &ignored);
    if (!same)
        return false;
    /* As in a rebuild: before the mark. Unless the journal is a sign for the others. */
    if (!rset_evidence_apart(&life->evidence) && !rset_evidence_cut(&life->evidence) &&
        rset_old_forget(life->dir, life->prefix, &ignored) != RSET_OK)
        return false;
    if (rset_set_void(life->dir, &life->evidence, false, &ignored) != RSET_OK)
        return false;
    (void)rset_journal_end(life->journal, RSET_JOURNAL_LEAVE, NULL);
    life->journal = NULL;
    return true;
}

static rset_status
protect_without_mpi(rset_life *life, rset_err *err)
{
    if (!life->changed)
        return RSET_OK;
    return rset_fail(
        err, RSET_PEER,
        "%s: closed where MPI cannot be called (not started, already finalised, or from "
        "another thread), so it is not protected; close files before MPI_Finalize",
        life->path);
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
    return rset_fail(
        err, RSET_IO,
        "not protected: %s: was changed, renamed or removed by another program or rank "
        "before it was protected in the background (async=yes)" ADVICE,
        life->path);
}

/* The files were created over those of a commit that was cut short. */
static rset_status
finish_older(rset_life *life, rset_team *team, rset_status before, rset_err *err)
{
    rset_recover_args args = {.world = team->comm,
                              .local = &life->local,
                              .evidence = &life->evidence,
                              .host = team->host,
                              .before = before};

    return rset_finish_commit(&args, err);
}

rset_status
rset_life_protect(rset_life *life, rset_err *err)
{
    rset_team  *team = NULL;
    rset_status before = err->status, st;
    uint64_t    bits, most = rset_evidence_newest(&life->evidence), nonce = 0;
    rset_err    why = RSET_ERR_NONE;

    if (life->changed && unchanged_after_all(life))
        life->changed = false;
    if (!rset_mpi_usable() || rset_background_stuck())
        return protect_without_mpi(life, err);
    if (life->dir == NULL) { /* created just now */
        st = rset_dir_open(life->dir_path, false, &life->dir, err);
        before = before == RSET_OK ? st : before;
        life->local.dir = life->dir;
    }
    bits = (life->changed ? BIT_CHANGED : 0) | (before != RSET_OK ? BIT_INCOMPLETE : 0) |
           (life->evidence.next_name != NULL ? BIT_WAITS : 0);
    st = meet(life, RSET_MEET_CLOSE, &bits, &most, &nonce, &team, &why);
    if (st == RSET_OK && team == NULL)
        return protect_without_mpi(life, err);
    if (st == RSET_PEER && !life->changed)
        return RSET_OK; /* nothing of this rank's needs protecting */
    if (st != RSET_OK)
        return rset_fail(err, st, "not protected: %.1000s", why.text);
    life->together = true;
    life->incomplete = (bits & BIT_INCOMPLETE) != 0;
    if ((bits & BIT_CHANGED) == 0)
        return RSET_OK;
    if (before == RSET_OK)
        before = still_as_closed(life, err);
    if ((bits & BIT_WAITS) != 0)
        before = finish_older(life, team, before, err);
    return encode_now(life, team, most, nonce, before, err);
}
