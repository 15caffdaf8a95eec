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

static rset_status
plan(const rset_shape *shape, rset_health *health, unsigned lacks, rset_plan *plan_out,
     rset_err *why)
{
    rset_plan   unused = {0};
    rset_status st;

    if (lacks != 0)
        return say_lost(shape, health, why);
    st = rset_plan_make(shape, health, plan_out != NULL ? plan_out : &unused, why);
    rset_plan_free(&unused);
    return st;
}

rset_status
rset_cover(const rset_shape *shape, rset_health *health, unsigned lacks, rset_plan *plan_out,
           rset_coverage *coverage_out, rset_err *why)
{
    rset_status st =
        plan(shape, health, lacks & (RSET_LACKS_DATA | RSET_LACKS_PAYLOAD), plan_out, why);

    *coverage_out = RSET_COVERAGE_WHOLE;
    if (st == RSET_LOST) {
        for (int m = 0; m < shape->members; m++)
            health[m].want_payload = false;
        *coverage_out = RSET_COVERAGE_DATA;
        st = plan(shape, health, lacks & RSET_LACKS_DATA, plan_out, why);
    }
    if (st == RSET_OK && (lacks & RSET_LACKS_CHECK) != 0)
        *coverage_out = RSET_COVERAGE_UNVERIFIED;
    if (st == RSET_LOST)
        *coverage_out = RSET_COVERAGE_NOT;
    return st == RSET_LOST ? RSET_OK : st;
}

static rset_status
all_bad(rset_ranges *ranges, rset_err *err)
{
    rset_ranges_free(ranges);
    return rset_ranges_add(ranges, 0, UINT64_MAX)
               ? RSET_OK
               : rset_fail(err, RSET_NOMEM, "no memory for a list of damage");
}

rset_status
rset_judge_pieces(const rset_pieces_found *found, rset_health *health, rset_pieces_are *out,
                  rset_err *err)
{
    const bool  alike = found->known && found->there && found->alike;
    rset_status st = RSET_OK;

    *out = (rset_pieces_are){0};
    if (!found->compared && !alike) {
        out->unverified = !found->known && found->there;
        out->damaged = !out->unverified;
        out->lacks = out->unverified ? RSET_LACKS_CHECK : found->known ? 0 : RSET_LACKS_DATA;
        st = all_bad(&health->data, err);
    }
    if (st == RSET_OK && !found->has)
        st = all_bad(&health->payload, err);
    if (!found->has && !found->records)
        out->lacks |= RSET_LACKS_PAYLOAD;
    return st;
}
