/* team_internal.h: what team.c, team_meet.c and team_layout.c share. Nobody else includes this. */
#ifndef RSET_TEAM_INTERNAL_H
#define RSET_TEAM_INTERNAL_H

#include "team.h"

#include <stddef.h>

typedef struct rset_team_division {
    struct rset_team_division *next;
    uint64_t                   key; /* RSET_KEY_SCHEME */
    rset_layout                layout;
} rset_team_division;

/* A team as kept: found again by its communicator. */
typedef struct rset_team_kept {
    struct rset_team_kept *next;
    uintptr_t              id;    /* rset_mpi_know */
    struct rset_team_kept *parts; /* of its ranks, by their rset_comm */
    rset_team              team;
    rset_team_division    *layouts;
    rset_comm              own; /* of the team that is alone */
} rset_team_kept;

/* The team as it is kept. */
static inline rset_team_kept *
rset_team_kept_of(rset_team *team)
{
    return (rset_team_kept *)((char *)team - offsetof(rset_team_kept, team));
}

/* All ranks of which the team may be a part. */
static inline rset_team *
rset_team_whole_of(rset_team *team)
{
    return team->whole != NULL ? team->whole : team;
}

/* Forgets how it was divided into sets: whatever rset_team_layout gave is gone. Local. */
void rset_team_drop_layouts(rset_team_kept *kept);

/* Sees to it that ranks which have lost each other go on where all are here again: waits for that at most `patience` seconds, as
 * rset_comm_renew does. RSET_OK as well where nobody was lost, RSET_PEER. Local. */
rset_status rset_team_renew(rset_team *team, double patience, rset_err *err);

#endif
