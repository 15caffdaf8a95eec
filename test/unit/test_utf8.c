/* test_utf8.c: which characters are printed as they are, and which are not (common/utf8.h): the borders of each range. */
#include "common/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* In its shortest form, which is what others read; of surrogates too. */
static size_t
encode(uint32_t code, char out[5])
{
    const size_t  n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    const uint8_t first[] = {0, 0, 0xc0, 0xe0, 0xf0};

    memset(out, 0, 5);
    for (size_t i = n - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(first[n] | code);
    return n;
}

static void
ranges(void **state)
{
    static const struct {
        uint32_t from, to;
    } refused[] = {{0, 0x1f},          {0x7f, 0x9f},         {0x61c, 0x61c},
                   {0x200e, 0x200f},   {0x2028, 0x202e},     {0x2066, 0x2069},
                   {0xd800, 0xdfff},   {0xfeff, 0xfeff},     {0xfffe, 0xffff},
                   {0x1fffe, 0x1ffff}, {0x10fffe, 0x10ffff}, {0x110000, 0x110001}};
    char text[5];

    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        for (uint32_t code = refused[i].from; code <= refused[i].to; code++) {
            encode(code, text);
            assert_int_equal(rset_utf8_printable(text), 0);
        }
}

static void
beside_them(void **state)
{
    static const uint32_t good[] = {0x20,   0x7e,   0xa0,   0x61b,   0x61d,   0x200d,  0x2010,
                                    0x201c, 0x2027, 0x202f, 0x2065,  0x206a,  0xd7ff,  0xe000,
                                    0xfefe, 0xff00, 0xfffd, 0x10000, 0x1f600, 0x10fffd};
    char                  text[5];

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const size_t n = encode(good[i], text);

        assert_int_equal(rset_utf8_printable(text), n);
    }
}

static void
no_characters(void **state)
{
    static const char *const bad[] = {"\x80",
                                      "\xbf",
                                      "\xc3",
                                      "\xc3(",
                                      "\xc0\xaf",
                                      "\xc1\xbf",
                                      "\xe2\x82",
                                      "\xe0\x80\xaf",
                                      "\xe0\x9f\xbf",
                                      "\xf0\x9f\x98",
                                      "\xfe",
                                      "\xf0\x80\x80\x80",
                                      "\xf8\x88\x80\x80",
                                      "\xff"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(rset_utf8_printable(bad[i]), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges),
        cmocka_unit_test(beside_them),
        cmocka_unit_test(no_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
