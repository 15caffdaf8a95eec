/* preload_busy.c - for LD_PRELOAD: whoever asks MPI whether something is complete stays in MPI for most of the time. */
#include <mpi.h>

enum { TIMES = 2000 };

int
MPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
    int rc = PMPI_Test(request, done, status);

    for (int i = 0; i < TIMES && rc == MPI_SUCCESS && !*done; i++)
        rc = PMPI_Test(request, done, status);
    return rc;
}

int
MPI_Testsome(int n, MPI_Request *requests, int *ndone, int *which, MPI_Status *statuses)
{
    int rc = PMPI_Testsome(n, requests, ndone, which, statuses);

    for (int i = 0; i < TIMES && rc == MPI_SUCCESS && *ndone == 0; i++)
        rc = PMPI_Testsome(n, requests, ndone, which, statuses);
    return rc;
}
