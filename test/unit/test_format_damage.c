/* test_format_damage.c: headers that were damaged, cut off, or announce what is not there (B9):
 * refused, and never used (P2, P7). Headers that lie: test_format_lies.c. */
#include "format_samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* Every bit of a header flipped, every truncation; what follows the header is not looked at. */
static void
every_flip_and_every_truncation(void **state)
{
    rset_header h = sample_header(&rset_scheme_rs, 4, 2, 2, 1), back;
    size_t      len, tail = 64;
    uint8_t    *buf = sample_pack(&h, &len), *file = malloc(len + tail);

    (void)state;
    memcpy(file, buf, len);
    memset(file + len, 0x5a, tail);
    for (size_t bit = 0; bit < (len + tail) * 8; bit++) {
        rset_status st;

        file[bit / 8] ^= (uint8_t)(1 << bit % 8);
        st = rset_format_unpack_header(file, len + tail, "file", 2, &back, NULL);
        assert_int_equal(st, bit / 8 < len ? RSET_DAMAGED : RSET_OK);
        if (st == RSET_OK)
            rset_header_free(&back);
        file[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t n = 0; n < len; n++) {
        uint8_t *copy = malloc(n + 1);

        memcpy(copy + 1, buf, n);
        assert_sample_refused(copy + 1, n, 2, "truncated");
        if (n > 28) {
            craft_number_at(copy + 1 + 8, 8, n);
            craft_seal(copy + 1, n);
            assert_sample_refused(copy + 1, n, 2, "truncated, length and checksum right");
        }
        free(copy);
    }
    free(file);
    free(buf);
    rset_header_free(&h);
}

/* B9 under the names of real keys: what is announced is not taken. */
static void
announced_but_not_there(void **state)
{
    craft c = {.buf = NULL};

    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        craft_begin(&c);
        craft_count(&c, kind == 1 ? UINT32_MAX : 1);
        if (kind == 2)
            craft_bytes(&c, "DESCDESC", 8); /* no NUL */
        else
            craft_key(&c, "DESC");
        for (int i = 0; kind == 0 && i < 100000; i++) {
            craft_count(&c, 1);
            craft_key(&c, "DESC");
        }
        craft_count(&c, 0);
        craft_end(&c);
        if (kind == 3)
            craft_number_at(c.buf + 8, 8, (uint64_t)1 << 40);
        craft_seal(c.buf, c.len);
        assert_sample_refused(c.buf, c.len, -1, "announced");
    }
    craft_free(&c);
}

/* Fuzzing in small: random changes with a valid checksum; what is accepted is written the same way twice. */
static void
survives_random_damage(void **state)
{
    rset_header h = sample_header(&rset_scheme_xor, 4, 1, 2, 2), back;
    size_t      len, len2;
    uint8_t    *buf = sample_pack(&h, &len), *copy = malloc(len), *again;
    uint64_t    seed = 7;
    int         accepted = 0;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        memcpy(copy, buf, len);
        for (uint64_t n = 1 + craft_random(&seed) % 2; n > 0; n--)
            copy[20 + craft_random(&seed) % (len - 24)] = (uint8_t)(craft_random(&seed) % 64);
        craft_seal(copy, len);
        if (rset_format_unpack_header(copy, len, "file", 2, &back, NULL) != RSET_OK)
            continue;
        accepted++;
        again = sample_pack(&back, &len2);
        rset_header_free(&back);
        free(again);
    }
    assert_true(accepted >= 300 && accepted <= 19000); /* times, ids, checksums may be anything */
    free(copy);
    free(buf);
    rset_header_free(&h);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_flip_and_every_truncation),
        cmocka_unit_test(announced_but_not_there),
        cmocka_unit_test(survives_random_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
