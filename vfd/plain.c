/* plain.c: plain files with the other ranks: how they meet, and what each call does then. See plain.h. */
#include "plain.h"

#include "background.h"
#include "comm/mpi/comm_mpi.h"
#include "recover/recover.h"
#include "stats.h"
#include "team.h"

#include <stdio.h>
#include <string.h>

typedef struct plain {
    const rset_plain_job *job;
    rset_plain_outcome   *out;
    rset_plain_files      files;
    rset_team            *team;
    uint64_t              most, nonce; /* newest generation of any rank; a random number */
    rset_stats            cost;
} plain;

static void
count(plain *p, rset_count what)
{
    p->cost.files[what] += (uint64_t)p->files.n;
    p->cost.bytes[what] += rset_plain_files_bytes(&p->files);
}

/* ---- what each call does, when all have met; `before`: this rank's failure so far ---- */

static rset_status
encode(plain *p, rset_err *err)
{
    rset_layout *layout = NULL;
    const char  *note;
    rset_status  st = rset_team_layout(p->team, p->job->config, &layout, err);

    if (st == RSET_OK)
        st = rset_layout_for_all(layout, err); /* the same on all ranks */
    if (st != RSET_OK)
        return st;
    note = rset_layout_tell(layout);
    if (note[0] != '\0' && p->team->comm->rank == 0)
        snprintf(p->out->note, sizeof p->out->note, "%s", note);
    rset_protect_args args = {.world = p->team->comm,
                              .set = &layout->set,
                              .ranks = layout->ranks,
                              .local = &p->files.local,
                              .desc = layout->desc,
                              .extra = true,
                              .host = p->team->host};

    args.desc.generation = rset_generation_next(p->most, p->nonce);
    st = rset_protect(&args, err);
    if (st == RSET_OK)
        count(p, RSET_COUNT_PROTECTED);
    return st;
}

/* Nothing is begun anywhere unless all can. */
static rset_status
protect(plain *p, rset_status before, rset_err *err)
{
    if (before == RSET_OK)
        before =
            rset_plain_files_may_protect(&p->files, p->team->ranks, p->job->config->set_size, err);
    before = rset_agree(p->team->comm, before, p->team->host, err);
    return before == RSET_OK ? encode(p, err) : before;
}

/* What became of this rank's own files. They may have been moved and then rebuilt. */
static const char *
what_was_done(const rset_outcome *outcome)
{
    if (!outcome->replaced || outcome->action == RSET_ACTION_NOTHING)
        return "";
    return outcome->action == RSET_ACTION_UNDO ? "rolled back to what was protected last"
                                               : "lost or damaged: rebuilt";
}

/* What concerns this rank's files is said by this rank, what concerns all by the first. */
static void
tell_outcome(plain *p, const rset_outcome *outcome, bool again)
{
    const char *own = what_was_done(outcome);
    const bool  first = p->team->comm->rank == 0;
    char        files[768];

    rset_plain_files_say(&p->files, files, sizeof files);
    if (outcome->moved_from[0] != '\0')
        snprintf(p->out->note, sizeof p->out->note, "%s: lay on %s: moved here%s%s", files,
                 outcome->moved_from, own[0] != '\0' ? "; " : "", own);
    else if (own[0] != '\0')
        snprintf(p->out->note, sizeof p->out->note, "%s: %s%s%s", files, own,
                 outcome->was_on[0] != '\0' ? "; it was on " : "", outcome->was_on);
    else if (first && again)
        snprintf(p->out->note, sizeof p->out->note,
                 "%s: redundancy files were lost, and have been re-encoded", files);
    else if (first && outcome->note[0] != '\0')
        snprintf(p->out->note, sizeof p->out->note, "%s", outcome->note);
    count(p, own[0] != '\0' ? RSET_COUNT_REBUILT : RSET_COUNT_VERIFIED);
}

/* All files are there. Are they what was protected, and protected now? */
static rset_status
finish_recovery(plain *p, const rset_outcome *outcome, rset_err *err)
{
    rset_err    why = RSET_ERR_NONE;
    rset_status st = RSET_OK;

    if (!outcome->protected_ && !outcome->reprotect)
        return rset_fail(err, RSET_DAMAGED,
                         "%.700s; use the files as they are, and protect them again, if their "
                         "content is right",
                         outcome->note);
    if (outcome->reprotect)
        st = encode(p, &why);
    tell_outcome(p, outcome, outcome->reprotect && st == RSET_OK);
    if (st == RSET_OK)
        return RSET_OK;
    *err = why;
    return st;
}

static rset_status
recover(plain *p, rset_status before, rset_err *err)
{
    const rset_config *config = p->job->config;
    rset_recover_args  args = {.world = p->team->comm,
                               .local = &p->files.local,
                               .evidence = &p->files.evidence,
                               .host = p->team->host,
                               .before = before,
                               .content = RSET_CONTENT_ALL,
                               .required = true,
                               .stays = config->moved == RSET_MOVES_NO,
                               .copies = config->moved == RSET_MOVES_COPY,
                               .tidy = true};
    rset_outcome       outcome;
    rset_status        st;

    if (args.before == RSET_OK)
        args.before = rset_plain_files_check_record(&p->files, err);
    if (args.before == RSET_OK)
        args.before = rset_plain_files_make_dir(&p->files, err);
    st = rset_recover(&args, &outcome, err);
    if (st != RSET_OK)
        rset_plain_files_unmake_dir(&p->files);
    p->out->never = st == RSET_ABSENT && outcome.never;
    if (p->out->never) {
        *err = RSET_ERR_NONE;
        return RSET_OK;
    }
    return st == RSET_OK ? finish_recovery(p, &outcome, err) : st;
}

/* Nothing is removed anywhere unless all may. */
static rset_status
unprotect(plain *p, rset_status before, rset_err *err)
{
    rset_comm  *comm = p->team->comm;
    rset_status st;

    if (before == RSET_OK && p->files.evidence.undo.busy)
        before =
            rset_fail(err, RSET_IO, "%s: is being changed through the HDF5 driver: close it first",
                      p->files.paths[0]);
    st = rset_agree(comm, before, p->team->host, err);
    if (st != RSET_OK)
        return st;
    return rset_agree(comm, rset_plain_files_let_go(&p->files, err), p->team->host, err);
}

/* ---- together ---- */

static const struct {
    const char *name;
    rset_status (*act)(plain *p, rset_status before, rset_err *err);
    bool encodes; /* all ranks need the same scheme */
} calls[] = {[RSET_PLAIN_PROTECT] = {"H5FDredset_protect_files", protect, true},
             [RSET_PLAIN_RECOVER] = {"H5FDredset_recover_files", recover, true},
             [RSET_PLAIN_UNPROTECT] = {"H5FDredset_unprotect_files", unprotect, false}};

const char *
rset_plain_call_name(rset_plain_call call)
{
    return calls[call].name;
}

static rset_status
no_mpi(const char *name, rset_err *err)
{
    if (rset_mpi_running())
        return rset_fail(err, RSET_USAGE,
                         "%s: needs MPI, which this thread may not call (see MPI_Init_thread), or "
                         "which is in use by a close in the background that does not end",
                         name);
    return rset_fail(err, RSET_USAGE,
                     "%s: needs MPI, between MPI_Init and MPI_Finalize: this process %s", name,
                     rset_mpi_why_not(NULL));
}

static rset_status
not_met(const plain *p, const rset_err *why, rset_err *err)
{
    char files[768];

    rset_plain_files_say(&p->files, files, sizeof files);
    return rset_fail(err, why->status, "%s: nothing was done: %s", files, why->text);
}

/* Waits until all ranks have called the same. */
static rset_status
meet(plain *p, rset_err *err)
{
    const rset_config *config = p->job->config;
    const char        *name = calls[p->job->call].name;
    rset_proposal      all = {.op = RSET_RENDEZVOUS_CALL,
                              .key = calls[p->job->call].encodes ? rset_config_key(config) : 0,
                              .most = rset_evidence_newest(&p->files.evidence),
                              .least_base = UINT64_MAX};
    rset_err           why = RSET_ERR_NONE;
    bool               known;
    rset_status        st = rset_team_find(config, &p->team, err);

    if (st != RSET_OK)
        return st;
    if (p->team == NULL || rset_background_stuck())
        return no_mpi(name, err);
    snprintf(all.kind.text, sizeof all.kind.text, "%s", name);
    st = rset_team_meet(p->team, config, &all, &p->nonce, &known, &why);
    p->most = all.most;
    return st == RSET_OK ? RSET_OK : not_met(p, &why, err);
}

static void
add_cost(plain *p, rset_phase_scope *scope)
{
    rset_kind kind;

    rset_phases_end(scope);
    if (p->team == NULL || p->files.n == 0)
        return;
    rset_kind_of(p->files.paths[0], &kind);
    rset_phases_add(&p->cost.spent, &scope->spent);
    rset_stats_add(p->team, kind.text, &p->cost);
}

rset_status
rset_plain_do(const rset_plain_job *job, rset_plain_outcome *out, rset_err *err)
{
    plain            p = {.job = job, .out = out};
    rset_err         own = RSET_ERR_NONE;
    rset_phase_scope scope;
    rset_status      st;

    *out = (rset_plain_outcome){0};
    rset_background_wait(NULL); /* V3 */
    rset_phases_begin(&scope);
    (void)rset_plain_files_take(job->paths, job->n, &p.files, &own);
    st = meet(&p, err);
    if (st == RSET_OK) {
        *err = own;
        st = calls[job->call].act(&p, own.status, err);
    } else if (own.status != RSET_OK) {
        *err = own;
    }
    add_cost(&p, &scope);
    rset_plain_files_free(&p.files);
    return st == RSET_OK ? RSET_OK : err->status;
}
