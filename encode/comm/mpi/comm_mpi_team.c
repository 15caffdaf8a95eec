/* comm_mpi_team.c: ranks of one communicator that are of several teams: each rank learns who is of its own. See comm_mpi_side.h.
 *
 * Teams share the duplicate. No rank is of two, so that what one sends comes to no other; and each has a communicator of its own
 * (rset_comm_divide), so that a team whose ranks lose each other does not concern the others. */
#include "comm_mpi_side.h"

#include <stdio.h>
#include <stdlib.h>

rset_status
rset_side_divide(rset_side *me, double timeout, rset_err *err)
{
    const int   size = me->comm.size;
    int        *ranks = malloc((size_t)size * sizeof *ranks), n = 0;
    uint64_t   *teams = malloc((size_t)size * sizeof *teams);
    rset_err    own = RSET_ERR_NONE;
    rset_status st = RSET_OK;

    me->all = me->comm;
    me->all.timeout = timeout;
    if (ranks == NULL || teams == NULL)
        st = rset_fail(&own, RSET_NOMEM, "no memory for the teams of %d ranks", size);
    st = rset_gather_fixed(&me->all, st, "",
                           &(rset_share){.bytes = &me->team, .len = sizeof me->team}, teams, &own);
    for (int r = 0; st == RSET_OK && r < size; r++)
        if (teams[r] == me->team)
            ranks[n++] = r;
    if (st == RSET_OK)
        st = rset_comm_divide(&me->all, ranks, n, &me->comm, &own);
    free(ranks);
    free(teams);
    if (st == RSET_OK)
        return RSET_OK;
    me->comm.dead = true; /* the others do not do this again */
    snprintf(me->comm.why, sizeof me->comm.why, "%s", own.text);
    return rset_fail_as(err, &own);
}
