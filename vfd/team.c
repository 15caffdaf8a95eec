/* team.c: see team.h. */
#include "team.h"

#include "comm/comm_alone.h"
#include "comm/mpi/comm_mpi.h"
#include "common/crc64.h"
#include "common/phases.h"
#include "moment.h"
#include "report.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Seconds, until a file says otherwise; nobody ever waits so long. */
#define ALONE_TIMEOUT 1.0

typedef struct kept_layout {
    struct kept_layout *next;
    uint64_t            key; /* RSET_KEY_SCHEME */
    rset_layout         layout;
} kept_layout;

/* A team as kept: found again by its communicator. */
typedef struct kept_team {
    struct kept_team *next;
    uintptr_t         id;    /* rset_mpi_know */
    struct kept_team *parts; /* of its ranks, by their rset_comm */
    rset_team         team;
    kept_layout      *layouts;
    rset_comm         own; /* of the team that is alone */
} kept_team;

static kept_team *
kept_of(rset_team *team)
{
    return (kept_team *)((char *)team - offsetof(kept_team, team));
}

static rset_team *
whole_of(rset_team *team)
{
    return team->whole != NULL ? team->whole : team;
}

/* HDF5 calls drivers one thread at a time. */
static kept_team *teams;
static kept_team *alone; /* NULL: nobody has asked for it yet */

/* This process's host name, cut to RSET_HOST_NAME - 1 bytes. */
static void
name_host(char host_out[RSET_HOST_NAME])
{
    if (gethostname(host_out, RSET_HOST_NAME) != 0)
        snprintf(host_out, RSET_HOST_NAME, "unknown");
    host_out[RSET_HOST_NAME - 1] = '\0';
}

static void
drop_layouts(kept_team *kept)
{
    for (kept_layout *l = kept->layouts, *next; l != NULL; l = next) {
        next = l->next;
        rset_layout_free(&l->layout);
        free(l);
    }
    kept->layouts = NULL;
}

/* What its files have cost is told, and how it is divided is forgotten. */
static void
close_account(kept_team *kept, double began)
{
    rset_report_end(&kept->team, kept->team.reports ? kept->team.comm : NULL, kept->team.host,
                    rset_mpi_world_rank(), began);
    drop_layouts(kept);
}

/* ---- ranks that have lost each other ---- */

/* Seconds that a rank waits for the others to be here again; less each time. */
#define STAY 0.5

/* On each rank as it goes on: how they are divided is found out together, once more. */
static void
go_on(kept_team *whole)
{
    rset_rendezvous_renew(whole->team.rendezvous);
    whole->team.again = RSET_AGAIN_FIRST;
    whole->team.end_told = false;
    drop_layouts(whole);
    for (kept_team *part = whole->parts; part != NULL; part = part->next) {
        part->team.end_told = false;
        drop_layouts(part);
    }
    if (whole->team.comm->timeout > RSET_RENDEZVOUS_SHORT)
        whole->team.comm->timeout = RSET_RENDEZVOUS_SHORT;
}

static rset_status
stay(rset_team *team, double patience, rset_err *err)
{
    kept_team  *whole = kept_of(whole_of(team));
    bool        renewed = false;
    rset_status st;

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
        (void)stay(team, 0, &ignored);
}

bool
rset_team_is_back(rset_team *team)
{
    rset_team *whole = whole_of(team);
    const bool met = whole->again == RSET_AGAIN_MET;

    if (met)
        whole->again = RSET_AGAIN_NO;
    return met && team->comm->rank == 0;
}

/* The first rendezvous afterwards is over, and came to `st`. */
static void
end_first(rset_team *team, const rset_config *config, const rset_proposal *p, rset_status st)
{
    rset_team *whole = whole_of(team);

    if (whole->again != RSET_AGAIN_FIRST || whole->comm == NULL)
        return;
    whole->again = RSET_AGAIN_MET;
    if (st != RSET_OK)
        return;
    whole->comm->timeout = config->timeout;
    if (p->among != NULL)
        p->among->timeout = config->timeout;
}

/* ---- the end of MPI ---- */

/* In MPI_Finalize: the communicator is about to go. Files that are still open ask their team which step they were closed
 * in, so that stays. */
static void
end_team(void *arg)
{
    kept_team   *kept = arg;
    const double began = rset_clock();
    rset_err     ignored = RSET_ERR_NONE;

    (void)stay(&kept->team, -1, &ignored); /* else those that go on would wait for this rank */
    if (kept->team.comm != NULL)
        rset_rendezvous_end(kept->team.rendezvous);
    for (kept_team *part = kept->parts; part != NULL; part = part->next)
        close_account(part, began);
    close_account(kept, began);
    free(kept->team.roots);
    kept->team.roots = NULL;
}

/* Nobody has come to it yet. */
static rset_status
new_team(int size, kept_team **out, rset_err *err)
{
    kept_team  *kept = calloc(1, sizeof *kept);
    rset_status st;

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
drop_team(kept_team *kept)
{
    rset_rendezvous_free(kept->team.rendezvous);
    rset_comm_free(&kept->own);
    free(kept);
}

static rset_status
make_team(uintptr_t id, int size, kept_team **out, rset_err *err)
{
    kept_team  *kept = NULL;
    rset_status st = new_team(size, &kept, err);

    if (st != RSET_OK)
        return st;
    st = rset_mpi_at_finalize(end_team, kept, err);
    if (st != RSET_OK) {
        drop_team(kept);
        return st;
    }
    kept->id = id;
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
    kept_team  *kept = teams;
    uintptr_t   id = 0;
    int         size = 0;
    rset_status st;

    *team_out = NULL;
    if (!rset_mpi_usable())
        return RSET_OK;
    st = rset_mpi_know(config->comm, &id, &size, err);
    while (kept != NULL && kept->id != id)
        kept = kept->next;
    if (st == RSET_OK && kept == NULL)
        st = make_team(id, size, &kept, err);
    if (st != RSET_OK)
        return st;
    *team_out = &kept->team;
    keep_roots(&kept->team, config);
    return RSET_OK;
}

void
rset_team_each(void (*visit)(rset_team *team, void *arg), void *arg)
{
    for (kept_team *kept = teams; kept != NULL; kept = kept->next)
        visit(&kept->team, arg);
}

/* ---- one process alone ---- */

rset_status
rset_team_alone(rset_team **team_out, rset_err *err)
{
    kept_team  *kept = NULL;
    rset_status st = alone == NULL ? new_team(1, &kept, err) : RSET_OK;

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

bool
rset_team_may_meet(const rset_team *team)
{
    return team != NULL && (team->alone || rset_mpi_usable());
}

const void *
rset_team_place(const rset_team *team)
{
    return team != NULL && team->alone ? NULL : team;
}

/* ---- how they come together ---- */

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
    st = stay(team, STAY, err);
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
        comm->timeout =
            whole_of(team)->again == RSET_AGAIN_FIRST && config->timeout > RSET_RENDEZVOUS_SHORT
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

    rset_phase_leave(before);
    return st;
}

rset_status
rset_team_meet(rset_team *team, const rset_config *config, rset_proposal *proposal,
               uint64_t *nonce_out, bool *known_out, rset_err *err)
{
    const rset_phase before = rset_phase_enter(RSET_PHASE_MEET);
    rset_status      st = come_together(team, config, proposal, known_out, err);

    if (whole_of(team)->pending > 0 && proposal->op == RSET_RENDEZVOUS_CLOSE)
        proposal->bits |= RSET_TEAM_PENDING;
    proposal->bits |= config->report[0] != '\0' ? RSET_TEAM_REPORTS : 0;
    proposal->latest = rset_moment_now();
    if (st == RSET_OK)
        st = rset_rendezvous_meet(team->rendezvous, proposal, nonce_out, known_out, err);
    end_first(team, config, proposal, st);
    rset_moment_heard(proposal->latest);
    if (proposal->among != NULL) /* files of one rank are copied among all, who are not here */
        proposal->bits &= ~RSET_TEAM_PENDING;
    else if (st == RSET_OK && (proposal->bits & RSET_TEAM_REPORTS) != 0)
        whole_of(team)->reports = true;
    rset_phase_leave(before);
    return st;
}

/* ---- without ranks that have no such files ---- */

static rset_status
new_part(kept_team *whole, rset_comm *among, kept_team **out, rset_err *err)
{
    kept_team *part = calloc(1, sizeof *part);

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
    kept_team  *whole = kept_of(whole_of(team)), *part = whole->parts;
    rset_status st = RSET_OK;

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

/* ---- dividing into sets ---- */

rset_status
rset_team_layout(rset_team *team, const rset_config *config, rset_layout **layout_out,
                 rset_err *err)
{
    kept_team   *kept = kept_of(team);
    uint64_t     keys[RSET_KEYS];
    rset_wish    want = {.scheme = config->scheme,
                         .parity = rset_config_parity(config),
                         .set_size = config->set_size,
                         .group = config->group[0] != '\0' ? config->group : team->host,
                         .order = rset_mpi_world_rank()};
    kept_layout *l;
    rset_status  st;

    rset_config_keys(config, keys);
    for (l = kept->layouts; l != NULL && l->key != keys[RSET_KEY_SCHEME]; l = l->next)
        continue;
    if (l != NULL) {
        l->layout.set.timeout = team->comm->timeout; /* of this file, not of the first one */
        *layout_out = &l->layout;
        return RSET_OK;
    }
    l = calloc(1, sizeof *l);
    if (l == NULL) /* to the others' first step, which is of this kind */
        return rset_any(team->comm,
                        rset_fail(err, RSET_NOMEM, "no memory for a division into sets"),
                        team->host, &(bool){false}, err);
    l->key = keys[RSET_KEY_SCHEME];
    st = rset_layout_form(team->comm, &want, team->host, &l->layout, err);
    if (st != RSET_OK) {
        free(l);
        return st;
    }
    l->next = kept->layouts;
    kept->layouts = l;
    *layout_out = &l->layout;
    return RSET_OK;
}

rset_status
rset_team_protection(rset_team *team, const rset_config *config, bool all, char note[RSET_ERR_TEXT],
                     rset_protect_args *out, rset_err *err)
{
    rset_layout *layout = NULL;
    rset_status  st = rset_team_layout(team, config, &layout, err);
    const char  *text;
    bool         says;

    if (st != RSET_OK)
        return st;
    says = team->comm->rank == 0 && note[0] == '\0' && !layout->told;
    *out = (rset_protect_args){.world = team->comm,
                               .set = &layout->set,
                               .ranks = layout->ranks,
                               .desc = layout->desc,
                               .extra = true,
                               .host = team->host};
    if (all)
        out->before = rset_layout_for_all(layout, err);
    text = rset_layout_tell(layout); /* unless that was an error */
    if (says && text[0] != '\0')
        snprintf(note, RSET_ERR_TEXT, "%s", text);
    else if (says)
        out->storage = note;
    return RSET_OK;
}
