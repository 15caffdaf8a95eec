/* scheme_partner.c: PARTNER, R whole copies on the R members to the right. */
#include "scheme.h"

static rset_status
check(int members, int parity, rset_err *err)
{
    if (members < 2)
        return rset_fail(err, RSET_USAGE,
                         "a PARTNER set of %d members is not possible; "
                         "it needs 2 or more",
                         members);
    if (parity < 1 || parity >= members)
        return rset_fail(err, RSET_USAGE,
                         "PARTNER with %d replicas is not possible; "
                         "a set of %d members can have 1 to %d",
                         parity, members, members - 1);
    return RSET_OK;
}

static int
left(int parity)
{
    return parity;
}

static uint64_t
stripe_length(const rset_shape *shape, int s)
{
    return shape->length[s];
}

/* A payload holds the left neighbours' files, the nearest first. */
static rset_piece
place(const rset_shape *shape, int s, int member)
{
    int        n = shape->members;
    int        distance = member >= s ? member - s : member - s + n;
    rset_piece piece = {.kind = RSET_PIECE_NONE};

    if (distance == 0)
        piece.kind = RSET_PIECE_DATA;
    if (distance == 0 || distance > shape->parity)
        return piece;
    piece.kind = RSET_PIECE_PARITY;
    piece.row = distance - 1;
    for (int d = 1; d < distance; d++)
        piece.offset += shape->length[member >= d ? member - d : member - d + n];
    return piece;
}

static uint8_t
coef(const rset_shape *shape, int row, int member)
{
    (void)shape, (void)row, (void)member;
    return 1;
}

const rset_scheme rset_scheme_partner = {
    .name = "PARTNER",
    .file_name = "partner",
    .count_key = "REPLICAS",
    .check = check,
    .left = left,
    .stripe_length = stripe_length,
    .place = place,
    .coef = coef,
};
