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

/* Plans to restore the whole of a set, or `data_only`: then lost redundancy files are not wanted any more in `health`, which
 * has an entry per member. `lacks`: of the flags above. *plan_out as rset_plan_make; NULL: it is only asked whether. RSET_LOST
 * when it cannot be had, *why says why; RSET_NOMEM. Local. */
rset_status rset_cover(const rset_shape *shape, rset_health *health, unsigned lacks, bool data_only,
                       rset_plan *plan_out, rset_err *why);

#endif
