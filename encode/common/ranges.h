/* ranges.h: sorted lists of byte ranges, used to say which parts of a file are bad. Pure. */
#ifndef RSET_RANGES_H
#define RSET_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rset_range {
    uint64_t from, to; /* bytes [from, to); to UINT64_MAX: all from there on */
} rset_range;

typedef struct rset_ranges {
    size_t      n, room;
    rset_range *at; /* ascending, disjoint, not touching; owned */
} rset_ranges;

/* Adds [from, to), which must not begin before the last range does; merges with it when they touch.
 * An empty range changes nothing. False when memory runs out. */
bool rset_ranges_add(rset_ranges *ranges, uint64_t from, uint64_t to);

/* Is the byte at `at` covered? *until_out: up to where (exclusive, UINT64_MAX for ever) the answer
 * stays the same. */
bool rset_ranges_cover(const rset_ranges *ranges, uint64_t at, uint64_t *until_out);

void rset_ranges_free(rset_ranges *ranges);

#endif
