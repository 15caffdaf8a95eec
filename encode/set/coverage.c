/* coverage.c: see coverage.h. */
#include "coverage.h"

static int
count_bad(const rset_shape *shape, const rset_health *health)
{
    int n = 0;

    for (int m = 0; m < shape->members; m++)
        n += health[m].data.n > 0 || health[m].payload.n > 0;
    return n;
}

/* The likeliest first: with parity over all of the set it does not matter which members are lost, but how many. */
static rset_status
say_lost(const rset_shape *shape, const rset_health *health, rset_err *why)
{
    const int bad = count_bad(shape, health);

    if (shape->scheme->striped && bad > shape->parity)
        return rset_fail(why, RSET_LOST,
                         "%d of the %d members of the set have lost pieces, and %s brings back %d",
                         bad, shape->members, shape->scheme->name, shape->parity);
    return rset_fail(why, RSET_LOST,
                     "what was recorded of a member is lost or out of reach together with its "
                     "neighbours' redundancy files");
}

rset_status
rset_cover(const rset_shape *shape, rset_health *health, unsigned lacks, bool data_only,
           rset_plan *plan_out, rset_err *why)
{
    const unsigned needed = data_only ? RSET_LACKS_DATA : RSET_LACKS_DATA | RSET_LACKS_PAYLOAD;
    rset_plan      plan = {0};
    rset_status    st;

    for (int m = 0; data_only && m < shape->members; m++)
        health[m].want_payload = false;
    if ((lacks & needed) != 0)
        return say_lost(shape, health, why);
    st = rset_plan_make(shape, health, plan_out != NULL ? plan_out : &plan, why);
    rset_plan_free(&plan);
    return st;
}
