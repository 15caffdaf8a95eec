/* coverage.c: see coverage.h. */
#include "coverage.h"

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
        return rset_fail(why, RSET_LOST,
                         "what was recorded of a member is lost or out of reach together with its "
                         "neighbours' redundancy files");
    st = rset_plan_make(shape, health, plan_out != NULL ? plan_out : &plan, why);
    rset_plan_free(&plan);
    return st;
}
