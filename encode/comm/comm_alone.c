/* comm_alone.c: see comm_alone.h. */
#include "comm_alone.h"

static rset_status
nobody(rset_err *err)
{
    return rset_fail(err, RSET_BUG, "a process that is alone sends a message");
}

static rset_status
alone_send(void *self, const rset_message *message, rset_req *req, rset_err *err)
{
    (void)self;
    (void)message;
    (void)req;
    return nobody(err);
}

static rset_status
alone_test(void *self, rset_req *req, bool *done, rset_err *err)
{
    (void)self;
    *done = !req->active;
    return req->active ? nobody(err) : RSET_OK;
}

static rset_status
alone_test_all(void *self, rset_req *const *reqs, int n, rset_err *err)
{
    (void)self;
    (void)reqs;
    return n > 0 ? nobody(err) : RSET_OK;
}

/* Asked in a rendezvous: nothing ever comes. */
static rset_status
alone_poll(void *self, rset_message *message, bool *found_out, rset_err *err)
{
    (void)self;
    (void)message;
    (void)err;
    *found_out = false;
    return RSET_OK;
}

static bool
alone_cancel(void *self, rset_req *req)
{
    (void)self;
    req->active = false;
    return true;
}

static const rset_transport transport = {.isend = alone_send,
                                         .irecv = alone_send,
                                         .test = alone_test,
                                         .test_all = alone_test_all,
                                         .poll = alone_poll,
                                         .cancel = alone_cancel};

void
rset_comm_alone(rset_comm *comm, double timeout)
{
    rset_comm_init(comm, &transport, NULL, 0, 1, timeout);
    comm->spare = RSET_SPARE_NO; /* a program without MPI gets no threads from us */
}
