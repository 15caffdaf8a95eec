/* comm_mpi_forked.c: see comm_mpi_forked.h. MPI itself does not say which process has initialised it, and this plugin may be
 * loaded at any time: before a fork or in the child, before MPI_Init or after.
 *
 *   was here when the process was forked      looks at MPI right before the fork
 *   has seen this process without MPI         it is its own
 *   is loaded when MPI is initialised         a process that has executed a program since it was forked, as every rank that a
 *                                             launcher starts, has initialised it itself. Of others that is believed only if
 *                                             the process that forked it is seen not to have the MPI library */
#include "comm_mpi_forked.h"

#include "store/process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "comm_mpi_calls.h"

typedef enum { NOT_YET, OWN, INHERITED } whose;

/* What is known, and of which process: its number, shifted, and whose MPI it has. 0: nothing. */
static _Atomic uint64_t known;

static uint64_t
of_this_process(whose is)
{
    return (uint64_t)getpid() << 2 | is;
}

static bool
is_initialized(void)
{
    int initialized = 0;

    return rset_mpi_found() && MPI_Initialized(&initialized) == MPI_SUCCESS && initialized;
}

/* Nothing was here when this process was forked. */
static whose
find_out(void)
{
    const void *mpi;

    memcpy(&mpi, &(int (*)(int *)){MPI_Initialized}, sizeof mpi);
    return !rset_process_is_forked() || rset_process_has_loaded(mpi) ? OWN : INHERITED;
}

static whose
look(void)
{
    const uint64_t was = atomic_load(&known);
    const bool     here = was >> 2 == (uint64_t)getpid();
    whose          is = (whose)(was & 3);

    if (here && is != NOT_YET)
        return is;
    if (!is_initialized())
        is = NOT_YET;
    else if (here)
        is = OWN;
    else
        is = is != NOT_YET ? INHERITED : find_out();
    atomic_store(&known, of_this_process(is));
    return is;
}

bool
rset_mpi_is_inherited(void)
{
    return look() == INHERITED;
}

/* ---- forks ---- */

static void
before_fork(void)
{
    (void)look();
}

/* Without a question to anybody: other threads, which are not here, may have been in the middle of anything. */
static void
in_child(void)
{
    atomic_store(&known,
                 of_this_process((atomic_load(&known) & 3) != NOT_YET ? INHERITED : NOT_YET));
    rset_mpi_found_in_child();
}

__attribute__((constructor)) static void
watch(void)
{
    (void)pthread_atfork(before_fork, NULL, in_child);
    (void)look();
}
