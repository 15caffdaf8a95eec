/* layout.h: how the ranks of a job are divided into redundancy sets: everyone says where it is, and all
 * get the same division (FORMAT.md 4). */
#ifndef RSET_LAYOUT_H
#define RSET_LAYOUT_H

#include "comm/comm.h"
#include "format/format.h"

/* What a rank asks for. scheme, parity and set_size must be equal on all ranks. */
typedef struct rset_wish {
    const rset_scheme *scheme;
    int                parity;
    int                set_size; /* wanted members per set, >= 1 */
    const char        *group;    /* failure group of this rank */
    int                order; /* its rank in MPI_COMM_WORLD, which orders members (FORMAT.md 4.4) */
} rset_wish;

/* One division into sets. */
typedef struct rset_layout {
    rset_desc desc;      /* this rank's, without generation */
    int      *ranks;     /* rank of each member of the set; owned */
    rset_comm set;       /* the same as a communicator, a subset of the one divided */
    int       left_over; /* ranks that no set has room for; they have SINGLE. On all ranks */
    char      note[RSET_ERR_TEXT]; /* what the user should be told; "" if nothing. On all ranks */
    bool      told;                /* rset_layout_tell was called */
} rset_layout;

/* Divides the ranks of `comm`. Where all are in one failure group, each counts as its own: that covers lost
 * files, and layout.note says that it does not cover a lost node. Where a failure group has more ranks than sets that carry
 * the scheme have room for, some of its ranks are left over: out->desc says SINGLE for them, and layout.note names them.
 * Collective over `comm`. RSET_USAGE on all ranks when no set can carry the scheme. On failure *out owns nothing. */
rset_status rset_layout_form(rset_comm *comm, const rset_wish *wish, const char *host,
                             rset_layout *out, rset_err *err);

/* The note when it is asked for the first time, then "". Local. */
const char *rset_layout_tell(rset_layout *layout);

/* RSET_USAGE, and the note as the message, where ranks are left over: for whoever wants all ranks protected or none. Local. */
rset_status rset_layout_for_all(const rset_layout *layout, rset_err *err);

void rset_layout_free(rset_layout *layout);

#endif
