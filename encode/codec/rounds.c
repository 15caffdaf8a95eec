/* rounds.c: see rounds.h. */
#include "rounds.h"

#include <assert.h>
#include <stdlib.h>

enum { PIECE_MIN = 16 * 1024 /* what memory is worth: smaller ones are slow */ };

static rset_status
find_stripes(const rset_shape *shape, const rset_plan *plan, rset_rounds *out, rset_err *err)
{
    size_t seg = 0;

    out->first = calloc((size_t)shape->members + 1, sizeof *out->first);
    if (out->first == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for %d members", shape->members);
    for (int stripe = 0; stripe < shape->members; stripe++) {
        out->first[stripe] = seg;
        while (seg < plan->n && plan->segments[seg].stripe == stripe) {
            const rset_segment *g = &plan->segments[seg++];

            if (g->off + g->len > out->longest)
                out->longest = g->off + g->len;
        }
    }
    out->first[shape->members] = seg;
    return RSET_OK;
}

/* How many segments of a stripe meet in one piece of it, at most. */
static size_t
most_in_a_piece(const rset_plan *plan, const rset_rounds *rounds, int stripe)
{
    size_t   most = 0, n = 0;
    uint64_t piece = UINT64_MAX; /* that n counts */

    for (size_t i = rounds->first[stripe]; i < rounds->first[stripe + 1]; i++) {
        const rset_segment *g = &plan->segments[i];
        const uint64_t from = g->off / rounds->piece, to = (g->off + g->len - 1) / rounds->piece;

        n = from == piece ? n + 1 : 1;
        most = n > most ? n : most;
        if (from != to)
            n = 1;
        piece = to;
    }
    return most;
}

static size_t
most_jobs(const rset_shape *shape, const rset_plan *plan, const rset_rounds *rounds)
{
    size_t most = 0;

    for (int stripe = 0, in = 0; stripe < shape->members; stripe += in) {
        size_t n = 0;

        for (in = 0; in < rounds->batch && stripe + in < shape->members; in++)
            n += most_in_a_piece(plan, rounds, stripe + in);
        most = n > most ? n : most;
    }
    return most;
}

/* The largest piece, and then the most stripes at a time, whose buffers fit; and whose jobs are not too many. */
rset_status
rset_rounds_make(const rset_shape *shape, const rset_plan *plan, const rset_rounds_limits *limits,
                 rset_rounds *out, rset_err *err)
{
    const uint64_t computed = plan->most > 0 ? (uint64_t)plan->most : 1;
    const uint64_t room = limits->memory / computed, all = (uint64_t)shape->members;
    rset_status    st;

    *out = (rset_rounds){.piece = limits->piece};
    st = find_stripes(shape, plan, out, err);
    if (st != RSET_OK)
        return st;
    while (out->piece > PIECE_MIN && out->piece * all > room)
        out->piece /= 2;
    out->batch = room / out->piece < all ? (int)(room / out->piece) : (int)all;
    if (out->batch < 1)
        out->batch = 1;
    if (out->piece > out->longest)
        out->piece = out->longest > 0 ? out->longest : 1;
    while ((out->jobs = most_jobs(shape, plan, out)) > limits->jobs) { /* one byte is one job */
        if (out->batch > 1)
            out->batch = (out->batch + 1) / 2;
        else
            out->piece = (out->piece + 1) / 2;
    }
    assert(out->piece > 0 && out->batch > 0 && out->jobs <= limits->jobs); /* K5 */
    out->bytes = (size_t)(out->piece * computed) * (size_t)out->batch;
    return RSET_OK;
}

void
rset_rounds_free(rset_rounds *rounds)
{
    free(rounds->first);
    *rounds = (rset_rounds){0};
}
