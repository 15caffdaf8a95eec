/* striped_internal.h: the placement that XOR and RS share (FORMAT.md 7), with k = shape->parity.
 * For the scheme tables in scheme_xor.c and scheme_reed_solomon.c only. */
#ifndef RSET_STRIPED_INTERNAL_H
#define RSET_STRIPED_INTERNAL_H

#include "scheme.h"

uint64_t   rset_striped_length(const rset_shape *shape, int s);
rset_piece rset_striped_place(const rset_shape *shape, int s, int member);

#endif
