/* coverage.h: how much of a generation can be had, from what is known of the members of a set. */
#ifndef RSET_COVERAGE_H
#define RSET_COVERAGE_H

#include "codec/plan.h"

/* In one set, or in the set that is worst off; worse is higher. It depends on which blocks are bad, so it is found out by
 * the sets (rebuild.h), not where it is decided what follows (recover/decide.h). */
typedef enum rset_coverage {
    RSET_COVERAGE_UNKNOWN,    /* nobody has looked yet */
    RSET_COVERAGE_WHOLE,      /* data and redundancy of all members */
    RSET_COVERAGE_DATA,       /* all data; some redundancy cannot be rebuilt */
    RSET_COVERAGE_UNVERIFIED, /* that, but for members of whose data nobody knows what it should be */
    RSET_COVERAGE_NOT         /* not all data */
} rset_coverage;

/* What is missing of a set's records; of all members, or-ed. */
enum {
    RSET_LACKS_PAYLOAD =
        1, /* what a lost redundancy file recorded is lost with its neighbours'; or there is no room for it */
    RSET_LACKS_DATA = 2, /* a member's data is lost, and so is what was recorded of it */
    RSET_LACKS_CHECK = 4 /* its data is there, but what was recorded of it is lost */
};

/* What is known of one member's pieces, by whoever has looked at them: the set itself, or h5redset. */
typedef struct rset_pieces_found {
    bool known;    /* something records what its data should be */
    bool compared; /* the data was compared with that: health->data is what is bad of it */
    bool there; /* else: a data file is there, and nothing says that it is of another generation */
    bool alike; /* and has the size that is recorded: it is taken for good */
    bool
        has; /* its own redundancy file, of the generation: health->payload is what is bad of that */
    bool records; /* else: what it has to record is known */
} rset_pieces_found;

typedef struct rset_pieces_are {
    bool damaged;    /* the data, where it was not compared: it is lost, or of another generation */
    bool unverified; /* nobody knows what it should be */
    unsigned lacks;  /* of the flags above */
} rset_pieces_are;

/* Completes `health` by what was not compared. RSET_NOMEM. Local. */
rset_status rset_judge_pieces(const rset_pieces_found *found, rset_health *health,
                              rset_pieces_are *out, rset_err *err);

/* What of a generation can be had: the whole of a set, or its data. Lost redundancy files that cannot be had are not wanted any more in
 * `health` then, which has an entry per member. `lacks`: of all members. *plan_out: how (rset_plan_make), to be freed; NULL: it is only
 * asked whether. *why: why not all of it. RSET_NOMEM. Local. */
rset_status rset_cover(const rset_shape *shape, rset_health *health, unsigned lacks,
                       rset_plan *plan_out, rset_coverage *coverage_out, rset_err *why);

#endif
