/* comm_hosted.h: more ranks than there are processes: each process hosts some of them, as threads. So the files of a job are
 * recovered by the code that its ranks would run, when fewer processes, or others, have come. */
#ifndef RSET_COMM_HOSTED_H
#define RSET_COMM_HOSTED_H

#include "comm.h"

/* Runs body(comm, arg) once for each rank that this process hosts, each in a thread of its own, and returns when those of all
 * processes are done. `outer`: of the processes; no subset, and used by nobody else meanwhile; its calls are made in this
 * thread only. host_of[r], of `ranks`: rank of `outer` that hosts rank r, the same on all of them; some may host none.
 * comm->timeout is that of `outer`. Messages that a thread gets from ranks of other processes are as those of threads, one
 * copy more. `own`: this process's failure so far, with its message in *err: then nothing is run anywhere.
 * RSET_NOMEM, or RSET_PEER where the processes lose each other: threads are told too; else the outcome of the bodies is
 * theirs to report through `arg`. Collective over outer. */
typedef struct rset_hosting {
    rset_comm  *outer;
    int         ranks;
    const int  *host_of;
    const char *host; /* name of this process's */
    rset_status own;
} rset_hosting;
rset_status rset_hosted_run(const rset_hosting *how, void (*body)(rset_comm *comm, void *arg),
                            void *arg, rset_err *err);

#endif
