/* scheme_xor.c: XOR, one parity piece per stripe, the sum of all data pieces. */
#include "striped_internal.h"

static rset_status
check(int members, int parity, rset_err *err)
{
    if (members < 2)
        return rset_fail(err, RSET_USAGE,
                         "an XOR set of %d members is not possible; "
                         "it needs 2 or more",
                         members);
    if (parity != 1)
        return rset_fail(err, RSET_USAGE, "XOR with %d parity pieces is not possible; it has 1",
                         parity);
    return RSET_OK;
}

static int
left(int parity)
{
    (void)parity;
    return 1;
}

static uint8_t
coef(const rset_shape *shape, int row, int member)
{
    (void)shape, (void)row, (void)member;
    return 1;
}

const rset_scheme rset_scheme_xor = {
    .name = "XOR",
    .file_name = "xor",
    .striped = true,
    .check = check,
    .left = left,
    .stripe_length = rset_striped_length,
    .place = rset_striped_place,
    .coef = coef,
};
