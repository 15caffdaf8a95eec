/* finalize.h: files that are still open when the program calls MPI_Finalize. */
#ifndef RSET_FINALIZE_H
#define RSET_FINALIZE_H

#include <stdbool.h>

/* Has files that are open in MPI_Finalize protected there, as they will be when they are closed: after it,
 * nobody could be asked any more. What goes on in the background is waited for
 * there. Called for each file that is opened with MPI up; costs nothing after the first. False: it cannot be
 * done. */
bool rset_finalize_watch(void);

#endif
