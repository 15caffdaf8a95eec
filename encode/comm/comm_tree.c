/* comm_tree.c: what a collective is made of: the binomial tree and the ring, packets that go over their edges, and the one
 * that says that a rank has given up. Nobody waits here. */
#include "comm_internal.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { NEIGHBOURS_MAX = 2 * (RSET_TREE_MAX + 1) };

/* ---- the tree ---- */

int
rset_coll_parent(int rank)
{
    return rank & (rank - 1);
}

int
rset_coll_child(const rset_comm *comm, int rank, int k)
{
    const int64_t bit = (int64_t)1 << k;

    if (k >= RSET_TREE_MAX || (rank != 0 && bit >= (rank & -rank)) || rank + bit >= comm->size)
        return -1;
    return (int)(rank + bit);
}

int
rset_coll_neighbour(const rset_comm *comm, int k)
{
    const int64_t n = comm->size;

    if (k >= RSET_RING)
        return (int)((comm->rank + n - ((int64_t)1 << (k - RSET_RING)) % n) % n);
    return k < 0 ? rset_coll_parent(comm->rank) : rset_coll_child(comm, comm->rank, k);
}

int
rset_coll_next(const rset_comm *comm, int j)
{
    return (int)((comm->rank + ((int64_t)1 << j)) % comm->size);
}

int
rset_coll_last(const rset_comm *comm, int child, int k)
{
    const int64_t last = child + ((int64_t)1 << k) - 1;

    return last < comm->size ? (int)last : comm->size - 1;
}

int
rset_coll_levels(const rset_comm *comm)
{
    int levels = 0;

    while (((int64_t)1 << levels) < comm->size)
        levels++;
    return levels;
}

/* ---- packets ---- */

void
rset_coll_pack_head(const rset_comm *comm, rset_packet *packet, int kind, size_t len)
{
    packet->magic = RSET_PACKET_MAGIC;
    packet->kind = (uint32_t)kind;
    packet->call = comm->calls;
    packet->status = RSET_OK;
    packet->len = len;
}

void
rset_coll_pack(const rset_comm *comm, rset_packet *packet, int kind, const void *body, size_t len)
{
    rset_coll_pack_head(comm, packet, kind, len);
    if (len > 0 && len <= sizeof packet->data)
        memcpy(packet->data, body, len);
}

void
rset_coll_pack_err(const rset_comm *comm, rset_packet *packet, int kind, const rset_err *err)
{
    rset_coll_pack(comm, packet, kind, err, offsetof(rset_err, text) + strlen(err->text) + 1);
    packet->status = (int32_t)err->status;
}

rset_err
rset_coll_unpack_err(const rset_packet *packet)
{
    rset_err err = RSET_ERR_NONE;

    memcpy(&err, packet->data, packet->len < sizeof err ? (size_t)packet->len : sizeof err);
    err.status = packet->status > RSET_OK && packet->status <= RSET_BUG
                     ? (rset_status)packet->status
                     : RSET_BUG;
    err.host[sizeof err.host - 1] = '\0';
    err.text[sizeof err.text - 1] = '\0';
    return err;
}

size_t
rset_coll_packet_size(const rset_packet *packet)
{
    return RSET_PACKET_HEAD + (packet->len <= sizeof packet->data ? (size_t)packet->len : 0);
}

/* The last words of who has no memory left for them. */
static rset_packet spare;
static atomic_flag spare_taken = ATOMIC_FLAG_INIT;

static rset_packet *
take_packet(void)
{
    rset_packet *packet = malloc(sizeof *packet);

    return packet != NULL || atomic_flag_test_and_set(&spare_taken) ? packet : &spare;
}

static void
give_back(rset_packet *packet)
{
    if (packet == &spare)
        atomic_flag_clear(&spare_taken);
    else
        free(packet);
}

/* All whom this rank is waited for by; returns how many. */
static int
list_neighbours(const rset_comm *comm, int *to)
{
    const int ring = comm->coll != NULL && comm->coll->in_ring ? rset_coll_levels(comm) : 0;
    int       n = 0;

    if (comm->rank != 0)
        to[n++] = rset_coll_parent(comm->rank);
    for (int k = 0; rset_coll_neighbour(comm, k) >= 0; k++)
        to[n++] = rset_coll_neighbour(comm, k);
    for (int j = 0; j < ring; j++)
        to[n++] = rset_coll_next(comm, j);
    return n;
}

/* Small messages are on their way at once; whoever cannot take one will run into its timeout. */
static void
wait_a_moment(const rset_comm *comm, rset_req *reqs, int n)
{
    rset_err ignored = RSET_ERR_NONE;
    bool     busy = true;

    for (int look = 0; busy && look < 20; look++) {
        rset_pause pause = {0};

        busy = false;
        for (int i = 0; i < n; i++) {
            bool done = true;

            if (reqs[i].active &&
                comm->transport->test(comm->self, &reqs[i], &done, &ignored) == RSET_OK)
                busy = busy || !done;
        }
        if (busy)
            rset_pause_once(&pause);
    }
}

bool
rset_comm_tell(const rset_comm *comm, const rset_message *messages, rset_req *reqs, int n)
{
    rset_err ignored = RSET_ERR_NONE;
    bool     busy = false;

    for (int i = 0; i < n; i++) {
        rset_message m = messages[i];

        m.peer = rset_comm_world(comm, m.peer);
        m.tag = rset_comm_tag(comm, m.tag);
        reqs[i] = (rset_req){0};
        if (comm->transport->isend(comm->self, &m, &reqs[i], &ignored) != RSET_OK)
            reqs[i].active = false;
    }
    wait_a_moment(comm, reqs, n);
    for (int i = 0; i < n; i++)
        if (reqs[i].active && !comm->transport->cancel(comm->self, &reqs[i]))
            busy = true;
    return !busy;
}

void
rset_coll_tell(rset_comm *comm, const char *why)
{
    rset_err     err = RSET_ERR_NONE;
    rset_packet *packet;
    rset_message messages[NEIGHBOURS_MAX];
    rset_req     reqs[NEIGHBOURS_MAX];
    int          to[NEIGHBOURS_MAX], n;

    if (comm->size < 2 || (packet = take_packet()) == NULL)
        return;
    (void)rset_fail(&err, RSET_PEER, "%s", why);
    err.rank = rset_comm_world(comm, comm->rank);
    rset_coll_pack_err(comm, packet, RSET_KIND_GIVEN_UP, &err);
    n = list_neighbours(comm, to);
    for (int i = 0; i < n; i++)
        messages[i] = (rset_message){.peer = to[i],
                                     .tag = RSET_TAG_COLL,
                                     .data = packet,
                                     .len = rset_coll_packet_size(packet)};
    if (rset_comm_tell(comm, messages, reqs, n)) /* else the transport may still read from it */
        give_back(packet);
}
