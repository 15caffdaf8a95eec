/* comm.c: see comm.h. Waiting, giving up and point to point, on a communicator that comm_wait.c makes; collectives are
 * in comm_coll.c. */
#include "comm_internal.h"

#include "common/phases.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- waiting ---- */

static rset_status
wait_within(rset_comm *comm, rset_req *req, double seconds, const char *who, const char *doing,
            rset_err *err)
{
    const double deadline = rset_clock() + seconds;
    rset_pause   pause = {.until = deadline};

    for (;;) {
        /* Taken before the look: a process that was stopped for long looks once more. */
        const double now = rset_clock();
        bool         done = false;
        rset_status  st = rset_comm_test(comm, req, &done, err);

        if (st != RSET_OK || done)
            return st;
        if (now > deadline)
            break;
        rset_pause_once(&pause);
    }
    req->active = !rset_comm_cancel(comm, req);
    return rset_comm_revoke(
        comm, err,
        "gave up after %g s of waiting for %s to %s; it may have died or hang, or "
        "does not take part; nothing was agreed, see why and run again",
        seconds, who, doing);
}

rset_status
rset_comm_wait_for(rset_comm *comm, rset_req *req, double seconds, const char *who,
                   const char *doing, rset_err *err)
{
    const rset_phase  before = rset_phase_enter(RSET_PHASE_WAIT);
    const rset_status st = wait_within(comm, req, seconds, who, doing, err);

    rset_phase_leave(before);
    return st;
}

rset_status
rset_comm_wait(rset_comm *comm, rset_req *req, int peer, const char *doing, rset_err *err)
{
    char who[32];

    snprintf(who, sizeof who, "rank %d", rset_comm_world(comm, peer));
    return rset_comm_wait_for(comm, req, comm->timeout, who, doing, err);
}

/* ---- giving up ---- */

/* Marks the communicator and its parents; true when that is news. */
static bool
mark_dead(rset_comm *comm, const char *why)
{
    const bool news = rset_comm_usable(comm, NULL) == RSET_OK;

    for (; comm != NULL; comm = comm->parent) {
        if (comm->dead)
            continue;
        comm->dead = true;
        snprintf(comm->why, sizeof comm->why, "%s", why);
    }
    return news;
}

static void
give_up(rset_comm *comm, const char *why)
{
    if (!mark_dead(comm, why))
        return;
    for (; comm != NULL; comm = comm->parent)
        rset_coll_tell(comm, why);
}

rset_status
rset_comm_revoke(rset_comm *comm, rset_err *err, const char *fmt, ...)
{
    char    why[RSET_ERR_TEXT];
    va_list args;

    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    give_up(comm, why);
    (void)rset_fail(err, RSET_PEER, "%s", why);
    return RSET_PEER;
}

rset_status
rset_comm_usable(const rset_comm *comm, rset_err *err)
{
    for (; comm != NULL; comm = comm->parent)
        if (comm->dead) {
            (void)rset_fail(
                err, RSET_PEER,
                "the other ranks are not asked until all are there again, since this: %s",
                comm->why);
            return RSET_PEER;
        }
    return RSET_OK;
}

/* ---- point to point ---- */

/* The transport has failed, for a reason of its own or for want of memory. In either case a message
 * is missing now, and what follows would be misunderstood. */
static rset_status
transport_failed(rset_comm *comm, const rset_err *why, rset_err *err)
{
    give_up(comm, why->text);
    (void)rset_fail_as(err, why);
    return why->status;
}

/* The same message in ranks of the transport. */
static rset_status
in_world(const rset_comm *comm, const rset_message *message, rset_message *out, rset_err *err)
{
    const rset_status st = rset_comm_usable(comm, err);

    if (st != RSET_OK)
        return st;
    if (message->peer < 0 || message->peer >= comm->size)
        return rset_fail(err, RSET_BUG, "there is no rank %d among %d", message->peer, comm->size);
    *out = *message;
    out->peer = rset_comm_world(comm, message->peer);
    out->tag = rset_comm_tag(comm, message->tag);
    return RSET_OK;
}

rset_status
rset_comm_isend(rset_comm *comm, const rset_message *message, rset_req *req, rset_err *err)
{
    rset_err     why = RSET_ERR_NONE;
    rset_message out;
    rset_status  st = in_world(comm, message, &out, err);

    if (st != RSET_OK)
        return st;
    if (comm->transport->isend(comm->self, &out, req, &why) != RSET_OK)
        return transport_failed(comm, &why, err);
    for (rset_comm *c = comm; c != NULL; c = c->parent) {
        c->sent_messages++;
        c->sent_bytes += message->len;
    }
    return RSET_OK;
}

rset_status
rset_comm_irecv(rset_comm *comm, const rset_message *message, rset_req *req, rset_err *err)
{
    rset_err     why = RSET_ERR_NONE;
    rset_message in;
    rset_status  st = in_world(comm, message, &in, err);

    if (st != RSET_OK)
        return st;
    if (comm->transport->irecv(comm->self, &in, req, &why) != RSET_OK)
        return transport_failed(comm, &why, err);
    req->receives = true;
    return RSET_OK;
}

static void
count_received(rset_comm *comm, size_t len)
{
    for (; comm != NULL; comm = comm->parent) {
        comm->received_messages++;
        comm->received_bytes += len;
    }
}

/* Counts it once. */
static void
request_is_over(rset_comm *comm, rset_req *req)
{
    if (req->receives)
        count_received(comm, req->got);
    req->receives = false;
}

rset_status
rset_comm_test(rset_comm *comm, rset_req *req, bool *done, rset_err *err)
{
    rset_err    why = RSET_ERR_NONE;
    rset_status st = rset_comm_usable(comm, err);

    *done = false;
    if (st != RSET_OK)
        return st;
    if (comm->transport->test(comm->self, req, done, &why) != RSET_OK)
        return transport_failed(comm, &why, err);
    if (*done)
        request_is_over(comm, req);
    return RSET_OK;
}

rset_status
rset_comm_test_all(rset_comm *comm, rset_req *const *reqs, int n, bool *moved, rset_err *err)
{
    rset_err    why = RSET_ERR_NONE;
    rset_status st = rset_comm_usable(comm, err);

    if (st != RSET_OK || n == 0)
        return st;
    if (comm->transport->test_all(comm->self, reqs, n, &why) != RSET_OK)
        return transport_failed(comm, &why, err);
    for (int i = 0; i < n; i++) {
        if (reqs[i]->active)
            continue;
        request_is_over(comm, reqs[i]);
        *moved = true;
    }
    return RSET_OK;
}

bool
rset_comm_cancel(rset_comm *comm, rset_req *req)
{
    return !req->active || comm->transport->cancel(comm->self, req);
}

rset_status
rset_comm_poll(rset_comm *comm, rset_message *message, bool *found_out, rset_err *err)
{
    const int   tag = message->tag;
    rset_err    why = RSET_ERR_NONE;
    rset_status st = rset_comm_usable(comm, err);

    *found_out = false;
    if (st != RSET_OK)
        return st;
    message->tag = rset_comm_tag(comm, tag);
    st = comm->transport->poll(comm->self, message, found_out, &why);
    message->tag = tag;
    if (st != RSET_OK)
        return transport_failed(comm, &why, err);
    if (!*found_out)
        return RSET_OK;
    count_received(comm, message->len);
    message->peer = rset_comm_rank_of(comm, message->peer);
    return RSET_OK;
}
