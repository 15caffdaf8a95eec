/* plan.h: which pieces of a set are computed from which others: the whole of an encode, or of a
 * rebuild after any damage, as a list of segments that stream.h then works through.
 *
 * Damage is decided per byte range and stripe, not per member: a stripe is cut where
 * the set of bad pieces changes, and each segment is solved on its own. Every member makes the same
 * plan from the same arguments, so nothing about it needs to be sent. Pure. */
#ifndef RSET_PLAN_H
#define RSET_PLAN_H

#include "common/ranges.h"
#include "solve.h"

/* What is bad of one member: byte ranges of its logical file and of its payload. */
typedef struct rset_health {
    rset_ranges data, payload;
    bool        want_data, want_payload; /* bad pieces shall be computed; else no place for them */
    int         unread; /* errno of a read that failed: what is bad may be only that; 0: none */
} rset_health;

typedef struct rset_segment {
    int           stripe;
    uint64_t      off, len; /* within the stripe's pieces */
    rset_solution how;
} rset_segment;

typedef struct rset_plan {
    size_t n, room;
    rset_segment
        *segments; /* ascending by stripe, then offset; only those that compute something */
    int  most;     /* most pieces that one segment computes */
} rset_plan;

/* Plans the computation of every bad piece that is wanted. health: one entry per member. A member
 * whose length is unknown has length UINT64_MAX and all its data bad.
 * RSET_LOST when the good pieces do not suffice; the message counts what is missing and says what the
 * scheme covers. RSET_NOMEM. Nothing bad: OK with n = 0. */
rset_status rset_plan_make(const rset_shape *shape, const rset_health *health, rset_plan *plan_out,
                           rset_err *err);

/* The plan of an encode: all data good, every payload to be computed. */
rset_status rset_plan_encode(const rset_shape *shape, rset_plan *plan_out, rset_err *err);

/* The plan of an update: what has to be added to each payload when `changed` (one per member, ranges of its
 * logical file) is old ^ new. Sources of a segment are only those members that have changes there. */
rset_status rset_plan_update(const rset_shape *shape, const rset_ranges *changed,
                             rset_plan *plan_out, rset_err *err);

void rset_plan_free(rset_plan *plan);
void rset_health_free(rset_health *health);

#endif
