/* comm_mpi_send.c: the transport over MPI, see comm_mpi_side.h.
 *
 * Only non-blocking calls: a rank that died or never comes must not hold up the others (P5). */
#include "comm_mpi_fault.h"
#include "comm_mpi_side.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "comm_mpi_calls.h"

_Static_assert(sizeof(MPI_Request) <= sizeof(uintptr_t), "rset_req.h holds an MPI_Request");

static rset_status
check_side(const rset_side *me, rset_err *err)
{
    return me->gone ? rset_fail(err, RSET_PEER, "%s", me->comm.why) : RSET_OK;
}

static void
keep(rset_req *req, MPI_Request request)
{
    req->h = 0;
    memcpy(&req->h, &request, sizeof request);
}

static MPI_Request
kept(const rset_req *req)
{
    MPI_Request request;

    memcpy(&request, &req->h, sizeof request);
    return request;
}

/* What `got` is while a send is under way: an MPI_Request does not tell what it is. */
static const size_t sending = SIZE_MAX;

static rset_status
check_message(const rset_side *me, const rset_message *message, rset_err *err)
{
    rset_status st = check_side(me, err);

    if (st == RSET_OK && message->len > INT_MAX)
        st = rset_fail(err, RSET_BUG, "a message of %zu bytes is too long for MPI", message->len);
    return st;
}

static rset_status
mpi_isend(void *self, const rset_message *out, rset_req *req, rset_err *err)
{
    rset_side  *me = self;
    MPI_Request request = MPI_REQUEST_NULL;
    rset_status st = check_message(me, out, err);
    int         rc;

    *req = (rset_req){.got = sending};
    if (st != RSET_OK)
        return st;
    rc = MPI_Isend(out->data, (int)out->len, MPI_BYTE, out->peer, out->tag, me->dup.comm, &request);
    if (rc != MPI_SUCCESS)
        return rset_mpi_failed(me->dup.comm, rc, "sending to another rank", err);
    keep(req, request);
    req->active = true;
    return RSET_OK;
}

static rset_status
mpi_irecv(void *self, const rset_message *in, rset_req *req, rset_err *err)
{
    rset_side  *me = self;
    MPI_Request request = MPI_REQUEST_NULL;
    rset_status st = check_message(me, in, err);
    int         rc;

    *req = (rset_req){0};
    if (st != RSET_OK)
        return st;
    rc = MPI_Irecv(in->room, (int)in->len, MPI_BYTE, in->peer, in->tag, me->dup.comm, &request);
    if (rc != MPI_SUCCESS)
        return rset_mpi_failed(me->dup.comm, rc, "receiving from another rank", err);
    keep(req, request);
    req->active = true;
    return RSET_OK;
}

static bool
mpi_cancel(void *self, rset_req *req)
{
    const double deadline = rset_clock() + 0.01;
    rset_side   *me = self;
    bool         done = false;
    MPI_Request  request = kept(req);

    if (req->active && req->h == 0)
        return false; /* given up before, without success */
    /* A send cannot be called back (MPI 4.0, 3.8.4); it may be over in a moment, though. */
    if (req->active && !me->gone && req->got != sending)
        (void)MPI_Cancel(&request);
    while (req->active && !done && rset_clock() < deadline && !me->gone) {
        /* a truncated or failed message is over as well */
        if (MPI_Test(&request, (int[]){0}, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            done = true;
        done = done || request == MPI_REQUEST_NULL;
    }
    req->active = false;
    req->h = 0;
    if (!done && !me->gone)
        (void)MPI_Request_free(&request);
    return done;
}

/* A request that MPI has brought to its end. */
static rset_status
take_done(const rset_side *me, rset_req *req, const MPI_Status *status, rset_err *err)
{
    int count = 0;

    req->active = false;
    if (req->got == sending) {
        req->got = 0;
        return RSET_OK;
    }
    if (MPI_Get_count(status, MPI_BYTE, &count) != MPI_SUCCESS || count < 0)
        return rset_fail(err, RSET_PEER,
                         "a message of unknown length came on communicator of rank %d",
                         me->comm.rank);
    req->got = (size_t)count;
    return RSET_OK;
}

static rset_status
mpi_test(void *self, rset_req *req, bool *done, rset_err *err)
{
    rset_side  *me = self;
    MPI_Request request = kept(req);
    MPI_Status  status = {0};
    int         rc, flag = 0;

    *done = true;
    if (!req->active)
        return RSET_OK;
    if (check_side(me, err) != RSET_OK)
        return RSET_PEER;
    rc = MPI_Test(&request, &flag, &status);
    if (rc != MPI_SUCCESS) {
        req->active = false;
        return rset_mpi_failed(me->dup.comm, rc, "exchanging messages with another rank", err);
    }
    keep(req, request);
    *done = flag != 0;
    if (!*done && rset_mpi_whole(me->dup.comm, err) != RSET_OK) {
        req->active = !mpi_cancel(self, req);
        return RSET_PEER;
    }
    if (!*done)
        return RSET_OK;
    return take_done(me, req, &status, err);
}

static rset_status
mpi_test_all(void *self, rset_req *const *reqs, int n, rset_err *err)
{
    rset_side  *me = self;
    MPI_Request requests[RSET_TEST_MOST];
    MPI_Status  statuses[RSET_TEST_MOST];
    int         done[RSET_TEST_MOST], ndone = 0, rc;
    rset_status st = check_side(me, err);

    assert(n <= RSET_TEST_MOST); /* I5 */
    if (st != RSET_OK)
        return st;
    for (int i = 0; i < n; i++)
        requests[i] = kept(reqs[i]);
    rc = MPI_Testsome(n, requests, &ndone, done, statuses);
    for (int i = 0; i < n; i++)
        keep(reqs[i], requests[i]);
    for (int i = 0; rc != MPI_SUCCESS && i < n; i++) /* those are over, well or badly */
        if (requests[i] == MPI_REQUEST_NULL)
            reqs[i]->active = false;
    if (rc != MPI_SUCCESS)
        return rset_mpi_failed(me->dup.comm, rc, "exchanging messages with another rank", err);
    for (int i = 0; st == RSET_OK && i < ndone; i++)
        st = take_done(me, reqs[done[i]], &statuses[i], err);
    return st == RSET_OK && ndone == 0 ? rset_mpi_whole(me->dup.comm, err) : st;
}

/* Looks for a message with this tag from anyone: then its peer and its length are known. */
static rset_status
probe(const rset_side *me, rset_message *message, bool *found_out, rset_err *err)
{
    MPI_Status status = {0};
    int        flag = 0, count = 0, rc;

    rc = MPI_Iprobe(MPI_ANY_SOURCE, message->tag, me->dup.comm, &flag, &status);
    if (rc == MPI_SUCCESS && flag)
        rc = MPI_Get_count(&status, MPI_BYTE, &count);
    if (rc != MPI_SUCCESS || count < 0)
        return rset_mpi_failed(me->dup.comm, rc, "looking for messages of other ranks", err);
    *found_out = flag != 0;
    message->peer = status.MPI_SOURCE;
    message->len = (size_t)count;
    return flag ? RSET_OK : rset_mpi_whole(me->dup.comm, err);
}

/* Receives what MPI_Iprobe has announced. Into memory of our own, which is the caller's after success, and not with
 * MPI_Recv: the rest of a long message comes only while its sender lives. */
static rset_status
take_announced(rset_side *me, rset_message *message, rset_err *err)
{
    const double until = rset_clock() + me->comm.timeout;
    rset_pause   pause = {0};
    rset_req     req = {0};
    rset_status  st;
    bool         done = false;

    message->room = malloc(message->len > 0 ? message->len : 1);
    if (message->room == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for a message of %zu bytes", message->len);
    st = mpi_irecv(me, message, &req, err);
    while (st == RSET_OK && !done) {
        const double now = rset_clock(); /* before the look: who was stopped looks once more */

        st = mpi_test(me, &req, &done, err);
        if (st == RSET_OK && !done && now > until) {
            req.active = !mpi_cancel(me, &req);
            st = rset_fail(err, RSET_PEER,
                           "gave up after %g s of waiting for rank %d to complete a message",
                           me->comm.timeout, message->peer);
        }
        if (st == RSET_OK && !done)
            rset_pause_once(&pause);
    }
    if (st != RSET_OK && !req.active) /* else MPI may still write to it: leaked on purpose */
        free(message->room);
    return st;
}

static rset_status
mpi_poll(void *self, rset_message *in, bool *found_out, rset_err *err)
{
    rset_side   *me = self;
    rset_message came = {.tag = in->tag};
    rset_err     own = RSET_ERR_NONE;
    bool         found = false;
    rset_status  st = check_side(me, err);

    *found_out = false;
    if (st == RSET_OK)
        st = probe(me, &came, &found, err);
    if (st != RSET_OK || !found)
        return st;
    st = take_announced(me, &came, &own);
    if (st ==
        RSET_NOMEM) /* it stays with MPI until the next look: who sent it waits for an answer */
        return RSET_OK;
    if (st != RSET_OK)
        return rset_fail_as(err, &own);
    if (came.len > in->len) {
        st = rset_fail(err, RSET_PEER, "rank %d sent %zu bytes where at most %zu make sense",
                       came.peer, came.len, in->len);
    } else {
        memcpy(in->room, came.room, came.len);
        in->peer = came.peer;
        in->len = came.len;
        *found_out = true;
    }
    free(came.room);
    return st;
}

const rset_transport rset_mpi_transport = {mpi_isend,    mpi_irecv, mpi_test,
                                           mpi_test_all, mpi_poll,  mpi_cancel};
