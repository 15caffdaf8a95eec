/* team_meet.c: how the ranks of a team come together, also once more after they have lost each other. See team.h. */
#include "comm/mpi/comm_mpi.h"
#include "common/crc64.h"
#include "common/phases.h"
#include "moment.h"
#include "team_internal.h"

#include <string.h>

bool
rset_team_may_meet(const rset_team *team)
{
    return team != NULL && (team->alone || rset_mpi_usable());
}

/* ---- ranks that have lost each other ---- */

/* Seconds that a rank waits for the others to be here again; less each time. */
#define STAY 0.5

/* On each rank as it goes on: how they are divided is found out together, once more. */
static void
go_on(rset_team_kept *whole)
{
    rset_rendezvous_renew(whole->team.rendezvous);
    whole->team.again = RSET_AGAIN_FIRST;
    whole->team.end_told = false;
    rset_team_drop_layouts(whole);
    for (rset_team_kept *part = whole->parts; part != NULL; part = part->next) {
        part->team.end_told = false;
        rset_team_drop_layouts(part);
    }
    if (whole->team.comm->timeout > RSET_RENDEZVOUS_SHORT)
        whole->team.comm->timeout = RSET_RENDEZVOUS_SHORT;
}

rset_status
rset_team_renew(rset_team *team, double patience, rset_err *err)
{
    rset_team_kept *whole = rset_team_kept_of(rset_team_whole_of(team));
    bool            renewed = false;
    rset_status     st;

    if (whole->team.comm == NULL)
        return RSET_OK;
    st = rset_comm_renew(whole->team.comm, patience, &renewed, err);
    if (renewed)
        go_on(whole);
    return st;
}

void
rset_team_stay(rset_team *team)
{
    rset_err ignored = RSET_ERR_NONE;

    if (rset_team_may_meet(team))
        (void)rset_team_renew(team, 0, &ignored);
}

bool
rset_team_is_back(rset_team *team)
{
    rset_team *whole = rset_team_whole_of(team);
    const bool met = whole->again == RSET_AGAIN_MET;

    if (met)
        whole->again = RSET_AGAIN_NO;
    return met && team->comm->rank == 0;
}

/* The first rendezvous afterwards is over, and came to `st`. */
static void
end_first(rset_team *team, const rset_config *config, const rset_proposal *p, rset_status st)
{
    rset_team *whole = rset_team_whole_of(team);

    if (whole->again != RSET_AGAIN_FIRST || whole->comm == NULL)
        return;
    whole->again = RSET_AGAIN_MET;
    if (st != RSET_OK)
        return;
    whole->comm->timeout = config->timeout;
    if (p->among != NULL)
        p->among->timeout = config->timeout;
}

/* ---- how they come together ---- */

static _Thread_local rset_team_numbers met;
static _Thread_local bool              any_met; /* else those of MPI_COMM_WORLD count */

/* `among`: those that have such files, NULL: all. */
static void
note_numbers(rset_team *team, const rset_comm *among)
{
    rset_team *whole = rset_team_whole_of(team);

    if (team->alone)
        return;
    if (among == NULL)
        among = whole->comm;
    met = whole->numbers;
    met.first = among != NULL ? rset_comm_world(among, 0) : 0;
    any_met = true;
}

rset_team_numbers
rset_team_numbers_met(void)
{
    return any_met ? met : (rset_team_numbers){.own = rset_mpi_world_rank()};
}

/* Closed, or called, without having asked the others. */
static void
skip(rset_team *team, const rset_proposal *proposal)
{
    if (proposal->op != RSET_RENDEZVOUS_OPEN)
        rset_rendezvous_skip(team->rendezvous, &proposal->kind);
}

/* The purpose of a proposal: where it opens a file, and not all ranks come, those that do have to agree (P4). */
static rset_purpose
purpose_of(const rset_team *team, const rset_config *config, const rset_proposal *p)
{
    const bool   opens = p->op == RSET_RENDEZVOUS_OPEN && (p->evidence || p->needs_all);
    rset_purpose purpose = {.what = rset_rendezvous_step(team->rendezvous, p->op, &p->kind),
                            .opens =
                                opens ? rset_crc64(0, p->kind.text, strlen(p->kind.text)) | 1 : 0,
                            .team = rset_crc64(0, config->team, strlen(config->team))};

    if (opens)
        purpose.need = p->needs_all ? RSET_NEED_OTHERS : RSET_NEED_UNKNOWN;
    return purpose;
}

/* Takes over what those that came know of each other, where other ranks have not come. */
static void
take_others(const rset_config *config, rset_proposal *p)
{
    const rset_mpi_others others = rset_mpi_others_of(config->comm);

    p->came = others.came;
    p->required = p->required || others.needy >= 0;
    p->told = p->told || rset_mpi_told(config->comm);
}

/* Tells the ranks that came whether this one needs the others, and hears the same of them. */
static rset_status
confer(const rset_config *config, rset_proposal *p, rset_err *err)
{
    const rset_status st = rset_mpi_confer(config->comm, config->timeout, p->needs_all, err);

    take_others(config, p);
    return st;
}

static rset_status
come_together(rset_team *team, const rset_config *config, rset_proposal *proposal, bool *known_out,
              rset_err *err)
{
    const rset_purpose purpose = purpose_of(team, config, proposal);
    rset_comm         *comm = NULL;
    double             patience = config->timeout;
    rset_status        st;

    *known_out = false;
    if (team->alone) { /* all have come */
        team->comm->timeout = config->timeout;
        return RSET_OK;
    }
    if (team->comm == NULL && proposal->came > 0)
        return confer(config, proposal, err);
    if (team->comm == NULL)
        patience = rset_rendezvous_patience(team->rendezvous, proposal, config->timeout, known_out);
    if (*known_out) {
        skip(team, proposal);
        return rset_fail(err, RSET_PEER, "%s is not one per rank", proposal->kind.text);
    }
    st = rset_team_renew(team, STAY, err);
    if (st == RSET_OK)
        st = rset_mpi_private(config->comm, patience, &purpose, &comm, err);
    if (st == RSET_OK && team->comm == NULL) {
        st = rset_rendezvous_attach(team->rendezvous, comm, err);
        team->comm = st == RSET_OK ? comm : NULL;
        team->ranks = st == RSET_OK ? comm->size : team->ranks;
    } else if (st == RSET_PEER && team->comm == NULL) {
        if (rset_mpi_apart(config->comm) == RSET_APART_FAILED) /* nobody is late */
            skip(team, proposal);
        else
            rset_rendezvous_timed_out(team->rendezvous, proposal);
        take_others(config, proposal);
    } else if (st != RSET_OK) {
        skip(team, proposal);
    }
    if (st == RSET_OK)
        comm->timeout = rset_team_whole_of(team)->again == RSET_AGAIN_FIRST &&
                                config->timeout > RSET_RENDEZVOUS_SHORT
                            ? RSET_RENDEZVOUS_SHORT
                            : config->timeout;
    return st;
}

rset_status
rset_team_gather(rset_team *team, const rset_config *config, rset_proposal *proposal,
                 bool *known_out, rset_err *err)
{
    const rset_phase  before = rset_phase_enter(RSET_PHASE_MEET);
    const rset_status st = come_together(team, config, proposal, known_out, err);

    note_numbers(team, NULL);
    rset_phase_leave(before);
    return st;
}

rset_status
rset_team_meet(rset_team *team, const rset_config *config, rset_proposal *proposal,
               uint64_t *nonce_out, bool *known_out, rset_err *err)
{
    const rset_phase before = rset_phase_enter(RSET_PHASE_MEET);
    rset_status      st = come_together(team, config, proposal, known_out, err);

    if (rset_team_whole_of(team)->pending > 0 && proposal->op == RSET_RENDEZVOUS_CLOSE)
        proposal->bits |= RSET_TEAM_PENDING;
    proposal->bits |= config->report[0] != '\0' ? RSET_TEAM_REPORTS : 0;
    proposal->latest = rset_moment_now();
    if (st == RSET_OK)
        st = rset_rendezvous_meet(team->rendezvous, proposal, nonce_out, known_out, err);
    note_numbers(team, proposal->among);
    end_first(team, config, proposal, st);
    rset_moment_heard(proposal->latest);
    if (proposal->among != NULL) /* files of one rank are copied among all, who are not here */
        proposal->bits &= ~RSET_TEAM_PENDING;
    else if (st == RSET_OK && (proposal->bits & RSET_TEAM_REPORTS) != 0)
        rset_team_whole_of(team)->reports = true;
    rset_phase_leave(before);
    return st;
}
