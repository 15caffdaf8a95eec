/* solve.c: see solve.h.
 *
 * Columns are the lost data pieces of the stripe, a parity piece is a row over them. Good rows, lowest
 * first, are put into a basis as long as they add something, so at most as many are read as data is
 * lost. Each wanted piece is a vector over the same columns: a unit vector, or its parity row. It can
 * be computed exactly when the basis spans that vector; how it is spanned gives the weights of the
 * parity pieces, and what these carry of the good data is then taken out again. */
#include "solve.h"

#include "gf256.h"

#include <stdlib.h>
#include <string.h>

typedef struct solver {
    const rset_shape *shape;
    int               s;
    rset_piece       *piece; /* n: what each member holds */
    int               nwanted;
    int              *wanted; /* members, ascending */
    int               nlost;
    int              *lost;   /* members of lost data pieces, ascending: the columns */
    int              *holder; /* of each parity row the member, -1 if lost or not there */
    int               nrows;  /* parity rows that are there */
    int               cap;    /* rows that the basis can hold */
    int               rank;   /* rows in the basis */
    int              *row;    /* cap: which parity row each came from */
    int              *pivot;  /* cap: the column where it is 1 and all later basis rows are 0 */
    uint8_t          *basis;  /* cap x nlost */
    uint8_t *origin; /* cap x cap: basis row i = sum over j of origin[i][j] * parity row[j] */
    uint8_t *span;   /* nwanted x cap: wanted i = sum over j of span[i][j] * parity row[j] */
} solver;

/* Zeroed; never asks for 0 bytes. */
static void *
take(size_t count, size_t size)
{
    return calloc(count > 0 ? count : 1, size);
}

static uint8_t
coef(const solver *sv, int row, int member)
{
    return sv->shape->scheme->coef(sv->shape, row, member);
}

static void
solver_free(solver *sv)
{
    free(sv->span);
    free(sv->origin);
    free(sv->basis);
    free(sv->pivot);
    free(sv->row);
    free(sv->holder);
    free(sv->lost);
    free(sv->wanted);
    free(sv->piece);
}

/* Looks at every member once: what is wanted, what is lost, which parity is there. */
static rset_status
survey(solver *sv, const bool *good, const bool *want, rset_err *err)
{
    const rset_shape *shape = sv->shape;

    for (int u = 0; u < shape->parity; u++)
        sv->holder[u] = -1;
    for (int m = 0; m < shape->members; m++) {
        sv->piece[m] = shape->scheme->place(shape, sv->s, m);
        if (sv->piece[m].kind == RSET_PIECE_NONE)
            continue;
        if (good[m] && want[m])
            return rset_fail(err, RSET_BUG, "a piece that is there was to be computed");
        if (want[m])
            sv->wanted[sv->nwanted++] = m;
        if (!good[m] && sv->piece[m].kind == RSET_PIECE_DATA)
            sv->lost[sv->nlost++] = m;
        if (good[m] && sv->piece[m].kind == RSET_PIECE_PARITY) {
            sv->holder[sv->piece[m].row] = m;
            sv->nrows++;
        }
    }
    sv->cap = sv->nlost < sv->nrows ? sv->nlost : sv->nrows;
    return RSET_OK;
}

static rset_status
solver_init(solver *sv, const bool *good, const bool *want, rset_err *err)
{
    size_t      n = (size_t)sv->shape->members, cap;
    rset_status st;

    sv->piece = take(n, sizeof *sv->piece);
    sv->wanted = take(n, sizeof *sv->wanted);
    sv->lost = take(n, sizeof *sv->lost);
    sv->holder = take((size_t)sv->shape->parity, sizeof *sv->holder);
    if (sv->piece == NULL || sv->wanted == NULL || sv->lost == NULL || sv->holder == NULL)
        goto nomem;
    st = survey(sv, good, want, err);
    if (st != RSET_OK)
        return st;
    cap = (size_t)sv->cap;
    sv->row = take(cap, sizeof *sv->row);
    sv->pivot = take(cap, sizeof *sv->pivot);
    sv->basis = take(cap * (size_t)sv->nlost, 1);
    sv->origin = take(cap * cap, 1);
    sv->span = take(cap * (size_t)sv->nwanted, 1);
    if (sv->row != NULL && sv->pivot != NULL && sv->basis != NULL && sv->origin != NULL &&
        sv->span != NULL)
        return RSET_OK;
nomem:
    return rset_fail(err, RSET_NOMEM, "no memory to solve for the pieces of %d members",
                     sv->shape->members);
}

/* Subtracts basis rows from `v` until it is 0 at every pivot, adding to `x` what was taken of which
 * parity row. Later basis rows are 0 at earlier pivots, so one pass in order is enough. */
static void
reduce(const solver *sv, uint8_t *v, uint8_t *x)
{
    size_t cap = (size_t)sv->cap, columns = (size_t)sv->nlost;

    for (int i = 0; i < sv->rank; i++) {
        uint8_t c = v[sv->pivot[i]];

        rset_gf_mad(v, sv->basis + (size_t)i * columns, columns, c);
        rset_gf_mad(x, sv->origin + (size_t)i * cap, cap, c);
    }
}

static int
first_nonzero(const uint8_t *v, int len)
{
    int i = 0;

    while (i < len && v[i] == 0)
        i++;
    return i;
}

/* Puts good rows into the basis, those that are sums of earlier ones left out. */
static void
build_basis(solver *sv)
{
    size_t cap = (size_t)sv->cap, columns = (size_t)sv->nlost;

    for (int u = 0; u < sv->shape->parity && sv->rank < sv->cap; u++) {
        uint8_t *v = sv->basis + (size_t)sv->rank * columns;
        uint8_t *x = sv->origin + (size_t)sv->rank * cap;
        uint8_t  inverse;
        int      pivot;

        if (sv->holder[u] < 0)
            continue;
        for (int i = 0; i < sv->nlost; i++)
            v[i] = coef(sv, u, sv->lost[i]);
        memset(x, 0, cap);
        x[sv->rank] = 1;
        reduce(sv, v, x);
        pivot = first_nonzero(v, sv->nlost);
        if (pivot == sv->nlost)
            continue;
        inverse = rset_gf_inv(v[pivot]);
        rset_gf_mul_buf(v, v, columns, inverse);
        rset_gf_mul_buf(x, x, cap, inverse);
        sv->row[sv->rank] = u;
        sv->pivot[sv->rank] = pivot;
        sv->rank++;
    }
}

/* Expresses every wanted piece by the basis. false if one of them cannot be. `v` has nlost bytes. */
static bool
span_wanted(const solver *sv, uint8_t *v)
{
    for (int i = 0; i < sv->nwanted; i++) {
        const rset_piece *piece = &sv->piece[sv->wanted[i]];

        for (int j = 0; j < sv->nlost; j++)
            v[j] = piece->kind == RSET_PIECE_PARITY ? coef(sv, piece->row, sv->lost[j])
                                                    : sv->lost[j] == sv->wanted[i];
        reduce(sv, v, sv->span + (size_t)i * (size_t)sv->cap);
        if (first_nonzero(v, sv->nlost) < sv->nlost)
            return false;
    }
    return true;
}

/* Index in the basis of the parity row that `member` holds, -1 if it is not used. */
static int
basis_index(const solver *sv, int member)
{
    int i = 0;

    while (i < sv->rank && sv->row[i] != sv->piece[member].row)
        i++;
    return i < sv->rank ? i : -1;
}

/* Weight of the good data piece of `member` in wanted piece `i`. */
static uint8_t
data_weight(const solver *sv, int i, int member)
{
    const rset_piece *piece = &sv->piece[sv->wanted[i]];
    const uint8_t    *span = sv->span + (size_t)i * (size_t)sv->cap;
    uint8_t           w = piece->kind == RSET_PIECE_PARITY ? coef(sv, piece->row, member) : 0;

    for (int j = 0; j < sv->rank; j++) {
        if (span[j] != 0)
            w ^= rset_gf_mul(span[j], coef(sv, sv->row[j], member));
    }
    return w;
}

/* Weights of `member`'s piece in all wanted ones, into column[nwanted]. false if all are 0. */
static bool
weigh(const solver *sv, int member, uint8_t *column)
{
    bool parity = sv->piece[member].kind == RSET_PIECE_PARITY, used = false;
    int  index = parity ? basis_index(sv, member) : -1;

    if (parity && index < 0)
        return false;
    for (int i = 0; i < sv->nwanted; i++) {
        column[i] = parity ? sv->span[(size_t)i * (size_t)sv->cap + (size_t)index]
                           : data_weight(sv, i, member);
        used = used || column[i] != 0;
    }
    return used;
}

/* Fills sources and weights. `columns`: room for most + 1 columns of nwanted bytes, where most is
 * the number of pieces that may become sources. */
static void
fill(const solver *sv, const bool *good, uint8_t *columns, rset_solution *out)
{
    int    n = sv->shape->members;
    size_t height = (size_t)sv->nwanted;

    for (int i = 0; i < n; i++) {
        int m = (sv->s + 1 + i) % n;

        if (good[m] && sv->piece[m].kind != RSET_PIECE_NONE &&
            weigh(sv, m, columns + (size_t)out->nsources * height))
            out->sources[out->nsources++] = m;
    }
    for (int j = 0; j < out->nsources; j++) {
        for (int i = 0; i < out->nwanted; i++)
            out->weight[(size_t)i * (size_t)out->nsources + (size_t)j] =
                columns[(size_t)j * height + (size_t)i];
    }
}

/* Pieces that may become sources: all good data and the parity rows of the basis. */
static size_t
count_candidates(const solver *sv, const bool *good)
{
    size_t count = (size_t)sv->rank;

    for (int m = 0; m < sv->shape->members; m++)
        count += good[m] && sv->piece[m].kind == RSET_PIECE_DATA;
    return count;
}

/* Moves the result into *out. */
static rset_status
hand_over(solver *sv, const bool *good, rset_solution *out, rset_err *err)
{
    size_t   most = count_candidates(sv, good), height = (size_t)sv->nwanted;
    uint8_t *columns = take((most + 1) * height, 1);

    out->sources = take(most, sizeof *out->sources);
    out->weight = take(most * height, 1);
    if (columns == NULL || out->sources == NULL || out->weight == NULL) {
        free(columns);
        rset_solution_free(out);
        return rset_fail(err, RSET_NOMEM, "no memory for the weights of %d pieces from %zu",
                         sv->nwanted, most);
    }
    out->nwanted = sv->nwanted;
    fill(sv, good, columns, out);
    free(columns);
    out->wanted = sv->wanted;
    sv->wanted = NULL;
    return RSET_OK;
}

rset_status
rset_solve(const rset_shape *shape, int s, const bool *good, const bool *want, rset_solution *out,
           rset_err *err)
{
    solver      sv = {.shape = shape, .s = s};
    uint8_t    *scratch = NULL;
    rset_status st;

    memset(out, 0, sizeof *out);
    st = solver_init(&sv, good, want, err);
    if (st != RSET_OK || sv.nwanted == 0)
        goto done;
    scratch = take((size_t)sv.nlost, 1);
    if (scratch == NULL) {
        st = rset_fail(err, RSET_NOMEM, "no memory to solve for %d pieces", sv.nwanted);
        goto done;
    }
    build_basis(&sv);
    if (!span_wanted(&sv, scratch)) {
        st = rset_fail(err, RSET_LOST,
                       "%d data pieces of one stripe are lost and %d of its %d "
                       "parity pieces are left; that is more than %s with %d members covers",
                       sv.nlost, sv.nrows, shape->parity, shape->scheme->name, shape->members);
        goto done;
    }
    st = hand_over(&sv, good, out, err);
done:
    free(scratch);
    solver_free(&sv);
    return st;
}

void
rset_solution_free(rset_solution *sol)
{
    free(sol->weight);
    free(sol->sources);
    free(sol->wanted);
    memset(sol, 0, sizeof *sol);
}
