/* scheme_single.c: SINGLE, the files of a rank and no redundancy. Protects nothing against loss; what
 * it gives is the record of names, sizes and checksums. */
#include "scheme.h"

static rset_status
check(int members, int parity, rset_err *err)
{
    if (members != 1)
        return rset_fail(err, RSET_USAGE, "a SINGLE set of %d members is not possible; it has 1",
                         members);
    if (parity != 0)
        return rset_fail(err, RSET_USAGE, "SINGLE with %d parity pieces is not possible; it has 0",
                         parity);
    return RSET_OK;
}

static int
left(int parity)
{
    (void)parity;
    return 0;
}

static uint64_t
stripe_length(const rset_shape *shape, int s)
{
    return shape->length[s];
}

static rset_piece
place(const rset_shape *shape, int s, int member)
{
    (void)shape;
    return (rset_piece){.kind = member == s ? RSET_PIECE_DATA : RSET_PIECE_NONE};
}

static uint8_t
coef(const rset_shape *shape, int row, int member)
{
    (void)shape, (void)row, (void)member;
    return 0;
}

const rset_scheme rset_scheme_single = {
    .name = "SINGLE",
    .file_name = "single",
    .check = check,
    .left = left,
    .stripe_length = stripe_length,
    .place = place,
    .coef = coef,
};
