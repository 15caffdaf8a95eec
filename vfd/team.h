/* team.h: the ranks that protect files together, and how they are divided into sets. Made once per
 * communicator and configuration, and kept for the life of the process. */
#ifndef RSET_TEAM_H
#define RSET_TEAM_H

#include "comm/comm.h"
#include "config.h"
#include "layout/layout.h"
#include "rendezvous/meet.h"

typedef struct rset_team {
    rset_comm    *comm; /* private duplicate of the application's communicator */
    rset_meeting *meeting;
    char          host[RSET_HOST_NAME];
    bool          end_told; /* that nobody asks the others any more, see rset_comm_set_aside */
} rset_team;

/* The team for config->comm, if this process has an MPI to call now; *team_out is NULL if not (P10).
 * Waits at most config->timeout for the others' first coming: RSET_PEER after that, and at once
 * (*known_out) when the same - this operation, this kind of file - was waited for before
 * (an open of a protected file, `evidence`, then waits for a short time); *told_out: rank
 * 0 has waited too and tells the user. */
rset_status rset_team_get(const rset_config *config, rset_meet_op op, const char *kind,
                          bool evidence, rset_team **team_out, bool *known_out, bool *told_out,
                          rset_err *err);

/* The division for this configuration. Collective the first time, afterwards local: all ranks must
 * pass equal scheme, set size and parity (rset_meet has seen to that). RSET_USAGE on all ranks when a
 * set cannot carry the scheme. */
rset_status rset_team_layout(rset_team *team, const rset_config *config, rset_layout **layout_out,
                             rset_err *err);

/* This process's host name, cut to RSET_HOST_NAME - 1 bytes. */
void rset_host_name(char host_out[RSET_HOST_NAME]);

#endif
