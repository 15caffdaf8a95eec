/* stats.h: what protecting has cost this process so far, by communicator and kind of file.
 *
 * Filled at the end of each piece of work of a session, by the program's thread and by the one in the background; read
 * at any time. Numbers are only added to, without a lock, and what was begun is never freed: a child that was forked,
 * or a thread that reads meanwhile, is never in the way. No HDF5 and no MPI here. */
#ifndef RSET_STATS_H
#define RSET_STATS_H

#include "common/phases.h"
#include "rendezvous/rendezvous.h"

/* What is counted: files, and the bytes in them. */
typedef enum rset_count {
    RSET_COUNT_PROTECTED,   /* redundancy was computed and published */
    RSET_COUNT_VERIFIED,    /* the content was compared with what was recorded */
    RSET_COUNT_REBUILT,     /* it came back from what the others have */
    RSET_COUNT_UNPROTECTED, /* closed, and could not be protected, or is left over (layout.h) */
    RSET_COUNTS
} rset_count;

/* Sums. Zeroed: nothing. Plain data. */
typedef struct rset_stats {
    uint64_t    files[RSET_COUNTS], bytes[RSET_COUNTS];
    rset_phases spent;
    uint64_t    background; /* nanoseconds of `spent` that were the background's (background.h) */
} rset_stats;

/* Adds `more` to the sums of the files of this kind (rset_kind_of) that were opened with `place`, which stands for a
 * communicator; NULL: without one. What there are too many kinds of, or no memory for, is in the sums of all. */
void rset_stats_add(const void *place, const char *kind, const rset_stats *more);

/* The sums of this kind, NULL: of all kinds, over all communicators. Local. */
rset_stats rset_stats_of(const char *kind);

/* The kind of files of `place` that comes after `after` in the alphabet ("": the first), and its sums; false: there is
 * none. */
bool rset_stats_next(const void *place, const char *after, char kind_out[RSET_KIND_MAX],
                     rset_stats *out);

#endif
