/* Field and matrix of FORMAT.md 9; fast = base for every coefficient, length, alignment and edge. */
#include "gf_base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

static uint32_t seed = 4711;

static uint8_t
random8(void)
{
    seed = seed * 1664525 + 1013904223;
    return (uint8_t)(seed >> 24);
}

static void
randomise(uint8_t *buf, size_t len)
{
    for (size_t i = 0; i < len; i++)
        buf[i] = random8();
}

static void
check_values_are_those_of_the_format(void **state)
{
    (void)state;
    assert_int_equal(rset_gf_mul(128, 2), 29);
    assert_int_equal(rset_gf_mul(255, 255), 226);
    assert_int_equal(rset_gf_mul(83, 202), 143);
    assert_int_equal(rset_gf_inv(2), 142);
    assert_int_equal(rset_gf_inv(3), 244);
}

static void
every_inverse_inverts_and_2_generates_the_field(void **state)
{
    bool    seen[256] = {false};
    uint8_t power = 1;

    (void)state;
    for (int a = 1; a < 256; a++) {
        assert_int_equal(rset_gf_mul((uint8_t)a, rset_gf_inv((uint8_t)a)), 1);
        assert_int_equal(rset_gf_mul((uint8_t)a, 0), 0);
        assert_int_equal(rset_gf_mul(1, (uint8_t)a), a);
        assert_false(seen[power]);
        seen[power] = true;
        power = rset_gf_mul(power, 2);
    }
    assert_int_equal(power, 1);
}

static void
parity_rows_are_those_of_the_table(void **state)
{
    static const struct {
        int     n, k;
        uint8_t row[3][8];
    } table[] = {
        {2, 1, {{3, 2}}},
        {3, 1, {{1, 1, 1}}},
        {4, 2, {{27, 28, 18, 20}, {28, 27, 20, 18}}},
        {5, 2, {{7, 7, 6, 6, 1}, {9, 8, 9, 8, 1}}},
        {6, 3, {{7, 6, 5, 4, 3, 2}, {6, 7, 4, 5, 2, 3}, {160, 223, 223, 183, 254, 232}}},
        {8,
         3,
         {{26, 132, 186, 51, 231, 16, 198, 39},
          {132, 26, 51, 186, 16, 231, 39, 198},
          {186, 51, 26, 132, 198, 39, 231, 16}}},
    };

    (void)state;
    for (size_t t = 0; t < sizeof table / sizeof table[0]; t++)
        for (int u = 0; u < table[t].k; u++)
            for (int j = 0; j < table[t].n; j++)
                assert_int_equal(rset_gf_rs_coef(table[t].n, u, j), table[t].row[u][j]);
}

/* The column reduction of FORMAT.md 9, the definition; v has rows x n entries. */
static void
reduce_columns(uint8_t *v, int rows, int n)
{
    for (int r = 0; r < n; r++) {
        uint8_t inverse = rset_gf_inv(v[r * n + r]);

        for (int i = 0; i < rows; i++)
            v[i * n + r] = rset_gf_mul(v[i * n + r], inverse);
        for (int c = 0; c < n; c++) {
            uint8_t entry = v[r * n + c];

            for (int i = 0; c != r && i < rows; i++)
                v[i * n + c] ^= rset_gf_mul(v[i * n + r], entry);
        }
    }
}

static void
closed_form_equals_column_reduction_up_to_the_full_field(void **state)
{
    static const int sizes[] = {1, 2, 3, 7, 16, 31, 100, 255};
    uint8_t         *v = malloc(256 * 256);

    (void)state;
    assert_non_null(v);
    for (size_t t = 0; t < sizeof sizes / sizeof sizes[0]; t++) {
        int n = sizes[t], rows = n <= 31 || n == 255 ? 256 : n + 8;

        for (int i = 0; i < rows; i++)
            for (int j = 0; j < n; j++)
                v[i * n + j] = j == 0 ? 1 : rset_gf_mul(v[i * n + j - 1], (uint8_t)i);
        reduce_columns(v, rows, n);
        for (int i = n; i < rows; i++)
            for (int j = 0; j < n; j++)
                assert_int_equal(rset_gf_rs_coef(n, i - n, j), v[i * n + j]);
    }
    free(v);
}

static void
mad_equals_base_for_all_coefficients_lengths_and_alignments(void **state)
{
    uint8_t src[1200], fast[1200], base[1200];

    (void)state;
    randomise(src, sizeof src);
    for (size_t len = 0; len <= 1100; len += len < 300 ? 1 : 13) {
        for (int round = 0; round < 8; round++) {
            uint8_t c = round < 3 ? (uint8_t)round : random8();
            size_t  from = random8() % 64, to = random8() % 64;

            randomise(fast, sizeof fast);
            memcpy(base, fast, sizeof fast);
            rset_gf_mad(fast + to, src + from, len, c);
            gf_mad_base(base + to, src + from, len, c);
            assert_memory_equal(fast, base, sizeof fast); /* nothing beside it touched either */
        }
    }
    for (int c = 0; c < 256; c++) {
        memcpy(base, fast, sizeof fast);
        rset_gf_mad(fast, src, sizeof src, (uint8_t)c);
        gf_mad_base(base, src, sizeof src, (uint8_t)c);
        assert_memory_equal(fast, base, sizeof fast);
    }
}

static void
mad_rows_equals_mad_row_by_row_for_any_number_of_rows(void **state)
{
    static uint8_t fast[255][301], base[255][301];
    uint8_t        src[320], c[255], *dst[255];

    (void)state;
    for (int rows = 1; rows <= 255; rows = rows < 20 ? rows + 1 : rows + 47) {
        for (size_t len = 0; len <= 300; len += 1 + len / 3) {
            randomise(src, sizeof src);
            randomise(c, sizeof c);
            c[rows / 2] = (uint8_t)(rows % 2);
            randomise(fast[0], sizeof fast);
            memcpy(base, fast, sizeof fast);
            for (int j = 0; j < rows; j++) {
                dst[j] = fast[j];
                gf_mad_base(base[j], src + len % 19, len, c[j]);
            }
            rset_gf_mad_rows(dst, src + len % 19, len, c, rows);
            assert_memory_equal(fast, base, sizeof fast);
        }
    }
}

static void
mul_buf_equals_the_product_apart_and_in_place(void **state)
{
    static uint8_t src[9500], dst[9500], expect[9500];

    (void)state;
    for (size_t len = 0; len <= 9400; len += len < 300 ? 1 : 1033) {
        for (int c = 0; c < 256; c += c < 3 ? 1 : 23) {
            size_t from = random8() % 64, to = random8() % 64;

            randomise(src, sizeof src);
            randomise(dst, sizeof dst);
            memcpy(expect, dst, sizeof dst);
            for (size_t i = 0; i < len; i++)
                expect[to + i] = rset_gf_mul((uint8_t)c, src[from + i]);
            rset_gf_mul_buf(dst + to, src + from, len, (uint8_t)c);
            assert_memory_equal(dst, expect, sizeof dst);
            rset_gf_mul_buf(src + from, src + from, len, (uint8_t)c);
            assert_memory_equal(src + from, expect + to, len);
        }
    }
}

/* Memory with a forbidden page on both sides; returns the first byte that may be used. */
static uint8_t *
guarded(size_t usable)
{
    size_t   page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *map = mmap(NULL, usable + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(map != MAP_FAILED);
    assert_int_equal(mprotect(map + page, usable, PROT_READ | PROT_WRITE), 0);
    return map + page;
}

static void
nothing_outside_the_buffers_is_touched(void **state)
{
    size_t   page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *src = guarded(page), *dst[2] = {guarded(page), guarded(page)}, c[2] = {83, 202};

    (void)state;
    for (size_t len = 1; len <= page; len += len < 600 ? 1 : 97) {
        for (int edge = 0; edge < 2; edge++) {
            size_t   off = edge == 0 ? 0 : page - len;
            uint8_t *at[2] = {dst[0] + off, dst[1] + off};

            rset_gf_mad(at[0], src + off, len, 1);
            rset_gf_mad(at[0], src + off, len, 83);
            rset_gf_mad_rows(at, src + off, len, c, 2);
            rset_gf_mul_buf(at[0], src + off, len, 83);
            rset_gf_mul_buf(at[0], at[0], len, 83);
        }
    }
    munmap(src - page, 3 * page);
    munmap(dst[0] - page, 3 * page);
    munmap(dst[1] - page, 3 * page);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_values_are_those_of_the_format),
        cmocka_unit_test(every_inverse_inverts_and_2_generates_the_field),
        cmocka_unit_test(parity_rows_are_those_of_the_table),
        cmocka_unit_test(closed_form_equals_column_reduction_up_to_the_full_field),
        cmocka_unit_test(mad_equals_base_for_all_coefficients_lengths_and_alignments),
        cmocka_unit_test(mad_rows_equals_mad_row_by_row_for_any_number_of_rows),
        cmocka_unit_test(mul_buf_equals_the_product_apart_and_in_place),
        cmocka_unit_test(nothing_outside_the_buffers_is_touched),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
