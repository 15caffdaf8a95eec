/* job.h: the processes of this run: one alone, or those that mpiexec has started, on many nodes. */
#ifndef JOB_H
#define JOB_H

#include "comm/comm.h"
#include "sighting.h"

struct waiting;

typedef struct job {
    int        rank, size;
    rset_comm *comm; /* of all processes; NULL: alone */
    char       host[RSET_HOST_NAME];
    char (*hosts)[RSET_HOST_NAME]; /* of each process; owned */
    struct waiting *wait;          /* wait.h; NULL: what another process has in use is refused */
} job;

/* Is this the process that speaks to the user? Known before job_begin. */
bool job_speaks(void);

/* Starts MPI where a launcher has started this process, and only there: alone no MPI call is ever made.
 * `timeout`: seconds that any of them waits for another. */
rset_status job_begin(job *j, double timeout, rset_err *err);
void        job_end(job *j);

/* All processes' sightings on each of them, doubles dropped. Collective. */
rset_status job_share(job *j, sightings *list, rset_err *err);

/* Prints what was done to a file, or is left of it; with the host where there are several processes. */
void job_tell(const job *j, const char *host, const char *path, const char *what);

/* Does a process run on that node? NULL: nobody knows which node it is. */
bool job_reaches(const job *j, const char *host);

/* The highest value that any process gives. Collective; -1 when that could not be found out. */
int job_most(job *j, int value);

#endif
