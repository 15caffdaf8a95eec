/* plan.c: see plan.h. */
#include "plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The pieces of one stripe while it is being cut. */
typedef struct cut {
    const rset_shape  *shape;
    const rset_health *health;
    bool               changes; /* "bad" is what has changed, and is to be added to parity */
    int                stripe;
    rset_piece        *pieces; /* per member */
    bool              *good, *want;
} cut;

/* Is member m's byte at `at` (relative to its piece) bad, and up to which relative offset? Data
 * beyond the end of a file are zeros, which nobody can lose. */
static bool
piece_bad(const cut *c, int m, uint64_t at, uint64_t *until)
{
    const rset_piece *p = &c->pieces[m];
    uint64_t          pos = p->offset + at, end;
    bool              bad;

    if (p->kind == RSET_PIECE_NONE) {
        *until = UINT64_MAX;
        return false;
    }
    if (p->kind == RSET_PIECE_PARITY) {
        bad = rset_ranges_cover(&c->health[m].payload, pos, &end);
    } else if (pos >= c->shape->length[m]) {
        bad = false;
        end = UINT64_MAX;
    } else {
        bad = rset_ranges_cover(&c->health[m].data, pos, &end);
        if (bad && end > c->shape->length[m])
            end = c->shape->length[m];
    }
    *until = end == UINT64_MAX ? UINT64_MAX : end - p->offset;
    return bad;
}

/* Marks good and wanted pieces at offset `at`; returns how many are wanted and where that changes. */
static int
look_at(cut *c, uint64_t at, uint64_t *until, int *nbad)
{
    int wanted = 0;

    *nbad = 0;
    for (int m = 0; m < c->shape->members; m++) {
        uint64_t end;
        bool     bad = piece_bad(c, m, at, &end);

        c->good[m] = !bad;
        c->want[m] = bad && (c->pieces[m].kind == RSET_PIECE_DATA ? c->health[m].want_data
                                                                  : c->health[m].want_payload);
        *nbad += bad;
        wanted += c->want[m];
        if (end < *until)
            *until = end;
    }
    return wanted;
}

static rset_status
add_segment(rset_plan *plan, rset_segment segment, rset_err *err)
{
    assert(plan->n == 0 || plan->segments[plan->n - 1].stripe <= segment.stripe); /* K3 */
    if (plan->n == plan->room) {
        size_t        room = plan->room > 0 ? 2 * plan->room : 16;
        rset_segment *grown = realloc(plan->segments, room * sizeof *grown);

        if (grown == NULL) {
            rset_solution_free(&segment.how);
            return rset_fail(err, RSET_NOMEM, "no memory for a plan of %zu segments", room);
        }
        plan->segments = grown;
        plan->room = room;
    }
    if (segment.how.nwanted > plan->most)
        plan->most = segment.how.nwanted;
    plan->segments[plan->n++] = segment;
    return RSET_OK;
}

/* Computes the bad pieces of a segment that are wanted from the good ones. */
static rset_status
solve_bad(cut *c, int nbad, rset_solution *how, rset_err *err)
{
    rset_status st = rset_solve(c->shape, c->stripe, c->good, c->want, how, NULL);

    if (st == RSET_LOST)
        return rset_fail(err, RSET_LOST,
                         "%d of the %d members of the set have lost pieces of the same stripe, "
                         "%s with %d redundant piece%s per stripe cannot repair that",
                         nbad, c->shape->members, c->shape->scheme->name, c->shape->parity,
                         c->shape->parity == 1 ? "" : "s");
    if (st != RSET_OK)
        return rset_fail(err, st, "no memory to plan stripe %d", c->stripe);
    return RSET_OK;
}

/* Adds the changed pieces of a segment, which are not good any more, to all parity pieces of the stripe. */
static rset_status
solve_changed(cut *c, int nbad, rset_solution *how, rset_err *err)
{
    int n = c->shape->members;

    how->wanted = calloc((size_t)n, sizeof *how->wanted);
    how->sources = calloc((size_t)n, sizeof *how->sources);
    how->weight = calloc((size_t)n * (size_t)nbad, 1);
    if (how->wanted == NULL || how->sources == NULL || how->weight == NULL) {
        rset_solution_free(how);
        return rset_fail(err, RSET_NOMEM, "no memory to plan stripe %d", c->stripe);
    }
    for (int i = 1; i <= n; i++)
        if (!c->good[(c->stripe + i) % n])
            how->sources[how->nsources++] = (c->stripe + i) % n;
    for (int m = 0; m < n; m++) {
        if (c->pieces[m].kind != RSET_PIECE_PARITY)
            continue;
        for (int j = 0; j < how->nsources; j++)
            how->weight[how->nwanted * how->nsources + j] =
                c->shape->scheme->coef(c->shape, c->pieces[m].row, how->sources[j]);
        how->wanted[how->nwanted++] = m;
    }
    return RSET_OK;
}

static rset_status
plan_stripe(cut *c, rset_plan *plan, rset_err *err)
{
    uint64_t length = c->shape->scheme->stripe_length(c->shape, c->stripe);

    for (int m = 0; m < c->shape->members; m++)
        c->pieces[m] = c->shape->scheme->place(c->shape, c->stripe, m);
    for (uint64_t at = 0, until; at < length; at = until) {
        rset_segment segment = {.stripe = c->stripe, .off = at};
        rset_status  st;
        int          nbad, wanted;

        until = length;
        wanted = look_at(c, at, &until, &nbad);
        if ((c->changes ? nbad : wanted) == 0)
            continue;
        segment.len = until - at;
        st = c->changes ? solve_changed(c, nbad, &segment.how, err)
                        : solve_bad(c, nbad, &segment.how, err);
        if (st == RSET_OK && segment.how.nwanted > 0)
            st = add_segment(plan, segment, err);
        else
            rset_solution_free(&segment.how);
        if (st != RSET_OK)
            return st;
    }
    return RSET_OK;
}

static rset_status
make(const rset_shape *shape, const rset_health *health, bool changes, rset_plan *plan_out,
     rset_err *err)
{
    size_t      n = (size_t)shape->members;
    cut         c = {.shape = shape, .health = health, .changes = changes};
    rset_plan   plan = {0};
    rset_status st = RSET_OK;

    c.pieces = calloc(n, sizeof *c.pieces);
    c.good = calloc(n, sizeof *c.good);
    c.want = calloc(n, sizeof *c.want);
    if (c.pieces == NULL || c.good == NULL || c.want == NULL)
        st = rset_fail(err, RSET_NOMEM, "no memory to plan for %zu members", n);
    for (c.stripe = 0; st == RSET_OK && c.stripe < shape->members; c.stripe++)
        st = plan_stripe(&c, &plan, err);
    free(c.pieces);
    free(c.good);
    free(c.want);
    if (st != RSET_OK)
        rset_plan_free(&plan);
    else
        *plan_out = plan;
    return st;
}

rset_status
rset_plan_make(const rset_shape *shape, const rset_health *health, rset_plan *plan_out,
               rset_err *err)
{
    return make(shape, health, false, plan_out, err);
}

rset_status
rset_plan_update(const rset_shape *shape, const rset_ranges *changed, rset_plan *plan_out,
                 rset_err *err)
{
    rset_health *health = calloc((size_t)shape->members, sizeof *health);
    rset_status  st;

    if (health == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory to plan for %d members", shape->members);
    for (int m = 0; m < shape->members; m++)
        health[m].data = changed[m]; /* borrowed */
    st = make(shape, health, true, plan_out, err);
    free(health);
    return st;
}

rset_status
rset_plan_encode(const rset_shape *shape, rset_plan *plan_out, rset_err *err)
{
    rset_health *health = calloc((size_t)shape->members, sizeof *health);
    rset_status  st = RSET_OK;

    if (health == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory to plan for %d members", shape->members);
    for (int m = 0; m < shape->members; m++) {
        health[m].want_payload = true;
        if (!rset_ranges_add(&health[m].payload, 0, UINT64_MAX))
            st = rset_fail(err, RSET_NOMEM, "no memory to plan for %d members", shape->members);
    }
    if (st == RSET_OK)
        st = rset_plan_make(shape, health, plan_out, err);
    for (int m = 0; m < shape->members; m++)
        rset_health_free(&health[m]);
    free(health);
    return st;
}

void
rset_plan_free(rset_plan *plan)
{
    for (size_t i = 0; i < plan->n; i++)
        rset_solution_free(&plan->segments[i].how);
    free(plan->segments);
    *plan = (rset_plan){0};
}

void
rset_health_free(rset_health *health)
{
    rset_ranges_free(&health->data);
    rset_ranges_free(&health->payload);
}
