/* test_solve.c: one elimination for all schemes: it answers exactly what the rank of the matrix allows, and what it computes
 * are the original bytes (P2, P9). What FORMAT.md says of it: test_solve_format.c. */
#include "gf_base.h"
#include "solve_shapes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WIDTH = 16 };

static uint32_t seed = 99;

static uint8_t
random8(void)
{
    seed = seed * 1664525 + 1013904223;
    return (uint8_t)(seed >> 24);
}

/* --- the truth: pieces as vectors over the data of all members --- */

/* What `member` holds of stripe `s` as coefficients of each member's data; zeros if nothing. */
static void
as_vector(const rset_shape *shape, int s, int member, uint8_t *v)
{
    rset_piece piece = shape->scheme->place(shape, s, member);

    for (int q = 0; q < shape->members; q++) {
        bool data = shape->scheme->place(shape, s, q).kind == RSET_PIECE_DATA;

        v[q] = 0;
        if (piece.kind == RSET_PIECE_DATA)
            v[q] = q == member;
        if (piece.kind == RSET_PIECE_PARITY && data)
            v[q] = shape->scheme->coef(shape, piece.row, q);
    }
}

static int
rank_of(uint8_t m[][SMALL], int rows, int columns)
{
    int rank = 0;

    for (int c = 0; c < columns; c++) {
        int p = rank;

        while (p < rows && m[p][c] == 0)
            p++;
        if (p == rows)
            continue;
        for (int i = 0; i < columns; i++) {
            uint8_t other = m[p][i];

            m[p][i] = m[rank][i];
            m[rank][i] = other;
        }
        for (int r = rank + 1; r < rows; r++) {
            uint8_t f = rset_gf_mul(m[r][c], rset_gf_inv(m[rank][c]));

            gf_mad_base(m[r], m[rank], (size_t)columns, f);
        }
        rank++;
    }
    return rank;
}

/* Do the good pieces determine all wanted ones? By rank, with nothing of solve.c. */
static bool
determined(const rset_shape *shape, int s, const bool *good, const bool *want)
{
    uint8_t known[SMALL][SMALL] = {0}, all[2 * SMALL][SMALL];
    int     n = shape->members, rows = 0, more;

    for (int m = 0; m < n; m++) {
        if (good[m])
            as_vector(shape, s, m, known[rows++]);
    }
    memcpy(all, known, sizeof known);
    more = rows;
    for (int m = 0; m < n; m++) {
        if (want[m])
            as_vector(shape, s, m, all[more++]);
    }
    return rank_of(known, rows, n) == rank_of(all, more, n);
}

/* --- checking a solution --- */

static void
make_pieces(const rset_shape *shape, int s, uint8_t (*bytes)[WIDTH])
{
    int n = shape->members;

    for (int m = 0; m < n; m++) {
        for (int i = 0; i < WIDTH; i++)
            bytes[m][i] = shape->scheme->place(shape, s, m).kind == RSET_PIECE_DATA ? random8() : 0;
    }
    for (int m = 0; m < n; m++) {
        rset_piece piece = shape->scheme->place(shape, s, m);

        for (int q = 0; piece.kind == RSET_PIECE_PARITY && q < n; q++) {
            if (shape->scheme->place(shape, s, q).kind == RSET_PIECE_DATA)
                gf_mad_base(bytes[m], bytes[q], WIDTH, shape->scheme->coef(shape, piece.row, q));
        }
    }
}

/* The shape that solve.h promises: ascending wanted, good sources in ring order, none unused. */
static void
expect_tidy(const rset_shape *shape, int s, const bool *good, const bool *want,
            const rset_solution *sol)
{
    int n = shape->members, expected = 0, last = -1;

    for (int m = 0; m < n; m++) {
        if (want[m] && shape->scheme->place(shape, s, m).kind != RSET_PIECE_NONE)
            assert_int_equal(sol->wanted[expected++], m);
    }
    assert_int_equal(sol->nwanted, expected);
    for (int j = 0; j < sol->nsources; j++) {
        int     distance = (sol->sources[j] - s - 1 + n) % n;
        uint8_t any = 0;

        assert_true(good[sol->sources[j]] && distance > last);
        assert_int_not_equal(shape->scheme->place(shape, s, sol->sources[j]).kind, RSET_PIECE_NONE);
        last = distance;
        for (int i = 0; i < sol->nwanted; i++)
            any |= sol->weight[i * sol->nsources + j];
        assert_int_not_equal(any, 0);
    }
}

static void
expect_originals(const rset_solution *sol, uint8_t (*bytes)[WIDTH])
{
    for (int i = 0; i < sol->nwanted; i++) {
        uint8_t sum[WIDTH] = {0};

        for (int j = 0; j < sol->nsources; j++)
            gf_mad_base(sum, bytes[sol->sources[j]], WIDTH, sol->weight[i * sol->nsources + j]);
        assert_memory_equal(sum, bytes[sol->wanted[i]], WIDTH);
    }
}

/* Solves and checks everything that can be checked about the answer. */
static void
try_pattern(const rset_shape *shape, int s, const bool *good, const bool *want)
{
    uint8_t       bytes[SMALL][WIDTH];
    rset_solution sol;
    rset_err      err = RSET_ERR_NONE;
    rset_status   st = rset_solve(shape, s, good, want, &sol, &err);

    assert_int_equal(st, determined(shape, s, good, want) ? RSET_OK : RSET_LOST);
    if (st == RSET_OK) {
        make_pieces(shape, s, bytes);
        expect_tidy(shape, s, good, want, &sol);
        expect_originals(&sol, bytes);
    } else {
        assert_int_equal(err.status, RSET_LOST);
        assert_true(sol.nwanted == 0 && sol.nsources == 0 && sol.wanted == NULL &&
                    sol.sources == NULL && sol.weight == NULL);
    }
    rset_solution_free(&sol);
}

/* Each member is good, lost and wanted, or lost and not wanted. */
static void
try_all_patterns(const rset_shape *shape)
{
    int n = shape->members, patterns = 1;

    for (int m = 0; m < n; m++)
        patterns *= 3;
    for (int s = 0; s < n; s++) {
        for (int p = 0; p < patterns; p++) {
            bool good[SMALL], want[SMALL];

            for (int m = 0, rest = p; m < n; m++, rest /= 3) {
                good[m] = rest % 3 == 0;
                want[m] = rest % 3 == 1;
            }
            try_pattern(shape, s, good, want);
        }
    }
}

static void
all_patterns_of_2_to_7_members_are_solved_as_far_as_rank_allows_p2(void **state)
{
    (void)state;
    for (int n = 1; n <= 7; n++)
        for_all_shapes(n, try_all_patterns);
}

/* A scheme of no use: 4 data pieces, 3 parity pieces, of which the third is the sum of the others. */
static rset_piece
poor_place(const rset_shape *shape, int s, int member)
{
    (void)shape, (void)s;
    return member < 4 ? (rset_piece){.kind = RSET_PIECE_DATA}
                      : (rset_piece){.kind = RSET_PIECE_PARITY, .row = member - 4};
}

static uint8_t
poor_coef(const rset_shape *shape, int row, int member)
{
    static const uint8_t rows[3][4] = {{0, 2, 1, 0}, {3, 0, 1, 0}, {3, 2, 0, 0}};

    (void)shape;
    return rows[row][member];
}

static void
any_linear_scheme_is_solved_as_far_as_rank_allows(void **state)
{
    const rset_scheme poor = {.name = "POOR", .place = poor_place, .coef = poor_coef};
    rset_shape        shape = {.scheme = &poor, .members = 7, .parity = 3, .length = lengths};

    (void)state;
    try_all_patterns(&shape);
}

/* One lost member for each parity of a large set: the last ones. */
static void
expect_large_set_rebuilt(const rset_scheme *scheme, int n, int parity)
{
    rset_shape shape = shape_of(scheme, n, parity);
    bool      *good = malloc((size_t)n), *want = malloc((size_t)n);
    uint8_t(*bytes)[WIDTH] = malloc((size_t)n * sizeof *bytes);

    assert_true(good != NULL && want != NULL && bytes != NULL);
    for (int m = 0; m < n; m++) {
        want[m] = m >= n - parity;
        good[m] = !want[m];
    }
    for (int s = n - parity; s < n + 2; s++) {
        rset_solution sol;

        assert_int_equal(rset_solve(&shape, s % n, good, want, &sol, NULL), RSET_OK);
        make_pieces(&shape, s % n, bytes);
        expect_tidy(&shape, s % n, good, want, &sol);
        expect_originals(&sol, bytes);
        rset_solution_free(&sol);
    }
    free(bytes);
    free(want);
    free(good);
}

static void
sets_of_thousands_and_the_largest_rs_sets_are_solved_p9(void **state)
{
    (void)state;
    expect_large_set_rebuilt(&rset_scheme_xor, MANY, 1);
    expect_large_set_rebuilt(&rset_scheme_partner, MANY, 3);
    expect_large_set_rebuilt(&rset_scheme_rs, 255, 1);
    expect_large_set_rebuilt(&rset_scheme_rs, 248, 8);
    expect_large_set_rebuilt(&rset_scheme_rs, 129, 127);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_patterns_of_2_to_7_members_are_solved_as_far_as_rank_allows_p2),
        cmocka_unit_test(any_linear_scheme_is_solved_as_far_as_rank_allows),
        cmocka_unit_test(sets_of_thousands_and_the_largest_rs_sets_are_solved_p9),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
