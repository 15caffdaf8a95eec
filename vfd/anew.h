/* anew.h: ranks create their files where nothing of them is, and have older ones on other nodes (move/old_copies.h). */
#ifndef RSET_VFD_ANEW_H
#define RSET_VFD_ANEW_H

#include "move/old_copies.h"
#include "rendezvous/rendezvous.h"
#include "session.h"

/* Before a commit of `session`, with its team: the bits that say whether this rank created its file anew, and whether it may have old
 * copies of others. Local. */
uint64_t rset_anew_bits(const rset_session *session);

/* All ranks have said the same `bits`: do they have to ask each other? Pure. */
bool rset_anew_asks(uint64_t bits);

/* They ask. *most: the newest generation known so far, which may become newer. *out, which is borrowed, is to be settled. `before`: this
 * rank's failure so far. Collective. As rset_old_copies_ask. */
rset_status rset_anew_ask(const rset_session *session, rset_status before, uint64_t *most,
                          rset_old_copies **out, rset_err *err);

/* `st` is what all ranks of `comm` have come to with the commit that they asked for. `copies` NULL: nothing to do. Local. */
void rset_anew_settle(rset_old_copies *copies, const rset_comm *comm, rset_status st);

#endif
