/* scheme_striped.h: the placement that XOR and RS share (FORMAT.md 7), with k = shape->parity.
 * For the scheme tables in scheme_xor.c and scheme_reed_solomon.c only. */
#ifndef RSET_SCHEME_STRIPED_H
#define RSET_SCHEME_STRIPED_H

#include "scheme.h"

uint64_t   rset_striped_length(const rset_shape *shape, int s);
rset_piece rset_striped_place(const rset_shape *shape, int s, int member);

#endif
