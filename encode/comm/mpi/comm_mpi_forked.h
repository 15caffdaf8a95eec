/* comm_mpi_forked.h: a child that was forked has the memory of a rank but not its place in the job: MPI is not its to call. */
#ifndef RSET_COMM_MPI_FORKED_H
#define RSET_COMM_MPI_FORKED_H

#include <stdbool.h>

/* Was the MPI that is initialised here initialised by a process that this one was forked from? False before MPI_Init. To be called
 * where rset_mpi_found. Calls nothing of MPI but MPI_Initialized. */
bool rset_mpi_is_inherited(void);

#endif
