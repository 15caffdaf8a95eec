/* comm_mpi_fault.h: ranks that have died while the others live on, under an MPI with fault tolerance
 * (ULFM: Open MPI 5 started with --with-ft ulfm). Part of comm_mpi.c; with another MPI nothing is ever
 * found here.
 *
 * MPI itself reports a death only to who talks to the dead: a probe for messages of anybody finds none,
 * and who waits for a rank that waits for the dead waits on (Open MPI 5.0.7). So whoever waits asks here
 * as well: a communicator of which a rank is dead is of no use for files that all protect together. */
#ifndef RSET_COMM_MPI_FAULT_H
#define RSET_COMM_MPI_FAULT_H

#include "common/err.h"

#include <mpi.h>

/* RSET_OK, or RSET_PEER when a rank of `comm` is known to have died, or the program has revoked it; the
 * message names the ranks, and says how to go on. Local, well below a microsecond. */
rset_status rset_mpi_whole(MPI_Comm comm, rset_err *err);

/* Records that MPI has failed at `what` on `comm`: because of a dead rank, or as MPI says; RSET_PEER. */
rset_status rset_mpi_failed(MPI_Comm comm, int rc, const char *what, rset_err *err);

#endif
