/* comm_mpi_dup.h: duplicating a communicator of the application without waiting for ever, and without
 * its error handler, which may end the process (P5, P6). For comm_mpi.c, and for rset_mpi_shared
 * (comm_mpi.h).
 *
 * Duplicates are never freed, nor in MPI_Finalize, where MPI lets go of all that it has. A rank cannot know that no
 * other sends to it any more. What arrives for a communicator that is gone Open MPI (4.1.4, 5.0.7) delivers to the
 * next one that gets its number, perhaps one of the application's, which is then lost for good: messages that were
 * counted twice keep the next ones waiting for ever. MPICH (from 4.1 on) ends the job when it frees a communicator
 * for which a message has come that nobody has taken; that a message is under way is seen by nobody who asks. */
#ifndef RSET_COMM_MPI_DUP_H
#define RSET_COMM_MPI_DUP_H

#include "common/err.h"

#include <mpi.h>
#include <stdbool.h>

/* A duplicate, perhaps under way. Begin with zeros. */
typedef struct rset_dup {
    MPI_Comm    comm; /* valid once rset_mpi_dup has returned RSET_OK; its errors are returned */
    MPI_Request pending;
    bool        begun, ready, broken;
} rset_dup;

/* Collective over `from`, in that every rank has to call it, but waits for the others at most `timeout`
 * seconds; the next call goes on with that. Not RSET_OK: *dup must stay where it is for ever, MPI may
 * still write to it. `not_done` completes "not all ranks of the communicator have ...". */
rset_status rset_mpi_dup(rset_dup *dup, MPI_Comm from, double timeout, const char *not_done,
                         rset_err *err);

/* Is it a communicator that ranks can protect files with? RSET_USAGE: it is MPI_COMM_NULL, or has two groups. Local. */
rset_status rset_mpi_check(MPI_Comm given, rset_err *err);

/* Errors on a communicator of the application are returned from here on, until unhush. Local. */
typedef struct rset_hush {
    MPI_Comm       comm;
    MPI_Errhandler theirs;
    bool           done;
} rset_hush;
rset_hush rset_mpi_hush(MPI_Comm comm);
void      rset_mpi_unhush(rset_hush *hush);

#endif
