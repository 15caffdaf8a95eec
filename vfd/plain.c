/* plain.c: plain files with the other ranks: which calls there are, and how ranks meet for one. See plain_internal.h. */
#include "background.h"
#include "comm/mpi/comm_mpi.h"
#include "last_used.h"
#include "plain_internal.h"

#include <stdio.h>
#include <string.h>

/* ---- together ---- */

static const struct {
    const char *name;
    rset_status (*act)(rset_plain *p, rset_status before, rset_err *err);
    bool encodes; /* all ranks need the same scheme */
    bool last;    /* it is one of those who used such files last */
} calls[] = {
    [RSET_PLAIN_PROTECT] = {"H5FDredset_protect_files", rset_plain_protect, true, false},
    [RSET_PLAIN_RECOVER] = {"H5FDredset_recover_files", rset_plain_recover, true, false},
    [RSET_PLAIN_UNPROTECT] = {"H5FDredset_unprotect_files", rset_plain_unprotect, false, false},
    [RSET_PLAIN_RENAME] = {"H5FDredset_rename", rset_plain_rename, true, true},
    [RSET_PLAIN_DROP] = {"H5FDredset_drop", rset_plain_drop, false, true}};

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
not_met(const rset_plain *p, const rset_err *why, rset_err *err)
{
    char files[768];

    rset_plain_files_say(&p->files, files, sizeof files);
    return rset_fail(err, why->status, "%s: nothing was done: %s", files, why->text);
}

/* That of the new name, too: what is protected there next has to be newer. */
static uint64_t
newest(const rset_plain *p)
{
    const uint64_t a = rset_evidence_newest(&p->files.evidence);
    const uint64_t b = rset_evidence_newest(&p->to.evidence);

    return rset_generation_newer(b, a) ? b : a;
}

/* A call that has no communicator. */
static rset_status
find_team(rset_plain *p, rset_err *err)
{
    const rset_status st = rset_team_find(&p->config, &p->team, err);

    if (st == RSET_OK && p->team != NULL && calls[p->job->call].last && p->files.n > 0)
        (void)rset_last_used_find(p->files.paths[0], &p->team, &p->config);
    return st;
}

/* Waits until all ranks have called the same. */
static rset_status
meet(rset_plain *p, rset_err *err)
{
    const rset_config *config = &p->config;
    const char        *name = calls[p->job->call].name;
    rset_proposal all = {.op = RSET_RENDEZVOUS_CALL, .most = newest(p), .least_base = UINT64_MAX};
    rset_err      why = RSET_ERR_NONE;
    bool          known;
    rset_status   st = find_team(p, err);

    if (st != RSET_OK)
        return st;
    if (p->team == NULL || rset_background_stuck())
        return no_mpi(name, err);
    if (calls[p->job->call].encodes)
        rset_config_keys(config, all.keys);
    snprintf(all.kind.text, sizeof all.kind.text, "%s", name);
    if (calls[p->job->call].last && p->files.n > 0) /* ranks that have no such files do not come */
        all.path = p->files.paths[0];
    st = rset_team_meet(p->team, config, &all, &p->nonce, &known, &why);
    if (st == RSET_OK)
        st = rset_team_of(p->team, all.among, &p->team, &why);
    p->most = all.most;
    return st == RSET_OK ? RSET_OK : not_met(p, &why, err);
}

static void
add_cost(rset_plain *p, rset_phase_scope *scope)
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
    rset_plain       p = {.job = job, .config = *job->config, .out = out};
    rset_err         own = RSET_ERR_NONE;
    rset_phase_scope scope;
    rset_status      st;

    *out = (rset_plain_outcome){0};
    rset_background_wait(NULL); /* V3 */
    rset_phases_begin(&scope);
    st = rset_plain_files_take(job->paths, job->n, &p.files, &own);
    if (st == RSET_OK && job->to != NULL)
        (void)rset_plain_files_take(&job->to, 1, &p.to, &own);
    st = meet(&p, err);
    if (st == RSET_OK) {
        *err = own;
        st = calls[job->call].act(&p, own.status, err);
    } else if (own.status != RSET_OK) {
        *err = own;
    }
    add_cost(&p, &scope);
    rset_plain_files_free(&p.files);
    rset_plain_files_free(&p.to);
    return st == RSET_OK ? RSET_OK : err->status;
}
