/* team.c: the teams of this process: of its communicators, of itself alone, and of parts of these. See team.h. */
#include "comm/comm_alone.h"
#include "comm/mpi/comm_mpi.h"
#include "report.h"
#include "team_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Seconds, until a file says otherwise; nobody ever waits so long. */
#define ALONE_TIMEOUT 1.0

/* HDF5 calls drivers one thread at a time. */
static rset_team_kept *teams;
static rset_team_kept *alone; /* NULL: nobody has asked for it yet */

/* This process's host name, cut to RSET_HOST_NAME - 1 bytes. */
static void
name_host(char host_out[RSET_HOST_NAME])
{
    if (gethostname(host_out, RSET_HOST_NAME) != 0)
        snprintf(host_out, RSET_HOST_NAME, "unknown");
    host_out[RSET_HOST_NAME - 1] = '\0';
}

/* What its files have cost is told, and how it is divided is forgotten. */
static void
close_account(rset_team_kept *kept, double began)
{
    rset_report_end(&kept->team, kept->team.reports ? kept->team.comm : NULL, kept->team.host,
                    rset_mpi_world_rank(), began);
    rset_team_drop_layouts(kept);
}

/* ---- the end of MPI ---- */

/* In MPI_Finalize: the communicator is about to go. Files that are still open ask their team which step they were closed
 * in, so that stays. */
static void
end_team(void *arg)
{
    rset_team_kept *kept = arg;
    const double    began = rset_clock();
    rset_err        ignored = RSET_ERR_NONE;

    /* else those that go on would wait for this rank */
    (void)rset_team_renew(&kept->team, -1, &ignored);
    if (kept->team.comm != NULL)
        rset_rendezvous_end(kept->team.rendezvous);
    for (rset_team_kept *part = kept->parts; part != NULL; part = part->next)
        close_account(part, began);
    close_account(kept, began);
    free(kept->team.roots);
    kept->team.roots = NULL;
}

/* Nobody has come to it yet. */
static rset_status
new_team(int size, rset_team_kept **out, rset_err *err)
{
    rset_team_kept *kept = calloc(1, sizeof *kept);
    rset_status     st;

    if (kept == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for %d ranks", size);
    kept->team.ranks = size;
    name_host(kept->team.host);
    st = rset_rendezvous_new(kept->team.host, size, &kept->team.rendezvous, err);
    if (st == RSET_OK)
        *out = kept;
    else
        free(kept);
    return st;
}

static void
drop_team(rset_team_kept *kept)
{
    rset_rendezvous_free(kept->team.rendezvous);
    rset_comm_free(&kept->own);
    free(kept);
}

static rset_status
make_team(const rset_mpi_known *of, rset_team_kept **out, rset_err *err)
{
    rset_team_kept *kept = NULL;
    rset_status     st = new_team(of->size, &kept, err);

    if (st != RSET_OK)
        return st;
    st = rset_mpi_at_finalize(end_team, kept, err);
    if (st != RSET_OK) {
        drop_team(kept);
        return st;
    }
    kept->id = of->id;
    kept->team.numbers = (rset_team_numbers){.own = of->rank, .others = of->others};
    kept->next = teams;
    teams = kept;
    *out = kept;
    return RSET_OK;
}

/* In MPI_Finalize all ranks that have settings with root= come together once more. */
static void
keep_roots(rset_team *team, const rset_config *config)
{
    if (config->root[0] == '\0' || team->roots != NULL)
        return;
    team->roots = malloc(sizeof *team->roots);
    if (team->roots == NULL)
        return;
    *team->roots = *config;
    team->roots->comm = NULL; /* the property list's, which may be gone then */
}

rset_status
rset_team_find(const rset_config *config, rset_team **team_out, rset_err *err)
{
    rset_team_kept *kept = teams;
    rset_mpi_known  of = {0};
    rset_status     st;

    *team_out = NULL;
    if (!rset_mpi_usable())
        return RSET_OK;
    st = rset_mpi_know(config->comm, &of, err);
    while (kept != NULL && kept->id != of.id)
        kept = kept->next;
    if (st == RSET_OK && kept == NULL)
        st = make_team(&of, &kept, err);
    if (st != RSET_OK)
        return st;
    *team_out = &kept->team;
    keep_roots(&kept->team, config);
    return RSET_OK;
}

void
rset_team_each(void (*visit)(rset_team *team, void *arg), void *arg)
{
    for (rset_team_kept *kept = teams; kept != NULL; kept = kept->next)
        visit(&kept->team, arg);
}

/* ---- one process alone ---- */

rset_status
rset_team_alone(rset_team **team_out, rset_err *err)
{
    rset_team_kept *kept = NULL;
    rset_status     st = alone == NULL ? new_team(1, &kept, err) : RSET_OK;

    if (st == RSET_OK && kept != NULL) {
        rset_comm_alone(&kept->own, ALONE_TIMEOUT);
        st = rset_rendezvous_attach(kept->team.rendezvous, &kept->own, err);
        kept->team.comm = &kept->own;
        kept->team.alone = true;
        if (st == RSET_OK)
            alone = kept;
        else
            drop_team(kept);
    }
    *team_out = st == RSET_OK ? &alone->team : NULL;
    return st;
}

bool
rset_team_has_others(const rset_team *team)
{
    return (team == NULL || !team->alone) && rset_mpi_running();
}

bool
rset_team_protects(const rset_team *team)
{
    return (team != NULL && team->alone) || rset_mpi_running();
}

const void *
rset_team_place(const rset_team *team)
{
    return team != NULL && team->alone ? NULL : team;
}

/* ---- without ranks that have no such files ---- */

static rset_status
new_part(rset_team_kept *whole, rset_comm *among, rset_team_kept **out, rset_err *err)
{
    rset_team_kept *part = calloc(1, sizeof *part);

    if (part == NULL)
        return rset_agree(among, rset_fail(err, RSET_NOMEM, "no memory for %d ranks", among->size),
                          whole->team.host, err);
    part->team = (rset_team){.comm = among,
                             .rendezvous = whole->team.rendezvous,
                             .ranks = among->size,
                             .whole = &whole->team};
    memcpy(part->team.host, whole->team.host, sizeof part->team.host);
    part->next = whole->parts;
    whole->parts = part;
    *out = part;
    return RSET_OK;
}

rset_status
rset_team_of(rset_team *team, rset_comm *among, rset_team **out, rset_err *err)
{
    rset_team_kept *whole = rset_team_kept_of(rset_team_whole_of(team)), *part = whole->parts;
    rset_status     st = RSET_OK;

    *out = &whole->team;
    while (part != NULL && part->team.comm != among)
        part = part->next;
    if (part == NULL && among != NULL)
        st = new_part(whole, among, &part, err);
    if (st == RSET_OK && among != NULL)
        *out = &part->team;
    return st;
}

rset_status
rset_team_skip(const rset_config *config, const char *pattern, rset_err *err)
{
    rset_proposal p = {.op = RSET_RENDEZVOUS_CALL};
    rset_team    *team = NULL;
    bool          known;
    rset_status   st = rset_team_find(config, &team, err);

    if (st != RSET_OK || team == NULL || team->ranks == 1)
        return st;
    st = rset_team_gather(team, config, &p, &known, err);
    return st == RSET_OK && pattern[0] != '\0'
               ? rset_rendezvous_lack(team->rendezvous, pattern, err)
               : st;
}
