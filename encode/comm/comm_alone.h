/* comm_alone.h: a transport of one rank, which never sends: a file that one process protects by itself goes through the same
 * code as those of many ranks, and nobody is waited for. No thread is started, and MPI is not called. */
#ifndef RSET_COMM_ALONE_H
#define RSET_COMM_ALONE_H

#include "comm.h"

/* A communicator of one rank, this process. `timeout` in seconds, as for rset_comm_init. To be freed with rset_comm_free.
 * Local; fails never. Whoever sends over it nevertheless gets RSET_BUG. */
void rset_comm_alone(rset_comm *comm, double timeout);

#endif
