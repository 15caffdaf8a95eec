/* comm_mpi_dup.c: see comm_mpi_dup.h. */
#include "comm_mpi_dup.h"

#include "comm.h"

#include <stdio.h>

#include "comm_mpi_weak.h"

rset_status
rset_mpi_failed(int rc, const char *what, rset_err *err)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int  len = 0;

    if (MPI_Error_string(rc, text, &len) != MPI_SUCCESS || len == 0)
        snprintf(text, sizeof text, "MPI error %d", rc);
    return rset_fail(err, RSET_PEER, "%s failed: %s", what, text);
}

rset_hush
rset_mpi_hush(MPI_Comm comm)
{
    rset_hush hush = {.comm = comm};

    hush.done = MPI_Comm_get_errhandler(comm, &hush.theirs) == MPI_SUCCESS;
    if (hush.done)
        (void)MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return hush;
}

void
rset_mpi_unhush(rset_hush *hush)
{
    if (!hush->done)
        return;
    (void)MPI_Comm_set_errhandler(hush->comm, hush->theirs);
    (void)MPI_Errhandler_free(&hush->theirs);
    hush->done = false;
}

static rset_status
failed(rset_dup *dup, int rc, rset_err *err)
{
    dup->broken = true;
    return rset_mpi_failed(rc, "duplicating the communicator", err);
}

static rset_status
await(rset_dup *dup, double timeout, const char *not_done, rset_err *err)
{
    const double deadline = rset_clock() + timeout;
    rset_pause   pause = {0};
    int          done = 0;

    for (;;) {
        const double now = rset_clock();
        const int    rc = MPI_Test(&dup->pending, &done, MPI_STATUS_IGNORE);

        if (rc != MPI_SUCCESS)
            return failed(dup, rc, err);
        if (done)
            return RSET_OK;
        if (now > deadline)
            return rset_fail(err, RSET_PEER, "after %g s not all ranks of the communicator have %s",
                             timeout, not_done);
        rset_pause_once(&pause);
    }
}

rset_status
rset_mpi_dup(rset_dup *dup, MPI_Comm from, double timeout, const char *not_done, rset_err *err)
{
    rset_hush   hush;
    rset_status st = RSET_OK;
    int         rc = MPI_SUCCESS;

    if (dup->broken)
        return rset_fail(err, RSET_PEER, "duplicating the communicator has failed before");
    hush = rset_mpi_hush(from);
    if (!dup->begun)
        rc = MPI_Comm_idup(from, &dup->comm, &dup->pending);
    dup->begun = true;
    st = rc == MPI_SUCCESS ? await(dup, timeout, not_done, err) : failed(dup, rc, err);
    if (st == RSET_OK)
        (void)MPI_Comm_set_errhandler(dup->comm, MPI_ERRORS_RETURN);
    rset_mpi_unhush(&hush);
    return st;
}
