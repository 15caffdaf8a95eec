/* solve.h: which lost pieces of a stripe can be computed from which others, and how.
 *
 * One elimination for all schemes, for encoding (all parity pieces wanted, all data there) as for any
 * rebuild. Pure. */
#ifndef RSET_SOLVE_H
#define RSET_SOLVE_H

#include "scheme.h"

/* Computes `want`ed pieces of stripe `s`:   wanted[i] = sum over j of weight[i * nsources + j] *
 * source[j].  Bytes wise in GF(2^8). */
typedef struct rset_solution {
    int      nwanted;  /* pieces to be computed */
    int     *wanted;   /* their members, ascending; owned */
    int      nsources; /* members whose pieces are read */
    int     *sources;  /* in ring order, the first to the right of member s, so that neighbouring
                          stripes load the ring evenly; no source has only zero weights; owned */
    uint8_t *weight;   /* nwanted x nsources; owned */
} rset_solution;

/* good[m]: member m's piece of the stripe can be read. want[m]: it shall be computed; only pieces
 * that are not good may be wanted. Members that hold nothing of the stripe are ignored in both.
 * A wanted piece may depend on a lost one that is not wanted; that is solved too.
 * RSET_LOST when the good pieces do not determine every wanted one (then *out is empty; `err` may be
 * NULL and gets a message that counts the lost and names none), RSET_NOMEM. Nothing wanted: OK, with
 * nwanted = nsources = 0. */
rset_status rset_solve(const rset_shape *shape, int s, const bool *good, const bool *want,
                       rset_solution *out, rset_err *err);

void rset_solution_free(rset_solution *sol);

#endif
