/* Placement, sizes and limits of the schemes: the tables of FORMAT.md 7 and 8, and what holds for any
 * size of set. */
#include "codec/scheme.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { MOST = 12 };

static const uint64_t lengths[MOST] = {5, 0, 7, 1, UINT64_C(5) << 32, 3, 2, 9, 4, 0, 8, 6};

static rset_shape
shape_of(const rset_scheme *scheme, int members, int parity)
{
    return (rset_shape){.scheme = scheme,
                        .members = members,
                        .parity = parity,
                        .length = lengths,
                        .chunk = rset_shape_chunk(scheme, members, parity, lengths[4])};
}

static void
names_are_found_in_any_case_and_nothing_else_is(void **state)
{
    static const char *const wrong[] = {"", "X", "XORR", "RS ", " RS", "R", "partners", "redset"};

    (void)state;
    assert_ptr_equal(rset_scheme_by_name("SINGLE"), &rset_scheme_single);
    assert_ptr_equal(rset_scheme_by_name("single"), &rset_scheme_single);
    assert_ptr_equal(rset_scheme_by_name("PaRtNeR"), &rset_scheme_partner);
    assert_ptr_equal(rset_scheme_by_name("xor"), &rset_scheme_xor);
    assert_ptr_equal(rset_scheme_by_name("Rs"), &rset_scheme_rs);
    assert_null(rset_scheme_by_name(NULL));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_null(rset_scheme_by_name(wrong[i]));
}

/* P8: the keys and names that upstream writes. */
static void
names_and_keys_are_those_on_disk_p8(void **state)
{
    (void)state;
    assert_string_equal(rset_scheme_single.name, "SINGLE");
    assert_string_equal(rset_scheme_partner.file_name, "partner");
    assert_string_equal(rset_scheme_xor.file_name, "xor");
    assert_string_equal(rset_scheme_rs.file_name, "rs");
    assert_string_equal(rset_scheme_partner.count_key, "REPLICAS");
    assert_string_equal(rset_scheme_rs.count_key, "CKSUM");
    assert_null(rset_scheme_single.count_key);
    assert_null(rset_scheme_xor.count_key);
    assert_true(rset_scheme_xor.striped && rset_scheme_rs.striped);
    assert_false(rset_scheme_single.striped || rset_scheme_partner.striped);
    assert_int_equal(rset_scheme_single.left(0), 0);
    assert_int_equal(rset_scheme_partner.left(3), 3);
    assert_int_equal(rset_scheme_xor.left(1), 1);
    assert_int_equal(rset_scheme_rs.left(2), 2);
    for (const char *rest = rset_scheme_names; rest != NULL; rest = strchr(rest, ',')) {
        char name[16];

        rest += rest == rset_scheme_names ? 0 : 2;
        assert_int_equal(sscanf(rest, "%15[A-Z]", name), 1);
        assert_string_equal(rset_scheme_by_name(name)->name, name);
    }
}

/* `rows`: a cell "P0" or "d1" for each stripe, as in FORMAT.md 7. */
static void
expect_table(const rset_shape *shape, const char *const *rows)
{
    for (int r = 0; r < shape->members; r++) {
        for (int s = 0; s < shape->members; s++) {
            const char *cell = rows[r] + 3 * s;
            uint64_t    number = (uint64_t)(cell[1] - '0');
            rset_piece  piece = shape->scheme->place(shape, s, r);

            assert_int_equal(piece.kind, cell[0] == 'P' ? RSET_PIECE_PARITY : RSET_PIECE_DATA);
            assert_int_equal(piece.row, cell[0] == 'P' ? number : 0);
            assert_true(piece.offset == number * shape->chunk);
        }
    }
}

static void
xor_and_rs_lie_as_in_the_tables_of_the_format_p8(void **state)
{
    static const char *const xor_4[] = {"P0 d0 d1 d2", "d0 P0 d1 d2", "d0 d1 P0 d2", "d0 d1 d2 P0"};
    static const char *const rs_5_2[] = {"P0 P1 d0 d1 d2", "d0 P0 P1 d1 d2", "d0 d1 P0 P1 d2",
                                         "d0 d1 d2 P0 P1", "P1 d0 d1 d2 P0"};
    rset_shape four = shape_of(&rset_scheme_xor, 4, 1), five = shape_of(&rset_scheme_rs, 5, 2);

    (void)state;
    expect_table(&four, xor_4);
    expect_table(&five, rs_5_2);
}

/* A member's data pieces are its chunks 0, 1, ... by ascending stripe; slot u is stripe r + u. */
static void
expect_striped(const rset_shape *shape)
{
    int n = shape->members, k = shape->parity;

    for (int r = 0; r < n; r++) {
        uint64_t next = 0;

        for (int s = 0; s < n; s++) {
            rset_piece piece = shape->scheme->place(shape, s, r);

            if (piece.kind == RSET_PIECE_PARITY) {
                assert_true(piece.row >= 0 && piece.row <= k - 1);
                assert_int_equal((r + piece.row) % n, s);
                assert_true(piece.offset == (uint64_t)piece.row * shape->chunk);
            } else {
                assert_int_equal(piece.kind, RSET_PIECE_DATA);
                assert_true(piece.offset == next++ * shape->chunk);
            }
            assert_true(shape->scheme->stripe_length(shape, s) == shape->chunk);
        }
        assert_int_equal(next, n - k);
        assert_true(rset_shape_payload(shape, r) == (uint64_t)k * shape->chunk);
    }
}

static void
every_chunk_is_in_one_stripe_and_every_slot_in_its_own(void **state)
{
    (void)state;
    for (int n = 2; n <= MOST; n++) {
        for (int k = 1; k < n; k++) {
            rset_shape shape = shape_of(k == 1 ? &rset_scheme_xor : &rset_scheme_rs, n, k);

            expect_striped(&shape);
        }
    }
}

static void
partner_holds_left_neighbours_nearest_first_p8(void **state)
{
    rset_shape shape = shape_of(&rset_scheme_partner, 6, 3);

    (void)state;
    for (int r = 0; r < 6; r++) {
        uint64_t offset = 0;

        for (int d = 1; d <= 3; d++) {
            int        s = (r + 6 - d) % 6;
            rset_piece piece = shape.scheme->place(&shape, s, r);

            assert_int_equal(piece.kind, RSET_PIECE_PARITY);
            assert_int_equal(piece.row, d - 1);
            assert_true(piece.offset == offset);
            assert_true(shape.scheme->stripe_length(&shape, s) == lengths[s]);
            offset += lengths[s];
        }
        assert_true(rset_shape_payload(&shape, r) == offset);
        assert_int_equal(shape.scheme->place(&shape, r, r).kind, RSET_PIECE_DATA);
        assert_int_equal(shape.scheme->place(&shape, (r + 1) % 6, r).kind, RSET_PIECE_NONE);
        assert_int_equal(shape.scheme->place(&shape, (r + 2) % 6, r).kind, RSET_PIECE_NONE);
        assert_int_equal(shape.scheme->coef(&shape, 2, r), 1);
    }
}

static void
single_holds_its_own_file_and_nothing_else(void **state)
{
    rset_shape shape = shape_of(&rset_scheme_single, 1, 0);

    (void)state;
    assert_int_equal(shape.scheme->place(&shape, 0, 0).kind, RSET_PIECE_DATA);
    assert_true(shape.scheme->place(&shape, 0, 0).offset == 0);
    assert_true(shape.scheme->stripe_length(&shape, 0) == 5);
    assert_true(rset_shape_payload(&shape, 0) == 0);
}

static void
chunks_cover_the_longest_file_and_are_never_empty(void **state)
{
    (void)state;
    assert_true(rset_shape_chunk(&rset_scheme_xor, 4, 1, 4096) == 1366);
    assert_true(rset_shape_chunk(&rset_scheme_rs, 5, 2, 3000) == 1000);
    assert_true(rset_shape_chunk(&rset_scheme_rs, 5, 2, 3001) == 1001);
    assert_true(rset_shape_chunk(&rset_scheme_xor, 3, 1, 0) == 1);
    assert_true(rset_shape_chunk(&rset_scheme_rs, 3, 1, UINT64_MAX) == UINT64_C(1) << 63);
    assert_true(rset_shape_chunk(&rset_scheme_xor, 2, 1, UINT64_C(5) << 32) == UINT64_C(5) << 32);
    assert_true(rset_shape_chunk(&rset_scheme_partner, 4, 2, 3000) == 0);
    assert_true(rset_shape_chunk(&rset_scheme_partner, 2, 2, 3000) == 0);
    assert_true(rset_shape_chunk(&rset_scheme_single, 1, 0, 3000) == 0);
}

/* Refused as usage, with a message that names `number`. */
static void
expect_refused(const rset_scheme *scheme, int members, int parity, int number)
{
    rset_err err = RSET_ERR_NONE;
    char     text[16];

    assert_int_equal(scheme->check(members, parity, &err), RSET_USAGE);
    snprintf(text, sizeof text, "%d", number);
    assert_non_null(strstr(err.text, text));
    assert_non_null(strstr(err.text, scheme->name));
    assert_int_equal(scheme->check(members, parity, NULL), RSET_USAGE);
}

static void
limits_are_those_of_the_format(void **state)
{
    (void)state;
    assert_int_equal(rset_scheme_single.check(1, 0, NULL), RSET_OK);
    expect_refused(&rset_scheme_single, 2, 0, 2);
    expect_refused(&rset_scheme_single, 0, 0, 0);
    expect_refused(&rset_scheme_single, 1, 3, 3);
    assert_int_equal(rset_scheme_xor.check(2, 1, NULL), RSET_OK);
    assert_int_equal(rset_scheme_xor.check(100000, 1, NULL), RSET_OK);
    expect_refused(&rset_scheme_xor, 1, 1, 1);
    expect_refused(&rset_scheme_xor, -7, 1, -7);
    expect_refused(&rset_scheme_xor, 4, 2, 2);
    expect_refused(&rset_scheme_xor, 4, 0, 0);
    assert_int_equal(rset_scheme_partner.check(2, 1, NULL), RSET_OK);
    assert_int_equal(rset_scheme_partner.check(5000, 4999, NULL), RSET_OK);
    expect_refused(&rset_scheme_partner, 1, 1, 1);
    expect_refused(&rset_scheme_partner, 4, 0, 0);
    expect_refused(&rset_scheme_partner, 4, 17, 17);
    expect_refused(&rset_scheme_partner, 4, 4, 3);
    assert_int_equal(rset_scheme_rs.check(2, 1, NULL), RSET_OK);
    assert_int_equal(rset_scheme_rs.check(255, 1, NULL), RSET_OK);
    assert_int_equal(rset_scheme_rs.check(128, 127, NULL), RSET_OK);
    assert_int_equal(rset_scheme_rs.check(129, 127, NULL), RSET_OK);
    expect_refused(&rset_scheme_rs, 128, 128, 127);
    expect_refused(&rset_scheme_rs, 130, 127, 126);
    expect_refused(&rset_scheme_rs, 255, 2, 255);
    expect_refused(&rset_scheme_rs, 256, 1, 256);
    expect_refused(&rset_scheme_rs, 256, 1, 255); /* the most that is possible */
    expect_refused(&rset_scheme_rs, 1, 1, 1);
    expect_refused(&rset_scheme_rs, 4, 0, 0);
    expect_refused(&rset_scheme_rs, 4, 4, 3);
    expect_refused(&rset_scheme_rs, -2147483647 - 1, 1, -2147483647 - 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found_in_any_case_and_nothing_else_is),
        cmocka_unit_test(names_and_keys_are_those_on_disk_p8),
        cmocka_unit_test(xor_and_rs_lie_as_in_the_tables_of_the_format_p8),
        cmocka_unit_test(every_chunk_is_in_one_stripe_and_every_slot_in_its_own),
        cmocka_unit_test(partner_holds_left_neighbours_nearest_first_p8),
        cmocka_unit_test(single_holds_its_own_file_and_nothing_else),
        cmocka_unit_test(chunks_cover_the_longest_file_and_are_never_empty),
        cmocka_unit_test(limits_are_those_of_the_format),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
