/* comm_hosted_internal.h: what the parts of comm_hosted share. Nobody else includes this. Each of these uses those below it:
 *   comm_hosted.c      starting and ending       comm_hosted_in.c   what comes from other processes
 *   comm_hosted_out.c  what goes to them */
#ifndef RSET_COMM_HOSTED_INTERNAL_H
#define RSET_COMM_HOSTED_INTERNAL_H

#include "comm_hosted.h"
#include "comm_local_internal.h"

enum { RSET_HOSTED_MAGIC = 0x72736873 };

typedef enum {
    RSET_HOSTED_MESSAGE,
    RSET_HOSTED_RECEIPT, /* a long message was taken */
    RSET_HOSTED_END,     /* no rank of so many processes runs any more */
    RSET_HOSTED_CUT,     /* this run is over before its time; the text says why */
    RSET_HOSTED_KINDS
} rset_hosted_kind;

/* Sent as it is, with so much of `data` as there is. */
typedef struct rset_hosted_packet {
    uint32_t magic,
        run; /* packets of a run that was cut short are not taken for those of the next */
    int32_t  kind, from, to, tag;
    uint64_t len, receipt; /* of an end: the step */
    uint8_t  data[RSET_LOCAL_EAGER];
} rset_hosted_packet;
_Static_assert(sizeof(((rset_err *)0)->text) <= RSET_LOCAL_EAGER, "a cut has a text");

/* What goes out. */
typedef struct rset_parcel {
    struct rset_parcel *next;
    rset_req            head, body;
    rset_local_op      *op; /* the message, where there is more than the packet has; else NULL */
    bool                taken;
    rset_hosted_packet  packet;
} rset_parcel;

/* A message that comes in. Those that came before it are delivered first. */
typedef struct rset_arrival {
    struct rset_arrival *next;
    rset_req             body;
    rset_local_op       *op;
    bool                 foreign; /* of another run: nobody waits for it */
} rset_arrival;

typedef struct rset_carrier {
    const rset_hosting *how;
    rset_local_world    world;
    rset_local_post     post;
    rset_local_member  *members;
    int                *slot; /* per rank */
    rset_parcel        *out;
    rset_arrival       *in, **in_end;
    rset_hosted_packet *room; /* for the next that comes */
    rset_hosted_packet
             *last; /* what is said when the run is cut; with told[r], that it goes to process r */
    rset_req *told;
    uint64_t  receipts;
    uint32_t  run, ended;  /* `ended`: bit k: step k of the end has come */
    int       steps, said; /* how many steps it takes; so many of ours are out */
    rset_err *err;
    rset_status st;
} rset_carrier;

/* All of these are local, and return at once; what fails cuts the run. bool: has anything happened? */

/* ---- comm_hosted_out.c ---- */

/* The run is over: the first reason stays, and this process's ranks are told. */
void rset_hosted_cut(rset_carrier *c, const rset_err *why);
/* So are the other processes. */
void rset_hosted_send_cut(rset_carrier *c);

size_t rset_hosted_packet_size(const rset_hosted_packet *p);

/* A packet to be filled in and sent to a process; the list of what goes out owns it. NULL without memory. */
rset_parcel *rset_hosted_new_parcel(rset_carrier *c, rset_hosted_kind kind);
void         rset_hosted_send(rset_carrier *c, rset_parcel *p, int process);

/* Sends what ranks of this process have for others. */
bool rset_hosted_send_all(rset_carrier *c);
/* Forgets what is out, and taken where it is long: its sender is told. */
bool rset_hosted_look_after_out(rset_carrier *c);

/* ---- comm_hosted_in.c ---- */

/* Takes the packets that have come. */
bool rset_hosted_look_for_packets(rset_carrier *c);
/* Gives what is complete to its ranks, in the order in which it came. */
bool rset_hosted_look_after_in(rset_carrier *c);

#endif
