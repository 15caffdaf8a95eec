/* solve_shapes.h: sets of every scheme, for the tests of the elimination. */
#ifndef SOLVE_SHAPES_H
#define SOLVE_SHAPES_H

#include "codec/solve.h"

enum { SMALL = 8, MANY = 4000 };

static uint64_t lengths[MANY];

static inline rset_shape
shape_of(const rset_scheme *scheme, int members, int parity)
{
    for (int m = 0; m < members; m++)
        lengths[m] = 1000;
    return (rset_shape){.scheme = scheme,
                        .members = members,
                        .parity = parity,
                        .length = lengths,
                        .chunk = rset_shape_chunk(scheme, members, parity, 1000)};
}

/* Runs `test` for every scheme and parity with `members` members. */
static inline void
for_all_shapes(int members, void (*test)(const rset_shape *shape))
{
    rset_shape shape = shape_of(&rset_scheme_single, members, 0);

    test(&shape);
    if (members < 2)
        return;
    shape = shape_of(&rset_scheme_xor, members, 1);
    test(&shape);
    for (int parity = 1; parity < members; parity++) {
        shape = shape_of(&rset_scheme_partner, members, parity);
        test(&shape);
        shape = shape_of(&rset_scheme_rs, members, parity);
        test(&shape);
    }
}

#endif
