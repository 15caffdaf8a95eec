/* One elimination for all schemes: it answers exactly what the rank of the matrix allows, what it
 * computes are the original bytes, and encoding comes out of it with the coefficients of FORMAT.md. */
#include "codec/solve.h"
#include "gf_base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { SMALL = 8, WIDTH = 16, MANY = 4000 };

static uint64_t lengths[MANY];
static uint32_t seed = 99;

static uint8_t
random8(void)
{
    seed = seed * 1664525 + 1013904223;
    return (uint8_t)(seed >> 24);
}

static rset_shape
shape_of(const rset_scheme *scheme, int members, int parity)
{
    for (int m = 0; m < members; m++)
        lengths[m] = 1000;
    return (rset_shape){.scheme = scheme,
                        .members = members,
                        .parity = parity,
                        .length = lengths,
                        .chunk = rset_shape_chunk(scheme, members, parity, 1000)};
}

/* Runs `test` for every scheme and parity with `members` members. */
static void
for_all_shapes(int members, void (*test)(const rset_shape *shape))
{
    rset_shape shape = shape_of(&rset_scheme_single, members, 0);

    test(&shape);
    if (members < 2)
        return;
    shape = shape_of(&rset_scheme_xor, members, 1);
    test(&shape);
    for (int parity = 1; parity < members; parity++) {
        shape = shape_of(&rset_scheme_partner, members, parity);
        test(&shape);
        shape = shape_of(&rset_scheme_rs, members, parity);
        test(&shape);
    }
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

/* Can every stripe give back what the members in `lost` held? */
static bool
recoverable(const rset_shape *shape, unsigned lost)
{
    bool good[SMALL], want[SMALL], all = true;

    for (int m = 0; m < shape->members; m++) {
        want[m] = (lost >> m & 1) != 0;
        good[m] = !want[m];
    }
    for (int s = 0; s < shape->members; s++) {
        rset_solution sol;

        all = rset_solve(shape, s, good, want, &sol, NULL) == RSET_OK && all;
        rset_solution_free(&sol);
    }
    return all;
}

/* Of all ways to lose `count` members, how many are recoverable; *of_out: how many there are. */
static int
count_recoverable(const rset_shape *shape, int count, int *of_out)
{
    int yes = 0;

    *of_out = 0;
    for (unsigned lost = 0; lost < 1u << shape->members; lost++) {
        if (__builtin_popcount(lost) != count)
            continue;
        ++*of_out;
        yes += recoverable(shape, lost);
    }
    return yes;
}

static void
partner_of_6_with_one_copy_survives_9_of_15_double_losses(void **state)
{
    rset_shape shape = shape_of(&rset_scheme_partner, 6, 1);
    int        of;

    (void)state;
    assert_int_equal(count_recoverable(&shape, 2, &of), 9);
    assert_int_equal(of, 15);
    assert_int_equal(count_recoverable(&shape, 1, &of), 6);
}

static void
rs_8_k3_survives_all_92_losses_of_3_or_fewer_and_none_of_70_of_4(void **state)
{
    rset_shape shape = shape_of(&rset_scheme_rs, 8, 3);
    int        of[4], yes = 0;

    (void)state;
    for (int count = 1; count <= 3; count++)
        yes += count_recoverable(&shape, count, &of[count]);
    assert_int_equal(yes, 92);
    assert_int_equal(of[1] + of[2] + of[3], 92);
    assert_int_equal(count_recoverable(&shape, 4, &of[0]), 0);
    assert_int_equal(of[0], 70);
}

/* FORMAT.md 10: SINGLE nothing, XOR one, RS k, PARTNER a survivor among the right neighbours. */
static void
expect_rule_of_the_format(const rset_shape *shape)
{
    int n = shape->members;

    for (unsigned lost = 0; lost < 1u << n; lost++) {
        bool yes = __builtin_popcount(lost) <= shape->parity;

        if (shape->scheme == &rset_scheme_partner) {
            yes = true;
            for (int m = 0; m < n; m++) {
                bool survivor = (lost >> m & 1) == 0;

                for (int d = 1; d <= shape->parity; d++)
                    survivor = survivor || (lost >> (m + d) % n & 1) == 0;
                yes = yes && survivor;
            }
        }
        assert_int_equal(recoverable(shape, lost), yes);
    }
}

static void
sets_are_recoverable_exactly_by_the_rule_of_the_format_p8(void **state)
{
    (void)state;
    for (int n = 1; n <= 7; n++)
        for_all_shapes(n, expect_rule_of_the_format);
}

/* Wanted: all parity pieces, all data there. */
static rset_solution
encode(const rset_shape *shape, int s)
{
    bool          good[SMALL], want[SMALL];
    rset_solution sol;

    for (int m = 0; m < shape->members; m++) {
        rset_piece_kind kind = shape->scheme->place(shape, s, m).kind;

        good[m] = kind == RSET_PIECE_DATA;
        want[m] = kind == RSET_PIECE_PARITY;
    }
    assert_int_equal(rset_solve(shape, s, good, want, &sol, NULL), RSET_OK);
    return sol;
}

static void
expect_plain_encoding(const rset_shape *shape)
{
    for (int s = 0; s < shape->members; s++) {
        rset_solution sol = encode(shape, s);

        assert_int_equal(sol.nwanted, shape->parity);
        for (int j = 0; j < sol.nsources; j++) {
            assert_int_equal(shape->scheme->place(shape, s, sol.sources[j]).kind, RSET_PIECE_DATA);
            for (int i = 0; i < sol.nwanted; i++) {
                int row = shape->scheme->place(shape, s, sol.wanted[i]).row;

                assert_int_equal(sol.weight[i * sol.nsources + j],
                                 shape->scheme->coef(shape, row, sol.sources[j]));
            }
        }
        if (shape->scheme->striped)
            assert_int_equal(sol.nsources, shape->members - shape->parity);
        else
            assert_int_equal(sol.nsources, shape->parity > 0);
        rset_solution_free(&sol);
    }
}

static void
encoding_is_parity_from_data_with_plain_coefficients_p8(void **state)
{
    (void)state;
    for (int n = 1; n <= 7; n++)
        for_all_shapes(n, expect_plain_encoding);
}

/* The byte of wanted piece `member` when member m's piece holds byte[m]. */
static uint8_t
computed(const rset_solution *sol, int member, const uint8_t *byte)
{
    uint8_t sum = 0;

    for (int i = 0; i < sol->nwanted; i++)
        for (int j = 0; sol->wanted[i] == member && j < sol->nsources; j++)
            sum ^= rset_gf_mul(sol->weight[i * sol->nsources + j], byte[sol->sources[j]]);
    return sum;
}

static void
hand_checks_of_the_format_come_out_p8(void **state)
{
    static const uint8_t rs_bytes[] = {174, 0, 0, 252, 141}, xor_bytes[] = {0x70, 0, 0, 0x7a};
    rset_shape    rs = shape_of(&rset_scheme_rs, 5, 2), four = shape_of(&rset_scheme_xor, 4, 1);
    rset_solution sol = encode(&rs, 2);

    (void)state;
    rs.chunk = 1000;
    assert_true(rs.scheme->place(&rs, 2, 0).offset == 0);
    assert_true(rs.scheme->place(&rs, 2, 3).offset == 2000);
    assert_true(rs.scheme->place(&rs, 2, 4).offset == 1000);
    assert_true(rs.scheme->place(&rs, 2, 1).offset == 1000);
    assert_int_equal(computed(&sol, 2, rs_bytes), 210);
    assert_int_equal(computed(&sol, 1, rs_bytes), 137);
    rset_solution_free(&sol);
    sol = encode(&four, 2);
    four.chunk = 1366;
    assert_true(four.scheme->place(&four, 2, 0).offset == 1366);
    assert_true(four.scheme->place(&four, 2, 3).offset == 2732);
    assert_int_equal(computed(&sol, 2, xor_bytes), 0x0a);
    rset_solution_free(&sol);
}

static void
partner_reads_the_nearest_surviving_copy_and_only_that(void **state)
{
    rset_shape    shape = shape_of(&rset_scheme_partner, 6, 3);
    bool          good[6] = {true, true, true, true, true, true}, want[6] = {false};
    rset_solution sol;

    (void)state;
    good[4] = false;
    want[4] = true;
    for (int nearest = 5; nearest < 8; nearest++) {
        assert_int_equal(rset_solve(&shape, 4, good, want, &sol, NULL), RSET_OK);
        assert_int_equal(sol.nsources, 1);
        assert_int_equal(sol.sources[0], nearest % 6);
        assert_int_equal(sol.weight[0], 1);
        rset_solution_free(&sol);
        good[nearest % 6] = false;
    }
    assert_int_equal(rset_solve(&shape, 4, good, want, &sol, NULL), RSET_LOST);
}

static void
rs_reads_as_many_parity_rows_as_data_is_lost_the_lowest_first(void **state)
{
    rset_shape shape = shape_of(&rset_scheme_rs, 8, 3);

    (void)state;
    for (int lost = 1; lost <= 3; lost++) { /* data of stripe 0 lies on members 1 to 5 */
        bool          good[8], want[8];
        rset_solution sol;
        int           rows = 0;

        for (int m = 0; m < 8; m++) {
            want[m] = m >= 1 && m <= lost;
            good[m] = !want[m];
        }
        assert_int_equal(rset_solve(&shape, 0, good, want, &sol, NULL), RSET_OK);
        assert_int_equal(sol.nsources, 5);
        for (int j = 0; j < sol.nsources; j++) {
            rset_piece piece = shape.scheme->place(&shape, 0, sol.sources[j]);

            if (piece.kind == RSET_PIECE_PARITY) {
                assert_true(piece.row >= 0 && piece.row <= lost - 1);
                rows++;
            }
        }
        assert_int_equal(rows, lost);
        rset_solution_free(&sol);
    }
}

static void
nothing_wanted_is_solved_by_nothing_even_if_all_is_lost(void **state)
{
    rset_shape    shape = shape_of(&rset_scheme_xor, 4, 1);
    bool          none[4] = {false};
    rset_solution sol;

    (void)state;
    assert_int_equal(rset_solve(&shape, 1, none, none, &sol, NULL), RSET_OK);
    assert_true(sol.nwanted == 0 && sol.nsources == 0);
    rset_solution_free(&sol);
    rset_solution_free(&sol);
}

static void
a_wanted_piece_that_is_there_is_a_bug_of_the_caller(void **state)
{
    rset_shape    shape = shape_of(&rset_scheme_xor, 3, 1);
    bool          all[3] = {true, true, true};
    rset_err      err = RSET_ERR_NONE;
    rset_solution sol;

    (void)state;
    assert_int_equal(rset_solve(&shape, 0, all, all, &sol, &err), RSET_BUG);
    assert_true(sol.nwanted == 0 && sol.weight == NULL);
}

static void
the_message_of_a_loss_counts_what_is_lost(void **state)
{
    rset_shape    shape = shape_of(&rset_scheme_rs, 7, 2);
    bool          good[7] = {true, false, false, false, false, true, true};
    bool          want[7] = {false, true, true, true, true, false, false};
    rset_err      err = RSET_ERR_NONE;
    rset_solution sol;

    (void)state;
    assert_int_equal(rset_solve(&shape, 0, good, want, &sol, &err), RSET_LOST);
    assert_string_equal(err.text,
                        "4 data pieces of one stripe are lost and 2 of its 2 parity pieces "
                        "are left; that is more than RS with 7 members covers");
    assert_int_equal(rset_solve(&shape, 0, good, want, &sol, NULL), RSET_LOST);
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
        cmocka_unit_test(partner_of_6_with_one_copy_survives_9_of_15_double_losses),
        cmocka_unit_test(rs_8_k3_survives_all_92_losses_of_3_or_fewer_and_none_of_70_of_4),
        cmocka_unit_test(sets_are_recoverable_exactly_by_the_rule_of_the_format_p8),
        cmocka_unit_test(encoding_is_parity_from_data_with_plain_coefficients_p8),
        cmocka_unit_test(hand_checks_of_the_format_come_out_p8),
        cmocka_unit_test(partner_reads_the_nearest_surviving_copy_and_only_that),
        cmocka_unit_test(rs_reads_as_many_parity_rows_as_data_is_lost_the_lowest_first),
        cmocka_unit_test(nothing_wanted_is_solved_by_nothing_even_if_all_is_lost),
        cmocka_unit_test(a_wanted_piece_that_is_there_is_a_bug_of_the_caller),
        cmocka_unit_test(the_message_of_a_loss_counts_what_is_lost),
        cmocka_unit_test(sets_of_thousands_and_the_largest_rs_sets_are_solved_p9),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
