/* lifecycle.c: the whole story of a file on a few pages: open = survey, rendezvous, restore; close = rendezvous, protect.
 * See lifecycle.h. Who is asked and what is said is decided here; what becomes of the files, in recover/decide.h. */
#include "background.h"
#include "comm/mpi/comm_mpi.h"
#include "life.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* ---- open ---- */

/* The directory may be missing with the file: then there is nothing to survey yet. */
static rset_status
first_survey(rset_life *life, rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    rset_status st = rset_dir_open(life->dir_path, false, &life->dir, &own);

    life->names[0] = life->base;
    life->paths[0] = life->path;
    life->local = (rset_local){.dir = life->dir,
                               .prefix = life->prefix,
                               .nfiles = 1,
                               .names = life->names,
                               .paths = life->paths};
    if (st == RSET_ABSENT)
        return RSET_OK;
    if (st != RSET_OK)
        return rset_fail(err, st, "%s", own.text);
    return rset_life_survey(life, err);
}

/* Does the disk, or what others may have, say anything about the file? */
static bool
concerns_us(const rset_life *life, bool mpi)
{
    const rset_evidence *ev = &life->evidence;

    return rset_evidence_asks(ev) || (mpi && rset_life_insists(life));
}

/* A file that is none of ours: passed through, and never thought of again. */
static bool
none_of_ours(const rset_life *life)
{
    const bool mpi = rset_mpi_running(); /* this thread or not: who closes it may */

    if (life->found == RSET_FOUND &&
        (life->dir == NULL || !rset_dir_has_file(life->dir, life->base)))
        return true;
    if (life->mode == RSET_OPEN_CREATE && life->team != NULL && !life->evidence.any &&
        !rset_name_has_room(life->base, life->team->ranks, life->config.set_size))
        return true;
    if (life->mode == RSET_OPEN_CREATE)
        return !mpi && !life->evidence.any;
    if (life->found == RSET_FOUND && !mpi && !life->evidence.any)
        return life->evidence.undo.head.state != RSET_UNDO_OPEN || !life->evidence.undo.there;
    if (life->found == RSET_FOUND)
        return !concerns_us(life, mpi) && (!mpi || life->mode == RSET_OPEN_READ);
    return !mpi && !life->evidence.any && (life->dir == NULL || !rset_life_recorded_nearby(life));
}

/* With whom it is protected. A failure to find that out is one to protect it, which is said at the close. */
static void
find_team(rset_life *life)
{
    rset_err ignored = RSET_ERR_NONE;

    (void)rset_team_find(&life->config, &life->team, &ignored);
}

/* What the first write would need is looked for when the file is opened: HDF5 is not made to fail in a flush. */
static rset_status
can_be_changed(const rset_life *life, rset_err *err)
{
    rset_err    why = RSET_ERR_NONE;
    rset_status st = rset_dir_may_change(life->dir, &why);

    if (st == RSET_OK)
        return RSET_OK;
    return rset_fail(err, st,
                     "%s: is protected, and cannot be opened for writing: %.800s; its undo journal "
                     "and new redundancy belong there; open it read-only, or give write permission",
                     life->path, why.text);
}

static rset_status
begin(rset_life *life, bool link, rset_err *err)
{
    rset_status st = first_survey(life, err);

    if (st == RSET_OK && life->mode == RSET_OPEN_UPDATE && life->dir != NULL && life->evidence.any)
        st = can_be_changed(life, err);
    if (st != RSET_OK && life->mode != RSET_OPEN_CREATE && rset_mpi_running()) {
        life->begun = *err; /* the others would wait for this rank */
        *err = RSET_ERR_NONE;
        return RSET_OK;
    }
    if (st == RSET_OK && none_of_ours(life)) {
        if (life->mode == RSET_OPEN_CREATE) /* it is written from the beginning */
            (void)rset_undo_remove(life->dir, life->prefix, &life->evidence.undo, NULL);
        return RSET_ABSENT;
    }
    return st == RSET_OK && life->mode == RSET_OPEN_CREATE
               ? rset_life_begin_creation(life, link, err)
               : st;
}

bool
rset_life_cannot_protect(const rset_config *config, const char *path, rset_err *why,
                         bool *quiet_out)
{
    const char *slash = strrchr(path, '/');
    rset_team  *team = NULL;
    rset_err    ignored = RSET_ERR_NONE;
    bool        other = false;

    *quiet_out = false;
    if (!rset_mpi_running()) {
        rset_fail(why, RSET_USAGE, "not protected: %s: this process %s", path,
                  rset_mpi_why_not(&other));
        *quiet_out = !other;
        return true;
    }
    if (rset_team_find(config, &team, &ignored) != RSET_OK || team == NULL ||
        rset_name_has_room(slash != NULL ? slash + 1 : path, team->ranks, config->set_size))
        return false;
    rset_fail(why, RSET_USAGE,
              "not protected: %s: the name is too long: the names of its redundancy file and undo "
              "journal add to it, and a name has at most %d bytes",
              path, NAME_MAX);
    return true;
}

rset_status
rset_life_open(const rset_config *config, const char *path, const rset_opening *how,
               rset_life **life_out, rset_err *err)
{
    rset_life  *life = NULL;
    rset_status st;

    *life_out = NULL;
    if (!rset_config_covers(config, path))
        return RSET_OK;
    st = rset_life_new(config, path, &life, err);
    if (st != RSET_OK)
        return st;
    life->mode = how->mode;
    life->found = how->found;
    life->swmr = how->swmr;
    find_team(life);
    st = begin(life, how->link, err);
    if (st != RSET_OK)
        rset_life_free(life);
    else
        *life_out = life;
    return st == RSET_ABSENT ? RSET_OK : st;
}

/* ---- first use ---- */

/* SWMR readers open while the writer writes: nothing can be verified then (T19). A file that nobody
 * protects needs nothing. */
static bool
nothing_to_ask(const rset_life *life)
{
    return life->found == RSET_FOUND && life->begun.status == RSET_OK &&
           (life->swmr || !concerns_us(life, rset_mpi_usable()));
}

rset_status
rset_life_resolve(rset_life *life, rset_status own, const rset_lower *lower, rset_err *err)
{
    rset_status st = own;
    bool        replaced = false;

    if (life->resolved) {
        if (life->verdict.status != RSET_OK)
            *err = life->verdict;
        return life->verdict.status;
    }
    life->resolved = true;
    if (own == RSET_OK && life->begun.status != RSET_OK) {
        *err = life->begun;
        st = own = err->status;
    }
    life->verdict = *err;
    if (!nothing_to_ask(life))
        rset_background_wait(NULL);
    if (!nothing_to_ask(life) && rset_mpi_usable() && !rset_background_stuck())
        st = rset_life_resolve_parallel(life, own, lower, &replaced, &life->verdict);
    else if (!nothing_to_ask(life) && own == RSET_OK)
        st = rset_life_resolve_serial(life, &replaced, &life->verdict);
    if (st == RSET_OK)
        st = lower->open(lower->handle, replaced, &life->verdict);
    if (st != RSET_OK) {
        life->verdict.status = st;
        *err = life->verdict;
        return st;
    }
    life->verdict = RSET_ERR_NONE;
    return RSET_OK;
}

/* ---- close ---- */

/* What a close that could not be protected is labelled with. One process alone is a session of one rank, and has finished
 * when it has closed. */
static rset_label
label_of(const rset_life *life)
{
    rset_label label = {.step = 1, .ranks = 1};

    if (life->team != NULL)
        return rset_rendezvous_label(life->team->rendezvous, &life->kind);
    if (getrandom(&label.session, sizeof label.session, 0) != (ssize_t)sizeof label.session)
        label.session = (uint64_t)getpid();
    label.session |= 1;
    return label;
}

/* Only files opened for writing that were really used have anything to end together. One that was
 * merely probed was never resolved; an unprotected one that did not change concerns nobody. */
bool
rset_life_ends_together(const rset_life *life)
{
    if (!life->resolved || life->verdict.status != RSET_OK || life->mode == RSET_OPEN_READ)
        return false;
    return life->changed || life->met;
}

/* Written for the first time, closed, and nobody else has come with such a file: it is none of ours any more. Nor is one
 * that is gone, or has another name now. Not what may have been decided on. */
static bool
is_left_alone(rset_life *life, rset_status why)
{
    const rset_evidence *ev = &life->evidence;

    if (life->mode != RSET_OPEN_CREATE || life->shadow != NULL || ev->any || ev->next_name != NULL)
        return false;
    return !rset_dir_has_file(life->dir, life->base) ||
           (why == RSET_PEER && life->known && !life->together && !life->others_have);
}

/* A rank that had nothing to change closes in the same step: only then all files are of one. */
static rset_status
label_unchanged(rset_life *life, const rset_label *label, rset_err *err)
{
    rset_journal *j = NULL;
    rset_status   st = rset_life_survey(life, err);

    if (st == RSET_OK)
        st = rset_journal_begin(&life->local, &life->evidence, true, &j, err);
    return st == RSET_OK && j != NULL ? rset_journal_close(j, label, err) : st;
}

/* The file is closed, but could not be protected (`why`): the program sees what it wrote all the same, what was protected
 * last can still be had, and the journal says in which step it was closed. */
static rset_status
settle(rset_life *life, rset_status why, rset_err *err)
{
    const rset_label label = label_of(life);
    rset_journal    *journal = life->journal;

    life->journal = NULL;
    if (life->dir == NULL)
        return RSET_OK;
    if (life->shadow != NULL)
        return rset_shadow_settle(&life->local, &life->evidence, &label, err);
    if (is_left_alone(life, why)) {
        rset_journal_leave(journal);
        return rset_unprotect(&life->local, err);
    }
    if (journal == NULL && !life->changed)
        return label_unchanged(life, &label, err);
    return journal != NULL ? rset_journal_close(journal, &label, err) : RSET_OK;
}

/* Not all files are complete, so all go back to what was protected last: a new file beside the old one goes right away; what
 * changed in place stays open in its journal, by which the next open rolls it back. */
static void
go_back(rset_life *life)
{
    if (life->shadow != NULL)
        rset_shadow_drop(&life->local);
}

/* Its own failure to close, for the others to hear. */
static rset_status
closed_badly(rset_life *life, bool lower_ok, rset_err *err)
{
    if (!lower_ok)
        return rset_fail(
            err, RSET_IO,
            "%s: could not be read, or written and closed, completely, so it is not protected",
            life->path);
    return RSET_OK;
}

/* Protects what is complete. */
static rset_status
protect_closed(rset_life *life, bool lower_ok, rset_err *err)
{
    rset_err ignored = RSET_ERR_NONE;

    life->incomplete = closed_badly(life, lower_ok, err) != RSET_OK;
    life->local.shadow = life->shadow;
    if (!life->incomplete && life->shadow != NULL)
        (void)rset_file_set_like(life->dir, life->shadow, life->base, &ignored);
    return rset_life_protect(life, err);
}

/* What could not be protected, in words that nobody has to look up. */
static void
say_not_protected(const rset_life *life, const rset_err *why, rset_err *err)
{
    const char *then = "";

    if (life->incomplete)
        then = "; all ranks keep what was protected last";
    else if (life->changed && life->evidence.any)
        then = "; if it is not protected by a later close, the next open may go back to what was "
               "protected last";
    *err = *why;
    snprintf(err->text, sizeof err->text, "not protected: %.800s%s", why->text, then);
}

static rset_status
end_together(rset_life *life, bool lower_ok, rset_err *err)
{
    rset_err    why = RSET_ERR_NONE, own = RSET_ERR_NONE;
    rset_status st = protect_closed(life, lower_ok, &why), settled = RSET_OK;

    if (st == RSET_OK)
        return RSET_OK;
    say_not_protected(life, &why, err);
    if (life->incomplete)
        go_back(life);
    else
        settled = settle(life, st, &own);
    if (settled == RSET_OK)
        return st;
    life->config.required =
        true; /* what was written is not where it belongs: never only a warning */
    *err = own;
    return own.status;
}

bool
rset_life_leave(rset_life *life, void *comm)
{
    if ((life->config.comm != NULL && comm == NULL) ||
        stat(rset_life_at(life), &life->closed) != 0) {
        free(comm);
        return false;
    }
    life->behind = true;
    life->comm = comm;
    life->config.comm = comm;
    return true;
}

/* Protected and still open: like one that was opened just now. */
static rset_status
begin_anew(rset_life *life, rset_err *err)
{
    rset_journal_leave(life->journal);
    rset_file_close(life->guard, NULL);
    life->journal = NULL;
    life->guard = NULL;
    free(life->shadow);
    free(life->shadow_path);
    life->shadow = life->shadow_path = NULL;
    life->local.shadow = NULL;
    life->mode = RSET_OPEN_UPDATE;
    life->found = RSET_FOUND;
    life->changed = life->met = life->sound = false;
    life->changed_bytes = 0;
    free(life->verified); /* of what was recorded before */
    life->verified = NULL;
    life->evidence.any = true; /* also if it cannot be seen now */
    return rset_life_survey(life, err);
}

void
rset_life_finalize(rset_life *life, bool lower_ok)
{
    rset_err    why = RSET_ERR_NONE, own = RSET_ERR_NONE;
    rset_status st;

    if (!rset_life_ends_together(life))
        return;
    st = protect_closed(life, lower_ok, &why);
    life->ended = why;
    if (st != RSET_OK)
        say_not_protected(life, &why, &own);
    else
        st = begin_anew(life, &own);
    if (st != RSET_OK)
        snprintf(life->note, sizeof life->note, "%s", own.text);
}

rset_status
rset_life_close(rset_life *life, bool lower_ok, char warning_out[RSET_ERR_TEXT], rset_err *err)
{
    rset_status st = RSET_OK;
    rset_err    own = RSET_ERR_NONE;

    warning_out[0] = '\0';
    /* In a child that was forked the file is its parent's to close, as long as that lives. */
    if (life->process != getpid() && life->process == getppid()) {
        rset_life_free(life);
        return RSET_OK;
    }
    snprintf(warning_out, RSET_ERR_TEXT, "%s", life->note);
    if (rset_life_ends_together(life))
        st = end_together(life, lower_ok, &own);
    if (st != RSET_OK && life->config.required)
        *err = own;
    else if (st != RSET_OK && !life->said_before)
        snprintf(warning_out, RSET_ERR_TEXT, "%s", own.text);
    else if (st == RSET_OK && life->note[0] != '\0')
        snprintf(warning_out, RSET_ERR_TEXT, "%s", life->note);
    st = life->config.required ? st : RSET_OK;
    rset_life_free(life);
    return st;
}

rset_status
rset_life_delete(const rset_config *config, const char *path, rset_err *err)
{
    rset_life  *life = NULL;
    rset_status st;

    if (!rset_config_covers(config, path))
        return RSET_OK;
    st = rset_life_new(config, path, &life, err);
    if (st != RSET_OK)
        return st;
    st = rset_dir_open(life->dir_path, false, &life->dir, err);
    if (st == RSET_OK)
        st = rset_unprotect(&(rset_local){.dir = life->dir, .prefix = life->prefix}, err);
    rset_life_free(life);
    return st;
}
