/* comm_mpi_side.h: what comm_mpi.c, which makes private communicators, comm_mpi_team.c, which divides them, and
 * comm_mpi_send.c, which sends over them, share. Nobody else includes this. */
#ifndef RSET_COMM_MPI_SIDE_H
#define RSET_COMM_MPI_SIDE_H

#include "comm/comm.h"
#include "comm_mpi_dup.h"
#include "comm_mpi_first.h"

/* Our side of a communicator of the application; its attribute. Never freed, because files that are
 * closed after MPI_Finalize still ask their rset_comm. */
typedef struct rset_side {
    struct rset_side *next;
    uintptr_t         id;
    rset_first       *first; /* until all ranks have come */
    rset_dup          dup;   /* once they have */
    bool              ready; /* dup is there, comm is initialised */
    bool              teams; /* all have come, with different teams */
    uint64_t          team;  /* that this process has come with */
    bool              gone;  /* the parent is freed or MPI finalised: no MPI call any more */
    rset_comm         all; /* where there are teams: all ranks, while they tell each other theirs */
    rset_comm         comm; /* those of this process's team */
} rset_side;

/* Over side->dup.comm; `self` is the side. */
extern const rset_transport rset_mpi_transport;

/* All ranks have come, and are of several teams: from now on side->comm, which has all ranks, has those of side->team only. Collective;
 * waits for others at most `timeout` seconds. After a failure side->comm is dead: RSET_PEER, RSET_NOMEM. */
rset_status rset_side_divide(rset_side *side, double timeout, rset_err *err);

#endif
