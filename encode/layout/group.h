/* group.h: failure groups in, redundancy sets out (FORMAT.md 4). Pure and local: every rank that
 * passes the same arguments gets the same answer. */
#ifndef RSET_GROUP_H
#define RSET_GROUP_H

#include "common/err.h"

#include <stdint.h>

/* Place of one rank. */
typedef struct rset_place {
    int set;     /* set id, 0-based */
    int member;  /* place in the set, 0-based */
    int members; /* size of the set */
} rset_place;

/* The ranks that are to be divided.
 * groups[r]: failure group of rank r; equal numbers are one group.
 * order[r]: rank of r in MPI_COMM_WORLD, which orders the members of a set (FORMAT.md 4.4); NULL means r itself. */
typedef struct rset_ranks {
    int             n;
    const uint64_t *groups;
    const int      *order;
} rset_ranks;

/* Sizes of sets: as wanted (m, >= 1), and the least that carries the scheme (>= 1). */
typedef struct rset_set_size {
    int wanted, least;
} rset_set_size;

/* Divides ranks into sets such that no set has two ranks of one failure group: as FORMAT.md 4 says, or where a set would be
 * smaller than size->least, evenly. If the largest group times size->least is more than ranks->n, ranks are left over: the
 * last ones of large groups, as few as possible; each is a set of its own, of one member. If no set of size->least members
 * is possible at all, as FORMAT.md 4 says.
 * place_out: ranks->n entries. sets_out: number of sets. RSET_USAGE for no ranks or a wanted size < 1, RSET_NOMEM. Cost
 * O(n log n). */
rset_status rset_group_form(const rset_ranks *ranks, const rset_set_size *size,
                            rset_place *place_out, int *sets_out, rset_err *err);

/* The number of a group with this name (its host, usually): its CRC-64. Two names with one number would be one group, which is
 * safe: its ranks are in different sets. Pure. */
uint64_t rset_group_number(const char *name);

/* SINGLE: each rank is its own set, id = rank (FORMAT.md 4). */
void rset_group_single(int nranks, rset_place *place_out, int *sets_out);

#endif
