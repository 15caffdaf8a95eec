/* layout_internal.h: what layout.c (the division) and left_over.c (ranks that no set has room for) share. Nobody else
 * includes this. */
#ifndef RSET_LAYOUT_INTERNAL_H
#define RSET_LAYOUT_INTERNAL_H

#include "group.h"
#include "layout.h"

/* Failure groups that are named in the note; the ranks of others are counted. */
enum { RSET_CROWDS = 4 };

/* A failure group with ranks that are left over. */
typedef struct rset_crowd {
    uint64_t group;
    int      first; /* the first of these ranks */
} rset_crowd;

/* What is known of all ranks while they are divided, the same on all of them. All arrays owned. */
typedef struct rset_divided {
    uint64_t   *groups;
    int32_t    *order; /* NULL: that of `comm` */
    rset_place *places;
    int         left_over;    /* ranks that no set has room for */
    bool        is_left_over; /* this rank is one of them */
    int         ncrowds;
    rset_crowd  crowds[RSET_CROWDS];
} rset_divided;

/* For whom the note is. */
typedef struct rset_teller {
    const rset_wish    *wish;
    const char         *host;
    const rset_divided *all;
} rset_teller;

/* Which ranks are left over, of those that have been divided: none where no set carries the scheme. Local. */
void rset_left_over_find(const rset_comm *comm, const rset_wish *wish, rset_divided *all);

/* Fills out->left_over, and out->note where ranks are left over: how many, of which hosts, and which. The hosts' names are
 * asked for. Collective over `comm`, with this rank's failure so far, which becomes that of all. */
rset_status rset_left_over_tell(rset_comm *comm, rset_status own, const rset_teller *who,
                                rset_layout *out, rset_err *err);

#endif
