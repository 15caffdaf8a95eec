/* launch.h: what the launcher of the job says of a process, before MPI_Init and where the program has no MPI. */
#ifndef TEST_LAUNCH_H
#define TEST_LAUNCH_H

#include <stdlib.h>

/* The rank of this process, by the words of Open MPI, PMIx and MPICH; -1: no launcher has started it. */
static inline int
launch_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]) != NULL)
            return atoi(getenv(names[i]));
    return -1;
}

#endif
