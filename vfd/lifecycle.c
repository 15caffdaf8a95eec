/* lifecycle.c: the whole story of a file on a few pages: open = survey, meet, bring back; close = meet,
 * protect. See lifecycle.h. Who is asked and what is said is decided here; how, in encode/. */
#include "lifecycle.h"

#include "background.h"
#include "comm/mpi/comm_mpi.h"
#include "life.h"
#include "protect/protect.h"
#include "recover/recover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- open ---- */

static void
life_free(rset_life *life)
{
    if (life == NULL)
        return;
    (void)rset_journal_end(life->journal, RSET_JOURNAL_LEAVE, NULL);
    rset_evidence_free(&life->evidence);
    rset_dir_close(life->dir);
    free(life->beside);
    free(life->beside_path);
    free(life->verified);
    free(life->path);
    free(life->dir_path);
    free(life->base);
    free(life->prefix);
    free(life->comm);
    free(life);
}

static rset_status
life_new(const rset_config *config, const char *path, rset_life **out, rset_err *err)
{
    rset_life  *life = calloc(1, sizeof *life);
    rset_status st;

    if (life == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: no memory to open it", path);
    life->config = *config;
    life->process = getpid();
    life->path = strdup(path);
    st = rset_path_split(path, &life->dir_path, &life->base, err);
    if (st == RSET_OK && (life->path == NULL || asprintf(&life->prefix, "%s.", life->base) < 0))
        st = rset_fail(err, RSET_NOMEM, "%s: no memory to open it", path);
    if (st != RSET_OK) {
        life_free(life);
        return st;
    }
    *out = life;
    return RSET_OK;
}

rset_status
rset_life_survey(rset_life *life, rset_err *err)
{
    return rset_survey_again(life->dir, life->prefix, life->base, &life->evidence, err);
}

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

/* A file that is none of ours: passed through, and never thought of again. */
static bool
none_of_ours(const rset_life *life)
{
    const rset_evidence *ev = &life->evidence;
    const bool           mpi = rset_mpi_running(); /* this thread or not: who closes it may */

    if (life->found == RSET_FOUND &&
        (life->dir == NULL || !rset_dir_has_file(life->dir, life->base)))
        return true;
    if (life->mode == RSET_OPEN_CREATE)
        return !mpi && !ev->any;
    if (life->found == RSET_FOUND)
        return mpi ? !rset_evidence_asks(ev) && life->mode == RSET_OPEN_READ
                   : !ev->any && !(ev->unfinished && rset_evidence_cut(ev));
    return !mpi && !ev->any && (life->dir == NULL || !rset_life_recorded_nearby(life));
}

rset_status
rset_life_open(const rset_config *config, const char *path, rset_open_mode mode, rset_found found,
               bool swmr, rset_life **life_out, rset_err *err)
{
    rset_life  *life = NULL;
    rset_err    ignored = RSET_ERR_NONE;
    rset_status st;

    *life_out = NULL;
    if (!rset_config_covers(config, path))
        return RSET_OK;
    st = life_new(config, path, &life, err);
    if (st != RSET_OK)
        return st;
    life->mode = mode;
    life->found = found;
    life->swmr = swmr;
    life->team_met = config->async && rset_mpi_met(config->comm);
    st = first_survey(life, err);
    if (st != RSET_OK && mode != RSET_OPEN_CREATE && rset_mpi_running()) {
        life->begun = *err; /* the others would wait for this rank */
        *err = RSET_ERR_NONE;
        *life_out = life;
        return RSET_OK;
    }
    if (st == RSET_OK && none_of_ours(life)) {
        if (mode == RSET_OPEN_CREATE &&
            life->evidence.unfinished) /* it is written from the beginning */
            (void)rset_old_forget(life->dir, life->prefix, &ignored);
        life_free(life);
        return RSET_OK;
    }
    if (st == RSET_OK && mode == RSET_OPEN_CREATE)
        st = rset_life_begin_creation(life, err);
    if (st != RSET_OK)
        life_free(life);
    else
        *life_out = life;
    return st;
}

const char *
rset_life_at(const rset_life *life)
{
    return life->beside_path != NULL ? life->beside_path : life->path;
}

void
rset_life_abandon(rset_life *life)
{
    if (life != NULL) {
        rset_life_drop_beside(life);
        rset_life_drop_first(life);
    }
    life_free(life);
}

/* ---- first use ---- */

/* SWMR readers open while the writer writes: nothing can be verified then (T19). A file that nobody
 * protects needs nothing. */
static bool
nothing_to_ask(const rset_life *life)
{
    return life->found == RSET_FOUND && life->begun.status == RSET_OK &&
           (life->swmr || !rset_evidence_asks(&life->evidence));
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
        st = rset_life_resolve_together(life, own, lower, &replaced, &life->verdict);
    else if (!nothing_to_ask(life) && own == RSET_OK)
        st = rset_life_resolve_alone(life, &replaced, &life->verdict);
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

/* ---- change ---- */

bool
rset_life_clean(const rset_life *life)
{
    return !life->changed;
}

void
rset_life_no_way_back(rset_life *life, const rset_err *why)
{
    snprintf(life->note, sizeof life->note,
             "%s: its old content could not be kept until the new one is protected: %.800s",
             life->path, why->text);
}

/* Keeping the old content may fail for want of space or permission. The program's own work goes on all
 * the same, unless the user wants to know (required=yes): in place, without a way back. */
static rset_status
go_on_without(rset_life *life, const rset_err *why, rset_err *err)
{
    rset_status st;

    if (life->config.required)
        return rset_fail(err, why->status, "%s; atomic=no changes files in place", why->text);
    st = rset_journal_end(life->journal, RSET_JOURNAL_DROP, err);
    life->journal = NULL;
    if (st == RSET_OK)
        st = rset_journal_begin(&life->local, &life->evidence, false, &life->journal, err);
    rset_life_no_way_back(life, why);
    return st;
}

rset_status
rset_life_change(rset_life *life, unsigned long long off, unsigned long long len, rset_err *err)
{
    rset_err    why = RSET_ERR_NONE;
    rset_status st = RSET_OK;
    bool        keep = life->config.atomic && !life->swmr;

    life->changed_bytes +=
        len < UINT64_MAX - life->changed_bytes ? len : UINT64_MAX - life->changed_bytes;
    if (!life->changed && life->dir != NULL && life->journal == NULL) /* else it failed, later */
        st = rset_journal_begin(&life->local, &life->evidence, keep, &life->journal, &why);
    if (st == RSET_OK)
        st = rset_journal_save(life->journal, off, len, &why);
    if (st != RSET_OK)
        st = go_on_without(life, &why, err);
    life->changed = life->changed || st == RSET_OK;
    return st;
}

/* ---- close ---- */

/* Only files opened for writing that were really used have anything to end together. One that was
 * merely probed was never resolved; an unprotected one that did not change concerns nobody. */
bool
rset_life_ends_together(const rset_life *life)
{
    if (!life->resolved || life->verdict.status != RSET_OK || life->mode == RSET_OPEN_READ)
        return false;
    return life->changed || life->met;
}

/* The new file was opened beside the old one, and nothing was ever written: creating it failed after all. */
static bool
came_to_nothing(const rset_life *life)
{
    struct stat sb;

    return life->beside != NULL &&
           (rset_dir_stat(life->dir, life->beside, &sb, NULL) != RSET_OK || sb.st_size == 0);
}

/* Written for the first time, closed, and nobody else has come with such a file: it is none of ours any more. Nor is one
 * that is gone, or has another name now. Not what may have been decided on. */
static void
leave_it_alone(rset_life *life, rset_status why)
{
    const rset_evidence *ev = &life->evidence;
    rset_err             ignored = RSET_ERR_NONE;

    if (life->mode != RSET_OPEN_CREATE || !ev->unfinished || ev->next_name != NULL)
        return;
    if (!rset_dir_has_file(life->dir, life->base))
        (void)rset_old_forget(life->dir, life->prefix, &ignored);
    else if (why == RSET_PEER && !life->together && !life->others_have)
        (void)rset_forget(life->dir, life->prefix, NULL, NULL, &ignored);
}

/* The file was changed and is closed, but could not be protected (`why`): the program sees what it wrote all the
 * same, and the way back stays. Where another rank's is not complete it is the way that the next open goes, for all: new
 * files among one that is old would be a mixture (P2). */
static rset_status
settle(rset_life *life, rset_status why, rset_err *err)
{
    const rset_journal_fate fate = life->incomplete ? RSET_JOURNAL_LEAVE : RSET_JOURNAL_CLOSED;
    rset_journal           *journal = life->journal;
    rset_status             st;

    life->journal = NULL;
    if (life->dir != NULL)
        leave_it_alone(life, why);
    if (life->beside == NULL)
        return rset_journal_end(journal, fate, err);
    st = rset_put_in_place(&life->local, &life->evidence, fate, err);
    if (st != RSET_OK && fate == RSET_JOURNAL_LEAVE)
        rset_life_drop_placeholder(life);
    return st;
}

/* The file is not complete, or could not be changed at all: what it was stays, or can be had, and says so for the other
 * ranks, should they not have heard it. */
static rset_status
settle_incomplete(rset_life *life, rset_err *err)
{
    rset_life_drop_beside(life);
    life->local.beside = NULL;
    if (life->found != RSET_FOUND || life->journal != NULL)
        return RSET_OK;
    return rset_journal_begin(&life->local, &life->evidence, true, &life->journal, err);
}

/* Its own failure to close, for the others to hear. */
static rset_status
closed_badly(rset_life *life, bool lower_ok, rset_err *err)
{
    if (came_to_nothing(life))
        return rset_fail(err, RSET_IO, "%s: was created, but nothing was written into it",
                         life->path);
    if (!lower_ok)
        return rset_fail(err, RSET_IO,
                         "%s: could not be written and closed completely, so it is not protected",
                         life->path);
    return RSET_OK;
}

/* Protects what is complete; *complete_out: this rank's is. */
static rset_status
protect_closed(rset_life *life, bool lower_ok, bool *complete_out, rset_err *err)
{
    rset_err ignored = RSET_ERR_NONE;

    *complete_out = closed_badly(life, lower_ok, err) == RSET_OK;
    life->local.beside = life->beside;
    if (*complete_out && life->beside != NULL)
        (void)rset_file_set_like(life->dir, life->beside, life->base, &ignored);
    return rset_life_protect(life, err);
}

static rset_status
end_together(rset_life *life, bool lower_ok, rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    bool        complete = false;
    rset_status st = protect_closed(life, lower_ok, &complete, err), settled = RSET_OK;

    if (st != RSET_OK && !complete)
        settled = settle_incomplete(life, &own);
    else if (st != RSET_OK && life->changed)
        settled = settle(life, st, &own);
    if (settled == RSET_OK)
        return st;
    life->config.required =
        true; /* what was written is not where it belongs: never only a warning */
    return rset_fail(err, own.status, "%s", own.text);
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
    (void)rset_journal_end(life->journal, RSET_JOURNAL_LEAVE, NULL);
    life->journal = NULL;
    free(life->beside);
    free(life->beside_path);
    life->beside = life->beside_path = NULL;
    life->local.beside = NULL;
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
    rset_err    own = RSET_ERR_NONE;
    bool        complete = false;
    rset_status st;

    if (!rset_life_ends_together(life))
        return;
    st = protect_closed(life, lower_ok, &complete, &own);
    if (st == RSET_OK)
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
        life_free(life);
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
    life_free(life);
    return st;
}

rset_status
rset_life_delete(const rset_config *config, const char *path, rset_err *err)
{
    rset_life  *life = NULL;
    rset_status st;

    if (!rset_config_covers(config, path))
        return RSET_OK;
    st = life_new(config, path, &life, err);
    if (st != RSET_OK)
        return st;
    st = rset_dir_open(life->dir_path, false, &life->dir, err);
    if (st == RSET_OK)
        st = rset_forget(life->dir, life->prefix, NULL, NULL, err);
    life_free(life);
    return st;
}
