/* preload_limit.c - for LD_PRELOAD: from MPI_Init on, which makes files of its own, one rank may make no file of more than so many bytes.
 *
 *   LIMIT_RANK=N LIMIT_BYTES=M
 *
 * How the process handles SIGXFSZ is not touched: it would end it. */
#include "launch.h"
#include "preload.h"

#include <mpi.h>
#include <stdlib.h>
#include <sys/resource.h>

int
MPI_Init(int *argc, char ***argv)
{
    const char   *mine = getenv("LIMIT_RANK"), *most = getenv("LIMIT_BYTES");
    const int     rc = PMPI_Init(argc, argv);
    struct rlimit limit;

    if (most != NULL && *most != '\0' && mine != NULL && launch_rank() == atoi(mine) &&
        getrlimit(RLIMIT_FSIZE, &limit) == 0) {
        limit.rlim_cur = (rlim_t)strtoull(most, NULL, 10);
        (void)setrlimit(RLIMIT_FSIZE, &limit);
    }
    return rc;
}
