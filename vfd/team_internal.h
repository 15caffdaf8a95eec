/* team_internal.h: what team.c, team_meet.c and team_layout.c share. Nobody else includes this. */
#ifndef RSET_TEAM_INTERNAL_H
#define RSET_TEAM_INTERNAL_H

#include "team.h"

#include <stddef.h>

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

/* The team as it is kept. */
static inline kept_team *
kept_of(rset_team *team)
{
    return (kept_team *)((char *)team - offsetof(kept_team, team));
}

/* All ranks of which the team may be a part. */
static inline rset_team *
whole_of(rset_team *team)
{
    return team->whole != NULL ? team->whole : team;
}

/* Forgets how it was divided into sets: whatever rset_team_layout gave is gone. Local. */
void rset_team_drop_layouts(kept_team *kept);

/* Sees to it that ranks which have lost each other go on where all are here again: waits for that at most `patience` seconds, as
 * rset_comm_renew does. RSET_OK as well where nobody was lost, RSET_PEER. Local. */
rset_status rset_team_renew(rset_team *team, double patience, rset_err *err);

#endif
