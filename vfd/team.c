/* team.c: see team.h. */
#include "team.h"

#include "comm/mpi/comm_mpi.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A team as kept: found again by its communicator. */
typedef struct kept_layout {
    struct kept_layout *next;
    unsigned long long  key;
    rset_layout         layout;
} kept_layout;

typedef struct kept_team {
    struct kept_team *next;
    rset_team         team;
    kept_layout      *layouts;
} kept_team;

/* Waited for in vain before the ranks of `comm` ever came together. */
typedef struct waited {
    struct waited *next;
    uintptr_t      comm; /* rset_mpi_id */
    rset_meet_op   op;
    bool           evidence;
    char           kind[RSET_KIND_MAX];
} waited;

static waited    *waits;
static kept_team *teams; /* HDF5 calls drivers one thread at a time */

void
rset_host_name(char host_out[RSET_HOST_NAME])
{
    if (gethostname(host_out, RSET_HOST_NAME) != 0)
        snprintf(host_out, RSET_HOST_NAME, "unknown");
    host_out[RSET_HOST_NAME - 1] = '\0';
}

/* In MPI_Finalize: the communicator is about to go. */
static void
end_team(void *arg)
{
    kept_team *kept = arg, **at = &teams;

    rset_meet_end(kept->team.meeting);
    rset_meeting_free(kept->team.meeting);
    while (*at != NULL && *at != kept)
        at = &(*at)->next;
    if (*at == kept)
        *at = kept->next;
    for (kept_layout *l = kept->layouts, *next; l != NULL; l = next) {
        next = l->next;
        rset_layout_free(&l->layout);
        free(l);
    }
    free(kept);
}

static rset_status
make_team(rset_comm *comm, kept_team **out, rset_err *err)
{
    kept_team  *kept = calloc(1, sizeof *kept);
    rset_status st;

    if (kept == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for %d ranks", comm->size);
    kept->team.comm = comm;
    rset_host_name(kept->team.host);
    st = rset_meeting_new(comm, kept->team.host, &kept->team.meeting, err);
    if (st == RSET_OK)
        st = rset_mpi_at_finalize(end_team, kept, err);
    if (st != RSET_OK) {
        rset_meeting_free(kept->team.meeting);
        free(kept);
        return st;
    }
    kept->next = teams;
    teams = kept;
    *out = kept;
    return RSET_OK;
}

/* ---- before there is a team ---- */

static bool
waited_before(uintptr_t comm, rset_meet_op op, const char *kind)
{
    for (const waited *w = waits; w != NULL; w = w->next)
        if (w->comm == comm && w->op == op && strcmp(w->kind, kind) == 0)
            return true;
    return false;
}

static void
remember_wait(uintptr_t comm, rset_meet_op op, const char *kind, bool evidence)
{
    waited *w = calloc(1, sizeof *w);

    if (w == NULL)
        return; /* then it waits again */
    w->comm = comm;
    w->op = op;
    w->evidence = evidence;
    snprintf(w->kind, sizeof w->kind, "%s", kind);
    w->next = waits;
    waits = w;
}

/* The team has come together: what was learned without it is known to all now. */
static void
teach_waits(rset_meeting *meeting, uintptr_t comm)
{
    for (waited **at = &waits; *at != NULL;) {
        waited *w = *at;

        if (w->comm != comm) {
            at = &w->next;
            continue;
        }
        rset_meet_teach(meeting, w->op, w->kind, w->evidence);
        *at = w->next;
        free(w);
    }
}

rset_status
rset_team_get(const rset_config *config, rset_meet_op op, const char *kind, bool evidence,
              rset_team **team_out, bool *known_out, bool *told_out, rset_err *err)
{
    double      timeout = config->timeout;
    rset_comm  *comm = NULL;
    kept_team  *kept;
    rset_status st;
    bool        again;

    *team_out = NULL;
    *told_out = false;
    again = rset_mpi_usable() && waited_before(rset_mpi_id(config->comm), op, kind);
    *known_out = again && !(evidence && op == RSET_MEET_OPEN);
    if (*known_out)
        return rset_fail(err, RSET_PEER, "%s is not one per rank", kind);
    if (again && timeout > RSET_MEET_SHORT)
        timeout = RSET_MEET_SHORT;
    if (!rset_mpi_usable())
        return RSET_OK;
    st = rset_mpi_private(config->comm, timeout, &comm, err);
    if (st == RSET_PEER) {
        if (!again)
            remember_wait(rset_mpi_id(config->comm), op, kind, evidence);
        *told_out = again || rset_mpi_told(config->comm);
    }
    if (st != RSET_OK)
        return st;
    comm->timeout = config->timeout;
    for (kept = teams; kept != NULL && kept->team.comm != comm; kept = kept->next)
        continue;
    if (kept == NULL) {
        st = make_team(comm, &kept, err);
        if (st == RSET_OK)
            teach_waits(kept->team.meeting, rset_mpi_id(config->comm));
    }
    if (st == RSET_OK)
        *team_out = &kept->team;
    return st;
}

/* ---- dividing into sets ---- */

rset_status
rset_team_layout(rset_team *team, const rset_config *config, rset_layout **layout_out,
                 rset_err *err)
{
    kept_team         *kept = (kept_team *)((char *)team - offsetof(kept_team, team));
    unsigned long long key = rset_config_key(config);
    rset_wish          want = {.scheme = config->scheme,
                               .parity = rset_config_parity(config),
                               .set_size = config->set_size,
                               .group = config->group[0] != '\0' ? config->group : team->host,
                               .order = rset_mpi_world_rank()};
    kept_layout       *l;
    rset_status        st;

    for (l = kept->layouts; l != NULL && l->key != key; l = l->next)
        continue;
    if (l != NULL) {
        l->layout.set.timeout = team->comm->timeout; /* of this file, not of the first one */
        *layout_out = &l->layout;
        return RSET_OK;
    }
    l = calloc(1, sizeof *l);
    if (l == NULL) /* to the others' first step */
        return rset_agree(team->comm,
                          rset_fail(err, RSET_NOMEM, "no memory for a division into sets"),
                          team->host, err);
    l->key = key;
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
