/* comm_internal.h: what the parts of comm/ share, each using those before it. Nobody else includes this.
 *   comm_wait.c  time, and which ranks there are    comm_tree.c  the tree, packets, telling that one gives up
 *   comm.c       waiting, giving up, messages       comm_step.c  the steps of a collective
 *   comm_coll.c  the collectives                    comm_route.c records to where they belong
 *   comm_renew.c after it was revoked */
#ifndef RSET_COMM_INTERNAL_H
#define RSET_COMM_INTERNAL_H

#include "comm.h"

/* What goes over an edge of the tree: a head and a body, which follows in a message of its own when it
 * is longer than `data`. status not RSET_OK: the body is an rset_err, its text cut short. */
typedef struct rset_packet {
    uint32_t magic, kind, call;
    int32_t  status;
    uint64_t len;
    uint8_t  data[sizeof(rset_err)];
} rset_packet;

enum {
    RSET_PACKET_HEAD = offsetof(rset_packet, data),
    RSET_PACKET_MAGIC = 0x54455352 /* "RSET" in memory; another byte order is found out as well */
};

/* What a communicator's collectives send from and receive into. They are all its own, not the
 * caller's: after a failure a transport may go on using them, then all of it is leaked. */
struct rset_coll {
    rset_packet in, up, down;
    rset_req    recv, sends[2 * (RSET_TREE_MAX + 1)];
    int         peers[2 * (RSET_TREE_MAX + 1)]; /* whom each of `sends` goes to */
    int         nsends;
    bool        in_ring; /* ranks wait for those before them in the ring, too */
};

/* ---- comm_tree.c ---- */

enum {
    RSET_KIND_GIVEN_UP,
    RSET_KIND_AGREE,
    RSET_KIND_GATHER,
    RSET_KIND_REDUCE,
    RSET_KIND_ROUTE,
    RSET_KINDS
};

enum { RSET_RING = RSET_TREE_MAX + 1 /* edges from here on are those of the ring */ };

/* The rank at the other end of an edge of this rank's: its child number k, or its parent (k < 0); or the rank that is 2^j
 * before it in the ring of all ranks (k = RSET_RING + j). */
int rset_coll_neighbour(const rset_comm *comm, int k);
/* The last of the ranks below `child`, child number k of its parent: they are those from `child` on. */
int rset_coll_last(const rset_comm *comm, int child, int k);
int rset_coll_levels(const rset_comm *comm);
/* The rank that is 2^j behind this one in the ring: it has this one at its edge RSET_RING + j. */
int rset_coll_next(const rset_comm *comm, int j);

/* Fills a packet: all but a body that is there already; with a body; or with an outcome that is not RSET_OK. */
void rset_coll_pack_head(const rset_comm *comm, rset_packet *packet, int kind, size_t len);
void rset_coll_pack(const rset_comm *comm, rset_packet *packet, int kind, const void *body,
                    size_t len);
void rset_coll_pack_err(const rset_comm *comm, rset_packet *packet, int kind, const rset_err *err);
rset_err rset_coll_unpack_err(const rset_packet *packet);
/* How many bytes of it are sent: the body too, where it fits. */
size_t rset_coll_packet_size(const rset_packet *packet);

/* Tells the neighbours in the tree, and in the ring where they wait there, that this rank has given up, and why. Leaves no request behind. */
void rset_coll_tell(rset_comm *comm, const char *why);

/* ---- comm_wait.c ---- */

/* The number that a message with this tag has now. */
int rset_comm_tag(const rset_comm *comm, int tag);

/* The rank that has this transport rank; -1: none. */
int rset_comm_rank_of(const rset_comm *comm, int world);

/* ---- comm.c ---- */

/* rset_comm_wait with a deadline and a name for whom it waits of its own. */
rset_status rset_comm_wait_for(rset_comm *comm, rset_req *req, double seconds, const char *who,
                               const char *doing, rset_err *err);

/* ---- comm_step.c ----
 *
 * A collective is begin, steps, finish; or abandon when a step failed. What fails has set the
 * communicator aside already. */

rset_status rset_coll_begin(rset_comm *comm, rset_err *err);

/* Sends a packet and, when it does not fit in there, its body; both must stay until finish. */
rset_status rset_coll_send_packet(rset_comm *comm, int to, const rset_packet *packet,
                                  const void *body, rset_err *err);
/* The same with coll->down, to all children. */
rset_status rset_coll_send_down(rset_comm *comm, const void *body, rset_err *err);

/* Receives a packet into coll->in over edge k (rset_coll_neighbour). */
rset_status rset_coll_recv_packet(rset_comm *comm, int k, int kind, const char *doing,
                                  rset_err *err);
/* Brings the body of the packet in coll->in to `buf`, which holds coll->in.len bytes. */
rset_status rset_coll_recv_body(rset_comm *comm, int k, void *buf, const char *doing,
                                rset_err *err);

/* Waits until everything is sent. */
rset_status rset_coll_finish(rset_comm *comm, rset_err *err);
/* Ends a collective that failed; false: buffers that were given to it may still be touched. */
bool rset_coll_abandon(rset_comm *comm);

/* ---- comm_coll.c: what ranks say of themselves while they do something together ---- */

/* *mine becomes the one of two verdicts (rset_verdict) that is told: a cause before what may follow from it, then the worse, among equals
 * that of the lower rank. */
void rset_coll_keep_worse(rset_err *mine, const rset_err *other);
/* All have come to this verdict: it is put into *err, and its status returned. */
rset_status rset_coll_take_verdict(const rset_err *verdict, rset_err *err);
/* They could not talk (*failed): RSET_PEER, and in *err that and what this rank had to say, mostly just that. Ends the collective. */
rset_status rset_coll_no_agreement(rset_comm *comm, rset_status st, const char *host,
                                   rset_err *failed, rset_err *err);

#endif
