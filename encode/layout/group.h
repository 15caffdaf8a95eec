/* group.h: failure groups in, redundancy sets out (FORMAT.md 4). Pure and local: every rank that
 * passes the same arguments gets the same answer. */
#ifndef RSET_GROUP_H
#define RSET_GROUP_H

#include "common/err.h"

/* Place of one rank. */
typedef struct rset_place {
    int set;     /* set id, 0-based */
    int member;  /* place in the set, 0-based */
    int members; /* size of the set */
} rset_place;

/* Divides `nranks` ranks into sets such that no set has two ranks of one failure group.
 * names[r]: failure group of rank r (host name, usually); equal strings are one group.
 * min_size: wanted set size m, >= 1.
 * order[r]: rank of r in MPI_COMM_WORLD, which orders the members of a set (FORMAT.md 4.4); NULL
 * means r itself.
 * place_out: nranks entries. sets_out: number of sets.
 * RSET_USAGE for nranks or min_size < 1, RSET_NOMEM. Cost O(nranks log nranks). */
rset_status rset_group_form(int nranks, const char *const *names, int min_size, const int *order,
                            rset_place *place_out, int *sets_out, rset_err *err);

/* SINGLE: each rank is its own set, id = rank (FORMAT.md 4). */
void rset_group_single(int nranks, rset_place *place_out, int *sets_out);

#endif
