/* exchange.h: members of a set send each other what they recorded (infos). */
#ifndef RSET_EXCHANGE_H
#define RSET_EXCHANGE_H

#include "comm.h"
#include "format.h"

/* One info on its way: to or from `member`, about member `about`. */
typedef struct rset_parcel {
    int              member; /* the other end */
    const rset_info *send;   /* what to send, NULL when receiving */
    rset_info       *into;   /* where to put what is received; holds nothing before */
} rset_parcel;

/* Sends and receives all parcels at once. Both ends of a parcel must list it, in the same order among
 * the parcels between the two. `extra`: with our own keys. What is received is checked like a file
 * (RSET_PEER when it is not valid). A failure leaves received infos to be freed by the caller. */
rset_status rset_exchange(rset_comm *set, rset_parcel *parcels, int n, bool extra, rset_err *err);

#endif
