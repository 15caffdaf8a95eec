/* scheme_striped.c: see striped_internal.h. */
#include "striped_internal.h"

uint64_t
rset_striped_length(const rset_shape *shape, int s)
{
    (void)s;
    return shape->chunk;
}

rset_piece
rset_striped_place(const rset_shape *shape, int s, int member)
{
    int n = shape->members, k = shape->parity;
    int slot = s >= member ? s - member : s - member + n;
    int wrapped = member + k > n ? member + k - n : 0; /* its parity slots in stripes 0, 1, ... */
    int chunk = s - (s > member ? k : 0) - wrapped;

    if (slot < k)
        return (rset_piece){
            .kind = RSET_PIECE_PARITY, .row = slot, .offset = (uint64_t)slot * shape->chunk};
    return (rset_piece){.kind = RSET_PIECE_DATA, .offset = (uint64_t)chunk * shape->chunk};
}
