/* exchange.h: members of a set send each other what they recorded (infos). */
#ifndef RSET_EXCHANGE_H
#define RSET_EXCHANGE_H

#include "comm/comm.h"
#include "format/format.h"

/* One info on its way. */
typedef struct rset_parcel {
    int              member; /* the other end */
    const rset_info *send;   /* what to send, NULL when receiving */
    rset_info       *into;   /* where to put what is received; holds nothing before */
} rset_parcel;

/* All that a member sends and receives at once. */
typedef struct rset_parcels {
    const rset_parcel *at;
    int                n;
    bool               extra; /* sent with our own keys */
} rset_parcels;

/* Sends and receives all parcels at once. Collective over the set, and over soon where one of the members has no memory, or
 * is refused (its header would grow too large): all fail then. A member that has got something which is not valid fails alone:
 * the caller must agree on the outcome before anything is used. Both ends of a parcel must list
 * it, in the same order among the parcels between the two. `own`, and then *err: this member's failure so far; what
 * its parcels are does not matter then. `host` names this process's host. What is
 * received is checked like a file (RSET_PEER when it is not valid). A failure leaves received infos to be freed by
 * the caller. */
rset_status rset_exchange(rset_comm *set, const rset_parcels *parcels, rset_status own,
                          const char *host, rset_err *err);

#endif
