/* exchange.h: members of a set send each other what they recorded (infos). */
#ifndef RSET_EXCHANGE_H
#define RSET_EXCHANGE_H

#include "comm/comm.h"
#include "format/format.h"

/* A list of infos that one member sends to others, and takes from them. */
typedef struct rset_exchange rset_exchange;

/* Has room for `n` infos, sent or taken. Members agree that each of them has it before they exchange anything. RSET_NOMEM. Local. */
rset_status rset_exchange_new(int n, rset_exchange **out, rset_err *err);
void        rset_exchange_free(rset_exchange *x); /* NULL: does nothing */

/* One info more, to or from `member`. Both ends list it, in the same order among those between the two. `info` stays the caller's;
 * `into` holds nothing before, and may be NULL where this member fails the exchange. Local. */
void rset_exchange_send(rset_exchange *x, int member, const rset_info *info);
void rset_exchange_take(rset_exchange *x, int member, rset_info *into);

/* Sends and takes all that is listed at once, and empties the list. Collective over the set; no agreement: nobody waits for a member that
 * has failed (`own`, and then *err), since that sends its error in the place of each info, which whoever gets it fails with. What
 * is received is checked like a file (RSET_PEER when it is not valid). So members may fail alone, and agree on the outcome
 * before anything is used. `extra`: infos are sent with our own keys; `host` names this process's host. A failure leaves received infos to be freed by the caller. */
rset_status rset_exchange_run(rset_exchange *x, rset_comm *set, bool extra, rset_status own,
                              const char *host, rset_err *err);

#endif
