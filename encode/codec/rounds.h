/* rounds.h: how a plan is cut into rounds, the same piece of a batch of stripes, so that what one of them needs fits
 * the memory and is known before it begins. All members make the same of the same plan. Pure. */
#ifndef RSET_ROUNDS_H
#define RSET_ROUNDS_H

#include "plan.h"

/* What a round may have at most; and how much of a stripe it has, when that fits. */
typedef struct rset_rounds_limits {
    uint64_t memory; /* bytes of one member's buffers, but for very large sets */
    uint64_t jobs;   /* parts of segments */
    uint64_t piece;
} rset_rounds_limits;

typedef struct rset_rounds {
    size_t  *first;   /* members + 1: first segment of each stripe; owned */
    uint64_t longest; /* bytes of a stripe */
    uint64_t piece;   /* of them in a round */
    int      batch;   /* stripes in a round */
    size_t   jobs;    /* of a round, at most */
    size_t   bytes;   /* of one member's buffers, at most */
} rset_rounds;

/* For a plan that computes something. RSET_NOMEM. */
rset_status rset_rounds_make(const rset_shape *shape, const rset_plan *plan,
                             const rset_rounds_limits *limits, rset_rounds *out, rset_err *err);
void        rset_rounds_free(rset_rounds *rounds);

#endif
