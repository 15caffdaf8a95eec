/* comm_step.c: the steps of a collective: sending packets over the edges of the tree (comm_tree.c), and waiting for them.
 *
 * Whatever fails on the way revokes the communicator (rset_comm_revoke), which tells the
 * neighbours in the tree; so the message spreads, and no rank waits for one that has given up (P5).
 * Lengths and texts from other ranks are checked before they are used. */
#include "comm_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[RSET_KINDS] = {"giving up", "agreeing", "gathering", "reducing",
                                                   "sending records"};
static const double      patience = 0.8; /* seconds on top of the timeout, for the whole tree */

/* How long to wait for a step that `before` others may have to give up on first. */
static double
seconds_for(const rset_comm *comm, int before)
{
    const int levels = rset_coll_levels(comm);

    return comm->timeout + (levels > 0 ? patience * before / (2 * levels) : 0);
}

static int
depth(int rank)
{
    return __builtin_popcount((unsigned)rank);
}

/* How many others may wait for the same before this rank waits for edge k. */
static int
before(const rset_comm *comm, int k)
{
    if (k >= RSET_RING)
        return k - RSET_RING;
    return k < 0 ? rset_coll_levels(comm) - 1 + depth(comm->rank) : k;
}

/* ---- beginning and ending ---- */

rset_status
rset_coll_begin(rset_comm *comm, rset_err *err)
{
    rset_status st = rset_comm_usable(comm, err);

    if (st != RSET_OK)
        return st;
    if (comm->coll == NULL && (comm->coll = calloc(1, sizeof *comm->coll)) == NULL) {
        (void)rset_comm_revoke(comm, NULL, "rank %d ran out of memory",
                               rset_comm_world(comm, comm->rank));
        return rset_fail(err, RSET_NOMEM, "no memory for talking to the other ranks");
    }
    comm->calls++;
    comm->coll->nsends = 0;
    comm->coll->in_ring = false;
    return RSET_OK;
}

bool
rset_coll_abandon(rset_comm *comm)
{
    struct rset_coll *coll = comm->coll;
    bool              safe = true;

    if (coll == NULL)
        return true;
    /* active after a failed wait: already cancelled, without success */
    safe = !coll->recv.active && safe;
    for (int i = 0; i < coll->nsends; i++)
        safe = rset_comm_cancel(comm, &coll->sends[i]) && safe;
    coll->nsends = 0;
    if (!safe)
        comm->coll = NULL; /* the transport may still use it: leaked on purpose */
    return safe;
}

rset_status
rset_coll_finish(rset_comm *comm, rset_err *err)
{
    struct rset_coll *coll = comm->coll;
    const double      seconds = seconds_for(comm, rset_coll_levels(comm) + depth(comm->rank));
    rset_status       st = RSET_OK;

    for (int i = 0; i < coll->nsends && st == RSET_OK; i++) {
        char who[32];

        snprintf(who, sizeof who, "rank %d", rset_comm_world(comm, coll->peers[i]));
        st = rset_comm_wait_for(comm, &coll->sends[i], seconds, who, "take a message", err);
    }
    return st;
}

/* ---- sending ---- */

static rset_status
send_one(rset_comm *comm, int to, const void *buf, size_t len, rset_err *err)
{
    const rset_message message = {.peer = to, .tag = RSET_TAG_COLL, .data = buf, .len = len};
    struct rset_coll  *coll = comm->coll;
    rset_req          *req = &coll->sends[coll->nsends];

    assert(coll->nsends < 2 * (RSET_TREE_MAX + 1)); /* C6 */
    *req = (rset_req){0};
    coll->peers[coll->nsends++] = to;
    return rset_comm_isend(comm, &message, req, err);
}

rset_status
rset_coll_send_packet(rset_comm *comm, int to, const rset_packet *packet, const void *body,
                      rset_err *err)
{
    rset_status st = send_one(comm, to, packet, rset_coll_packet_size(packet), err);

    if (st == RSET_OK && packet->len > sizeof packet->data)
        st = send_one(comm, to, body, (size_t)packet->len, err);
    return st;
}

rset_status
rset_coll_send_down(rset_comm *comm, const void *body, rset_err *err)
{
    rset_status st = RSET_OK;

    /* the largest subtree first */
    for (int k = RSET_TREE_MAX - 1; k >= 0 && st == RSET_OK; k--) {
        const int child = rset_coll_child(comm, comm->rank, k);

        if (child >= 0)
            st = rset_coll_send_packet(comm, child, &comm->coll->down, body, err);
    }
    return st;
}

/* ---- receiving ---- */

/* Who a neighbour answers for: in the tree as seen from below or above. */
static void
name_peer(const rset_comm *comm, int k, char *who, size_t size)
{
    const int from = rset_coll_neighbour(comm, k);
    const int last = k < 0 || k >= RSET_RING ? from : rset_coll_last(comm, from, k);

    if (last == from)
        snprintf(who, size, "rank %d", rset_comm_world(comm, from));
    else if (last == from + 1)
        snprintf(who, size, "rank %d (which also answers for rank %d)", rset_comm_world(comm, from),
                 rset_comm_world(comm, last));
    else
        snprintf(who, size, "rank %d (which also answers for ranks %d to %d)",
                 rset_comm_world(comm, from), rset_comm_world(comm, from + 1),
                 rset_comm_world(comm, last));
}

static rset_status
check_packet(rset_comm *comm, const rset_packet *in, size_t got, int kind, int from, rset_err *err)
{
    const int peer = rset_comm_world(comm, from);

    if (in->magic != RSET_PACKET_MAGIC || in->kind >= RSET_KINDS ||
        got != rset_coll_packet_size(in))
        return rset_comm_revoke(
            comm, err,
            "rank %d sent %zu bytes that make no sense; do all ranks run the same "
            "redset on the same kind of machine?",
            peer, got);
    if (in->kind == RSET_KIND_GIVEN_UP) {
        const rset_err why = rset_coll_unpack_err(in);

        return rset_comm_revoke(comm, err, "%s", why.text); /* its words name who is missing */
    }
    if (in->kind != (uint32_t)kind || in->call != comm->calls)
        return rset_comm_revoke(
            comm, err,
            "rank %d is %s (step %u) while rank %d is %s (step %u); do all ranks "
            "open and close the same files in the same order?",
            peer, kind_names[in->kind], in->call, rset_comm_world(comm, comm->rank),
            kind_names[kind], comm->calls);
    if (in->status != RSET_OK && in->len > sizeof in->data)
        return rset_comm_revoke(comm, err, "rank %d sent a message of %llu bytes", peer,
                                (unsigned long long)in->len);
    return RSET_OK;
}

static rset_status
receive(rset_comm *comm, int k, void *buf, size_t len, const char *doing, rset_err *err)
{
    const rset_message message = {
        .peer = rset_coll_neighbour(comm, k), .tag = RSET_TAG_COLL, .room = buf, .len = len};
    rset_req   *req = &comm->coll->recv;
    char        who[96];
    rset_status st = rset_comm_irecv(comm, &message, req, err);

    if (st != RSET_OK)
        return st;
    name_peer(comm, k, who, sizeof who);
    return rset_comm_wait_for(comm, req, seconds_for(comm, before(comm, k)), who, doing, err);
}

rset_status
rset_coll_recv_packet(rset_comm *comm, int k, int kind, const char *doing, rset_err *err)
{
    struct rset_coll *coll = comm->coll;
    const int         from = rset_coll_neighbour(comm, k);
    rset_status       st = receive(comm, k, &coll->in, sizeof coll->in, doing, err);

    return st == RSET_OK ? check_packet(comm, &coll->in, coll->recv.got, kind, from, err) : st;
}

rset_status
rset_coll_recv_body(rset_comm *comm, int k, void *buf, const char *doing, rset_err *err)
{
    const rset_packet *in = &comm->coll->in;
    const size_t       len = (size_t)in->len;
    rset_status        st;

    if (len <= sizeof in->data) {
        memcpy(buf, in->data, len);
        return RSET_OK;
    }
    st = receive(comm, k, buf, len, doing, err);
    if (st == RSET_OK && comm->coll->recv.got != len)
        st = rset_comm_revoke(comm, err, "rank %d sent %zu bytes instead of %zu",
                              rset_comm_world(comm, rset_coll_neighbour(comm, k)),
                              comm->coll->recv.got, len);
    return st;
}
