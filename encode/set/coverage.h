/* coverage.h: how much of a generation can be had. */
#ifndef RSET_COVERAGE_H
#define RSET_COVERAGE_H

/* In one set, or in the set that is worst off; worse is higher. It depends on which blocks are bad, so it is found out by
 * the sets (rebuild.h), not where it is decided what follows (recover/decide.h). */
typedef enum rset_coverage {
    RSET_COVERAGE_UNKNOWN,    /* nobody has looked yet */
    RSET_COVERAGE_WHOLE,      /* data and redundancy of all members */
    RSET_COVERAGE_DATA,       /* all data; some redundancy is lost beyond repair */
    RSET_COVERAGE_UNVERIFIED, /* that, but for members of whose data nobody knows what it should be */
    RSET_COVERAGE_NOT         /* not all data */
} rset_coverage;

#endif
