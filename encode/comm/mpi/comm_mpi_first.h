/* comm_mpi_first.h: all ranks of a communicator of the application have come, before anything
 * collective is called on it. Part of comm_mpi.c.
 *
 * MPI wants collective calls on a communicator in the same order on all ranks, MPI_Comm_idup among
 * them. A rank that alone duplicates MPI_COMM_WORLD, for a file that only it opens, breaks what the
 * application calls next: MPI_Comm_split hangs, MPI_Iallreduce gives a wrong sum (Open MPI 4.1.4).
 * So ranks report to rank 0 first, in messages under a tag of their own, and only when all wait here
 * at the same time they call MPI_Comm_idup. Rank 0 sends to ranks that wait only; what another rank
 * has sent to a rank 0 that does not come stays there, and could be taken by a receive of any tag from
 * any source (docs/behaviour.md). */
#ifndef RSET_COMM_MPI_FIRST_H
#define RSET_COMM_MPI_FIRST_H

#include "comm_mpi.h"

#include "common/err.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct rset_first rset_first;

/* `parent` must outlive it. RSET_NOMEM, RSET_PEER when MPI fails. */
rset_status rset_first_new(MPI_Comm parent, rset_first **out, rset_err *err);
void        rset_first_free(rset_first *first); /* NULL is accepted; MPI must still work */

/* RSET_OK: all ranks are in here now, and return RSET_OK too. RSET_PEER: some have not come within
 * `timeout` seconds; may be called again. Rank 0 does not wait
 * for a rank that has failed in purpose->what (only for those that have not), nor for the others where one has waited for that and gone on;
 * and those who wait for the same are answered with it. Where one of those that open files of one kind, rank 0 among them, waits no longer, none
 * of them does. */
rset_status rset_first_come(rset_first *first, double timeout, const rset_purpose *purpose,
                            rset_err *err);

/* Ranks that have come to open files of this kind, where others have not (rset_first_others), tell each other whether they need these.
 * Waits `timeout` seconds for them. RSET_PEER, with the message, in any case: rset_first_others says what came of it. */
rset_status rset_first_confer(rset_first *first, double timeout, bool needs, rset_err *err);
/* Tells what this rank knows of those that open files of its kind, once it was told that others have not come. */
rset_mpi_others rset_first_others(const rset_first *first);

/* This rank has failed, and will not come for `what`: rank 0 is told. Of rank 0 nobody is told. Waits for nobody. */
void rset_first_fail(rset_first *first, uint64_t what);
/* Why the ranks did not come together the last time (comm_mpi.h). */
rset_apart rset_first_apart(const rset_first *first);
/* After RSET_OK: have ranks come with different teams? The same on all. */
bool rset_first_teams(const rset_first *first);
/* Was it rank 0 that said so the last time? Then it knows itself. */
bool rset_first_told(const rset_first *first);

#endif
