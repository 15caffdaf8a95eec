/* places_internal.h: what finding out who has whose files consists of, each using those before it:
 *   seats.c      messages, and what is noted of them
 *   leftovers.c  what rank 0 has to fit together
 *   places.c     asks the ranks concerned
 * Nobody else includes this. */
#ifndef RSET_PLACES_INTERNAL_H
#define RSET_PLACES_INTERNAL_H

#include "recover_internal.h"

/* What a message about a seat says. */
typedef enum {
    RSET_SEAT_RECORDED, /* to rank `rank`: so says a header */
    RSET_SEAT_PLACE, /* to rank `set`, which tells the members (set_part): this one has this place */
    RSET_SEAT_LEFT,  /* to rank 0: nobody has this seat's file, or nobody recorded its set */
    RSET_SEAT_SOUGHT, /* to rank 0: rank `by` opens this name, and it is none of those that it could be */
    RSET_SEAT_EMPTY /* to rank 0: nobody recorded who has this place of the set */
} rset_seat_what;

/* What is known of one of the ranks that wrote the files: rank p knows it of rank p. Sent as it is. */
typedef struct rset_seat {
    int32_t  what;                 /* an rset_seat_what */
    int32_t  rank;                 /* that wrote the file; -1: unknown */
    int32_t  set, member, members; /* its place; -1: nobody recorded it */
    int32_t  by;                   /* rank that has it now, -1: nobody yet */
    int32_t  left;       /* infos of left neighbours that a header of its set has; -1: unknown */
    int32_t  headed;     /* rank `by` has its header */
    uint64_t name, path; /* hashes of its file's base name, and of its path; 0: unknown */
} rset_seat;

typedef struct rset_places {
    rset_recovery *r;
    int            me, ranks; /* as many as wrote the files */
    rset_seat      own;       /* what this rank opens */
    bool           seated;    /* and its seat is known */
    rset_seat      seat;      /* of the rank that had this one's number */
    rset_seat   *places; /* of the members of the set of that number; owned, NULL: there is none */
    int         *ranks_of_set; /* room for the ranks of this one's set, `room` of them; owned */
    int          room;
    rset_records mail, got; /* of rset_seat: to be sent, and what came */
} rset_places;

/* ---- seats.c ---- */

/* Says that what the ranks record makes no sense: RSET_LOST. */
rset_status rset_places_misfit(const rset_places *p, rset_err *err);

/* Adds a message about `seat` to what is sent next. Local. */
void rset_places_send(rset_places *p, int to, rset_seat_what what, const rset_seat *seat);

/* Sends it all; p->got is what came. Collective over the world, with this rank's failure so far. */
rset_status rset_places_deliver(rset_places *p, rset_status own);

/* Can there be such a seat, with this place? Headers say what disks hold, and messages what ranks say. Pure. */
bool rset_places_possible(const rset_places *p, const rset_seat *s);

/* May the file that `who` opens be that of the seat? Not when it is protected itself, under another path: files of two steps
 * have one name in two directories, and none is to be overwritten with the other (P2). An old copy of the same file, in
 * a directory that comes back, records the same path. Pure. */
bool rset_places_may_be(const rset_seat *who, const rset_seat *seat);

/* Members of the set that this rank keeps; 0: it keeps none. Pure. */
int rset_places_members(const rset_places *p);

/* Notes who has one place of that set. Local. */
rset_status rset_places_fill(rset_places *p, const rset_seat *s);

/* ---- leftovers.c ---- */

/* Has rank 0 find seats for ranks that have none, and seats for places that nobody recorded; the sets are told. Collective;
 * the outcome is this rank's own. Costs rank 0 as much as is left over. */
rset_status rset_places_fit(rset_places *p);

#endif
