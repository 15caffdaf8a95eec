/* comm_mpi_up.c: may MPI be called? Asked before every use of it (P10, T6, T8, T20). See comm_mpi.h. */
#include "comm_mpi.h"

#include "comm_mpi_forked.h"

#include "comm_mpi_calls.h"

bool
rset_mpi_running(void)
{
    int initialized = 0, finalized = 0;

    if (!rset_mpi_found() || rset_mpi_is_inherited())
        return false;
    if (MPI_Initialized(&initialized) != MPI_SUCCESS || !initialized)
        return false;
    return MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized;
}

/* What a forked child has inherited says the same of its parent. */
bool
rset_mpi_never(void)
{
    int initialized = 0;

    if (!rset_mpi_found())
        return !rset_mpi_other_runs();
    return MPI_Initialized(&initialized) == MPI_SUCCESS && !initialized;
}

#ifdef OPEN_MPI
#define BUILT_FOR "Open MPI"
#else
#define BUILT_FOR "MPICH, or an MPI of the same binary interface"
#endif

const char *
rset_mpi_why_not(bool *other_out)
{
    const bool other = rset_mpi_other_runs();

    if (other_out != NULL)
        *other_out = other;
    if (other)
        return "uses another MPI than the one that this plugin was built for, which is " BUILT_FOR
               "; put the plugin that was built for its MPI into HDF5_PLUGIN_PATH";
    if (!rset_mpi_found())
        return "has no MPI";
    return rset_mpi_is_inherited()
               ? "was forked from one that has called MPI_Init, and is no rank itself"
               : "has not called MPI_Init, or has called MPI_Finalize";
}

bool
rset_mpi_usable(void)
{
    int level = MPI_THREAD_SINGLE, is_main = 0;

    if (!rset_mpi_running())
        return false;
    if (MPI_Query_thread(&level) != MPI_SUCCESS)
        return false;
    if (level >= MPI_THREAD_SERIALIZED)
        return true;
    return MPI_Is_thread_main(&is_main) == MPI_SUCCESS && is_main;
}

bool
rset_mpi_any_thread(void)
{
    int level = MPI_THREAD_SINGLE;

    return MPI_Query_thread(&level) == MPI_SUCCESS && level >= MPI_THREAD_MULTIPLE;
}

int
rset_mpi_world_rank(void)
{
    int rank = 0;

    if (rset_mpi_usable())
        (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}
