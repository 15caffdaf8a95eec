/* scheme_reed_solomon.c: RS, k parity pieces per stripe over the matrix of FORMAT.md 9. */
#include "gf256.h"
#include "striped_internal.h"

enum { FIELD = 256 }; /* each of the n + k rows of the matrix is a field element */

static rset_status
check(int members, int parity, rset_err *err)
{
    int most;

    if (members < 2 || members >= FIELD)
        return rset_fail(err, RSET_USAGE,
                         "an RS set of %d members is not possible; "
                         "it can have 2 to %d",
                         members, FIELD - 1);
    most = members - 1 < FIELD - members ? members - 1 : FIELD - members;
    if (parity < 1 || parity > most)
        return rset_fail(err, RSET_USAGE,
                         "RS with %d checksums is not possible; "
                         "a set of %d members can have 1 to %d",
                         parity, members, most);
    return RSET_OK;
}

static int
left(int parity)
{
    return parity;
}

/* The column is the member's own, whatever the stripe. */
static uint8_t
coef(const rset_shape *shape, int row, int member)
{
    return rset_gf_rs_coef(shape->members, row, member);
}

const rset_scheme rset_scheme_rs = {
    .name = "RS",
    .file_name = "rs",
    .count_key = "CKSUM",
    .striped = true,
    .check = check,
    .left = left,
    .stripe_length = rset_striped_length,
    .place = rset_striped_place,
    .coef = coef,
};
