/* report.h: what protecting has cost, told to the user at the end (report=). No HDF5 and no MPI here.
 *
 * In MPI_Finalize the ranks of each communicator add up their figures (stats.h), and rank 0 writes one table for each kind
 * of file: how much, the mean of the ranks, the worst, who that is, and who is the latest. Without MPI, or where
 * MPI_Finalize is never called, a process writes its own figures when it exits. A report that cannot be written is a
 * warning, and nothing else fails. */
#ifndef RSET_REPORT_H
#define RSET_REPORT_H

#include "comm/comm.h"
#include "stats.h"

/* The files of `place` (rset_stats_add) shall be reported: to a file of that name, which is appended to, or to standard
 * error for "stderr"; "" says nothing. The first who says something counts. Local. */
void rset_report_want(const void *place, const char *to);

/* No more files of `place` come. `comm`: its ranks, all of which call this; NULL: nobody is asked, and this rank tells
 * what it knows itself. `host` and `rank`: this rank's, in MPI_COMM_WORLD. `began`: when this rank began to end it, by
 * rset_clock; from then on comm->timeout is waited for those who do not come, and a second more at most (P5). Collective
 * over `comm`. */
void rset_report_end(const void *place, rset_comm *comm, const char *host, int rank, double began);

#endif
