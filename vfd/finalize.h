/* finalize.h: files that are still open when the program calls MPI_Finalize. */
#ifndef RSET_FINALIZE_H
#define RSET_FINALIZE_H

/* Has files that are open in MPI_Finalize protected there, as they will be when they are closed: after it,
 * nobody could be asked any more. Called for each file that is opened with MPI up; costs nothing after the
 * first. */
void rset_finalize_watch(void);

#endif
