/* comm_local.h: a transport inside one process: each rank is a thread, messages go through memory.
 * For rebuilding without MPI (P10) and for tests of everything collective. */
#ifndef RSET_COMM_LOCAL_H
#define RSET_COMM_LOCAL_H

#include "comm.h"

/* Runs body(comm, arg) once per rank, each in a thread of its own (rank 0 in the caller's), and
 * returns when all are done. comm->size is `size`. RSET_NOMEM when threads or memory run out before
 * anything was run; the outcome of the bodies is theirs to report through `arg`. Threads have all
 * signals blocked and a small stack. */
rset_status rset_local_run(int size, double timeout, void (*body)(rset_comm *comm, void *arg),
                           void *arg, rset_err *err);

#endif
