/* comm_mpi_dup.c: see comm_mpi_dup.h. */
#include "comm_mpi_dup.h"

#include "comm_mpi.h"
#include "comm_mpi_fault.h"

#include <stdlib.h>

#include "comm_mpi_calls.h"

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
await(rset_dup *dup, MPI_Comm from, double timeout, const char *not_done, rset_err *err)
{
    static const char doing[] = "duplicating the communicator";
    const double      deadline = rset_clock() + timeout;
    rset_pause        pause = {0};
    int               done = 0, rc = MPI_SUCCESS;

    if (!dup->begun)
        rc = MPI_Comm_idup(from, &dup->comm, &dup->pending);
    dup->begun = true;
    for (;;) {
        const double now = rset_clock();

        if (rc == MPI_SUCCESS)
            rc = MPI_Test(&dup->pending, &done, MPI_STATUS_IGNORE);
        dup->broken = rc != MPI_SUCCESS || (!done && rset_mpi_whole(from, err) != RSET_OK);
        if (dup->broken)
            return rset_mpi_failed(from, rc, doing, err);
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
    rset_status st;

    if (dup->broken)
        return rset_fail(err, RSET_PEER, "duplicating the communicator has failed before");
    /* first: MPI_Comm_idup would print something, and fail without a reason */
    st = rset_mpi_whole(from, err);
    if (st != RSET_OK || dup->ready)
        return st;
    hush = rset_mpi_hush(from);
    st = await(dup, from, timeout, not_done, err);
    if (st == RSET_OK)
        (void)MPI_Comm_set_errhandler(dup->comm, MPI_ERRORS_RETURN);
    dup->ready = st == RSET_OK;
    rset_mpi_unhush(&hush);
    return st;
}

/* ---- what applications give ---- */

rset_status
rset_mpi_check(MPI_Comm given, rset_err *err)
{
    int inter = 0, rc;

    if (given == MPI_COMM_NULL)
        return rset_fail(err, RSET_USAGE, "the communicator given to redset is MPI_COMM_NULL");
    rc = MPI_Comm_test_inter(given, &inter);
    if (rc != MPI_SUCCESS)
        return rset_mpi_failed(given, rc, "looking at the communicator given to redset", err);
    if (inter)
        return rset_fail(
            err, RSET_USAGE,
            "the communicator given to redset is an intercommunicator; give one of the "
            "ranks that write the files, as MPI_Intercomm_merge makes it");
    return RSET_OK;
}

/* ---- the duplicate that belongs to a communicator: its attribute ---- */

static int keyval = MPI_KEYVAL_INVALID;

static int
forget(MPI_Comm from, int key, void *value, void *extra)
{
    rset_dup *dup = value;

    (void)from;
    (void)key;
    (void)extra;
    if (dup->ready)
        free(dup);
    return MPI_SUCCESS;
}

rset_status
rset_mpi_shared(const void *from, double timeout, const char *not_done, void *out, rset_err *err)
{
    MPI_Comm    given = *(const MPI_Comm *)from;
    rset_dup   *dup = NULL;
    rset_status st = rset_mpi_check(given, err);
    int         found = 0, rc = MPI_SUCCESS;

    if (st != RSET_OK)
        return st;
    if (keyval == MPI_KEYVAL_INVALID)
        rc = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &keyval, NULL);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_get_attr(given, keyval, &dup, &found);
    if (rc == MPI_SUCCESS && !found) {
        dup = calloc(1, sizeof *dup);
        if (dup == NULL)
            return rset_fail(err, RSET_NOMEM, "no memory for a communicator");
        rc = MPI_Comm_set_attr(given, keyval, dup);
    }
    if (rc != MPI_SUCCESS)
        return rset_mpi_failed(given, rc, "attaching redset to the communicator", err);
    st = rset_mpi_dup(dup, given, timeout, not_done, err);
    if (st == RSET_OK)
        *(MPI_Comm *)out = dup->comm;
    return st;
}
