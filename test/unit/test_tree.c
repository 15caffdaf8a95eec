/* test_tree.c: the tree container: exact bytes, hostile bytes (P7, B9). Limits: test_tree_limits.c. */
#include "craft.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static rset_status
unpack(const uint8_t *buf, size_t len, rset_tree **tree)
{
    rset_err    err = RSET_ERR_NONE;
    rset_status st = rset_tree_unpack(buf, len, "file", tree, &err);

    if (st != RSET_OK) {
        assert_int_equal(err.status, st);
        assert_ptr_equal(strstr(err.text, "file: "), err.text); /* says which file, never nothing */
    }
    return st;
}

static void
assert_refused(const craft *c, const char *why)
{
    rset_tree *tree = NULL;
    rset_err   err = RSET_ERR_NONE;

    assert_int_equal(rset_tree_unpack(c->buf, c->len, "file", &tree, &err), RSET_DAMAGED);
    assert_null(tree);
    if (strstr(err.text, why) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.text, why);
}

static rset_tree *
descriptor_tree(void)
{
    rset_tree *tree = rset_tree_new(), *desc = rset_tree_add(rset_tree_add_u64(tree, 0), "DESC");

    assert_non_null(rset_tree_set(desc, "WRANKS", "2")); /* in an order that is not the file's */
    assert_non_null(rset_tree_set_u64(desc, "WRANK", 0));
    assert_non_null(rset_tree_set(desc, "ENABLED", "1"));
    assert_non_null(rset_tree_set(desc, "TYPE", "SINGLE"));
    assert_non_null(rset_tree_set(desc, "GROUPS", "2"));
    assert_non_null(rset_tree_set(desc, "GROUP", "0"));
    assert_non_null(rset_tree_set(desc, "RANKS", "1"));
    assert_non_null(rset_tree_set(desc, "RANK", "0"));
    return tree;
}

/* P8: byte for byte the smallest real file, hex dump of FORMAT.md 3. */
static void
packs_the_smallest_file_exactly(void **state)
{
    static const char dump[] = "951fc3f50001000100000000000000b200000001"
                               "00000001"
                               "3000"
                               "00000001"
                               "4445534300"
                               "00000008"
                               "454e41424c454400"
                               "00000001"
                               "3100"
                               "00000000"
                               "47524f555000"
                               "00000001"
                               "3000"
                               "00000000"
                               "47524f55505300"
                               "00000001"
                               "3200"
                               "00000000"
                               "52414e4b00"
                               "00000001"
                               "3000"
                               "00000000"
                               "52414e4b5300"
                               "00000001"
                               "3100"
                               "00000000"
                               "5459504500"
                               "00000001"
                               "53494e474c4500"
                               "00000000"
                               "5752414e4b00"
                               "00000001"
                               "3000"
                               "00000000"
                               "5752414e4b5300"
                               "00000001"
                               "3200"
                               "00000000"
                               "1fc28a5b";
    rset_tree        *tree = descriptor_tree();
    rset_err          err = RSET_ERR_NONE;
    uint8_t          *buf;
    size_t            len, total;

    (void)state;
    assert_int_equal(rset_tree_pack(tree, &buf, &len, &err), RSET_OK);
    assert_int_equal(len, 178);
    assert_int_equal(rset_tree_packed_size(tree), len);
    for (size_t i = 0; i < len; i++) {
        unsigned byte;

        assert_int_equal(sscanf(dump + 2 * i, "%2x", &byte), 1);
        assert_int_equal(buf[i], byte);
    }
    assert_int_equal(rset_tree_total(buf, 1000, "file", &total, &err), RSET_OK);
    assert_int_equal(total, 178);
    free(buf);
    rset_tree_free(tree);
}

/* Building, looking up, replacing; text order (FORMAT.md 11.1). */
static void
keeps_keys_sorted_as_text(void **state)
{
    static const char *const sorted[] = {"0", "1", "10", "11", "2",    "3",     "4",   "5",
                                         "6", "7", "8",  "9",  "FILE", "FILES", "\xff"};
    rset_tree               *tree = rset_tree_new(), *sub;

    (void)state;
    for (size_t i = sizeof sorted / sizeof *sorted; i-- > 0;)
        assert_non_null(rset_tree_add(tree, sorted[i]));
    assert_int_equal(rset_tree_count(tree), 15);
    for (size_t i = 0; i < 15; i++) {
        assert_string_equal(rset_tree_key(tree, i), sorted[i]);
        assert_ptr_equal(rset_tree_find(tree, sorted[i]), rset_tree_child(tree, i));
    }
    assert_null(rset_tree_key(tree, 15));
    assert_null(rset_tree_child(tree, 15));
    assert_null(rset_tree_find(tree, "12"));
    sub = rset_tree_add_u64(tree, 11);
    assert_ptr_equal(sub, rset_tree_find_u64(tree, 11)); /* added before: the same one */
    assert_ptr_equal(rset_tree_set(tree, "11", "a"), sub);
    assert_ptr_equal(rset_tree_set(tree, "11", "b"), sub); /* replaced, not added */
    assert_string_equal(rset_tree_value(tree, "11"), "b");
    assert_non_null(rset_tree_add(sub, "c"));
    assert_null(rset_tree_value(tree, "11")); /* two values are none */
    assert_null(rset_tree_value(tree, "12"));
    assert_non_null(rset_tree_set(rset_tree_add(tree, "10"), "x", "y"));
    assert_null(rset_tree_value(tree, "10")); /* a value has nothing below it */
    rset_tree_free(tree);
}

static void
null_passes_through(void **state)
{
    rset_err err = RSET_ERR_NONE;
    uint8_t *buf;
    size_t   len;

    (void)state;
    rset_tree_free(NULL);
    assert_null(rset_tree_add(NULL, "a"));
    assert_null(rset_tree_set_u64(NULL, "a", 1));
    assert_null(rset_tree_find(NULL, "a"));
    assert_null(rset_tree_value(NULL, "a"));
    assert_null(rset_tree_child(NULL, 0));
    assert_int_equal(rset_tree_count(NULL), 0);
    assert_int_equal(rset_tree_pack(NULL, &buf, &len, &err), RSET_NOMEM);
}

/* Decimal only, no sign, no leading zero, no overflow. */
static void
reads_numbers_strictly(void **state)
{
    static const char *const bad[] = {"",
                                      "00",
                                      "01",
                                      "-1",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "0x1",
                                      "1a",
                                      "1\n",
                                      "18446744073709551616",
                                      "99999999999999999999999"};
    uint64_t                 value = 7;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(rset_text_u64(bad[i], UINT64_MAX, &value));
    assert_false(rset_text_u64("256", 255, &value));
    assert_false(rset_text_u64("4294967296", UINT32_MAX, &value));
    assert_false(rset_text_u64("5", 4, &value));
    assert_int_equal(value, 7); /* left alone */
    assert_true(rset_text_u64("255", 255, &value) && value == 255);
    assert_true(rset_text_u64("0", 0, &value) && value == 0);
    assert_true(rset_text_u64("18446744073709551615", UINT64_MAX, &value) && value == UINT64_MAX);
}

/* A reader accepts any order and sorts (FORMAT.md 3), many keys as well as few. */
static void
unpacks_any_order(void **state)
{
    enum { N = 1000 };
    craft      c = {.buf = NULL};
    rset_tree *tree;
    uint64_t   seed = 1, value;
    int        shuffled[N];

    (void)state;
    for (int i = 0; i < N; i++) {
        int j = (int)(craft_random(&seed) % (uint64_t)(i + 1));

        shuffled[i] = shuffled[j];
        shuffled[j] = i;
    }
    craft_begin(&c);
    craft_count(&c, N);
    for (int i = 0; i < N; i++) {
        char text[16];

        snprintf(text, sizeof text, "%d", shuffled[i]);
        craft_key(&c, text);
        craft_count(&c, 1);
        craft_key(&c, text);
        craft_count(&c, 0);
    }
    craft_end(&c);
    assert_int_equal(unpack(c.buf, c.len, &tree), RSET_OK);
    assert_int_equal(rset_tree_count(tree), N);
    for (size_t i = 1; i < N; i++)
        assert_true(strcmp(rset_tree_key(tree, i - 1), rset_tree_key(tree, i)) < 0);
    for (int i = 0; i < N; i++) {
        assert_true(
            rset_text_u64(rset_tree_key(rset_tree_find_u64(tree, (uint64_t)i), 0), N, &value));
        assert_int_equal(value, i);
    }
    assert_null(rset_tree_add(tree, "new")); /* unpacked trees are read only */
    rset_tree_free(tree);
    craft_free(&c);
}

/* Unpacked and packed again: the same bytes; also with an empty key and one key in several levels. */
static void
packs_again_what_it_unpacked(void **state)
{
    rset_tree *tree = descriptor_tree(), *again;
    rset_err   err = RSET_ERR_NONE;
    uint8_t   *buf, *buf2;
    size_t     len, len2;

    (void)state;
    assert_non_null(rset_tree_add(rset_tree_add(rset_tree_add(tree, ""), ""), "DESC"));
    assert_int_equal(rset_tree_pack(tree, &buf, &len, &err), RSET_OK);
    assert_int_equal(unpack(buf, len, &again), RSET_OK);
    assert_int_equal(rset_tree_pack(again, &buf2, &len2, &err), RSET_OK);
    assert_int_equal(len, len2);
    assert_memory_equal(buf, buf2, len);
    rset_tree_free(tree);
    rset_tree_free(again);
    free(buf);
    free(buf2);
}

/* P2: every bit, every length. */
static void
refuses_every_flip_and_every_truncation(void **state)
{
    rset_tree *tree = descriptor_tree(), *out = NULL;
    rset_err   err = RSET_ERR_NONE;
    uint8_t   *buf, *copy;
    size_t     len;

    (void)state;
    assert_int_equal(rset_tree_pack(tree, &buf, &len, &err), RSET_OK);
    for (size_t bit = 0; bit < len * 8; bit++) {
        buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(unpack(buf, len, &out), RSET_DAMAGED);
        buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t n = 0; n < len; n++) {
        copy = malloc(n + 1); /* of this size, so that a sanitizer sees a step beyond */
        memcpy(copy + 1, buf, n);
        assert_int_equal(unpack(copy + 1, n, &out), RSET_DAMAGED);
        if (n > 28) { /* the same with length and checksum made to fit: the tree ends early */
            craft_number_at(copy + 1 + 8, 8, n);
            craft_seal(copy + 1, n);
            assert_int_equal(unpack(copy + 1, n, &out), RSET_DAMAGED);
        }
        free(copy);
    }
    assert_int_equal(unpack(buf, len, &out), RSET_OK);
    rset_tree_free(out);
    rset_tree_free(tree);
    free(buf);
}

/* FORMAT.md 2 and 11.18: a cleared flag does not switch the checksum off, no length is believed. */
static void
refuses_wrong_head_fields(void **state)
{
    static const struct {
        size_t   at, bytes;
        uint64_t value;
    } wrong[] = {{0, 4, 0x951fc3f4},
                 {4, 2, 0},
                 {4, 2, 2},
                 {6, 2, 0},
                 {6, 2, 2},
                 {16, 4, 0},
                 {16, 4, 3},
                 {8, 8, 0},
                 {8, 8, 27},
                 {8, 8, 29},
                 {8, 8, (uint64_t)1 << 40},
                 {8, 8, UINT64_MAX},
                 {8, 8, (uint64_t)RSET_TREE_MAX_BYTES + 1}};
    craft c = {.buf = NULL};

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        craft_begin(&c);
        craft_count(&c, 0);
        craft_end(&c);
        craft_number_at(c.buf + wrong[i].at, wrong[i].bytes, wrong[i].value);
        craft_seal(c.buf, c.len);
        assert_refused(&c, "counts as lost");
    }
    craft_begin(&c);
    craft_count(&c, 0);
    craft_end(&c);
    craft_count(&c, 0); /* bytes after the container */
    assert_refused(&c, "stand after");
    craft_free(&c);
}

static void
chain(craft *c, int depth)
{
    craft_begin(c);
    for (int i = 0; i < depth; i++) {
        craft_count(c, 1);
        craft_key(c, "k");
    }
    craft_count(c, 0);
    craft_end(c);
}

/* B9: nesting 100,000. */
static void
refuses_deep_nesting(void **state)
{
    craft      c = {.buf = NULL};
    rset_tree *tree = NULL, *at, *root = rset_tree_new();

    (void)state;
    chain(&c, RSET_TREE_MAX_DEPTH);
    assert_int_equal(unpack(c.buf, c.len, &tree), RSET_OK);
    rset_tree_free(tree);
    chain(&c, RSET_TREE_MAX_DEPTH + 1);
    assert_refused(&c, "too deep");
    chain(&c, 100000);
    assert_refused(&c, "too deep");
    craft_free(&c);
    at = root; /* and nothing deeper can be built */
    for (int i = 0; i < RSET_TREE_MAX_DEPTH; i++) {
        at = rset_tree_add(at, "k");
        assert_non_null(at);
    }
    assert_null(rset_tree_add(at, "k"));
    rset_tree_free(root);
}

/* B9: counts and keys that run over the end, keys that stand twice. */
static void
refuses_counts_and_keys_that_lie(void **state)
{
    craft c = {.buf = NULL};

    (void)state;
    craft_begin(&c);
    craft_count(&c, UINT32_MAX);
    craft_end(&c);
    assert_refused(&c, "more keys than fit");
    craft_begin(&c);
    craft_count(&c, 2);
    craft_key(&c, "abc");
    craft_count(&c, 0);
    craft_end(&c);
    assert_refused(&c, "more keys than fit");
    craft_begin(&c);
    craft_count(&c, 1);
    craft_bytes(&c, "abcdefgh", 8); /* no NUL */
    craft_end(&c);
    craft_bytes(&c, "\0\0\0\0", 4); /* one NUL beyond the container must not help */
    c.len -= 4;
    for (int i = 1; i <= 4; i++) /* the checksum itself must not end the key either */
        if (c.buf[c.len - (size_t)i] == 0)
            fail_msg("choose other bytes");
    assert_refused(&c, "within a key");
    craft_begin(&c);
    craft_count(&c, 1);
    craft_key(&c, "abc");
    craft_bytes(&c, "\0\0", 2);
    craft_end(&c);
    assert_refused(&c, "within a count");
    craft_begin(&c);
    craft_count(&c, 0);
    craft_bytes(&c, "abc", 3);
    craft_end(&c);
    assert_refused(&c, "left over");
    for (int order = 0; order < 2; order++) { /* next to each other or not */
        craft_begin(&c);
        craft_count(&c, 3);
        craft_key(&c, "a");
        craft_count(&c, 0);
        craft_key(&c, order == 0 ? "a" : "b");
        craft_count(&c, 0);
        craft_key(&c, order == 0 ? "b" : "a");
        craft_count(&c, 0);
        craft_end(&c);
        assert_refused(&c, "same key twice");
    }
    craft_free(&c);
}

/* Fuzzing in small: changes at random, checksum made to fit; what is accepted packs again. */
static void
survives_random_damage(void **state)
{
    rset_tree *tree = descriptor_tree(), *out;
    rset_err   err = RSET_ERR_NONE;
    uint8_t   *buf, *copy, *again;
    size_t     len, len2;
    uint64_t   seed = 42;
    int        accepted = 0;

    (void)state;
    assert_int_equal(rset_tree_pack(tree, &buf, &len, &err), RSET_OK);
    copy = malloc(len);
    for (int round = 0; round < 20000; round++) {
        memcpy(copy, buf, len);
        for (uint64_t n = 1 + craft_random(&seed) % 3; n > 0; n--)
            copy[20 + craft_random(&seed) % (len - 24)] =
                (uint8_t)(craft_random(&seed) >> 32 & 0x43);
        craft_seal(copy, len);
        out = NULL;
        if (unpack(copy, len, &out) != RSET_OK)
            continue;
        accepted++;
        assert_int_equal(rset_tree_pack(out, &again, &len2, &err), RSET_OK);
        assert_int_equal(len2, len);
        rset_tree_free(out);
        free(again);
    }
    assert_true(accepted > 100 && accepted < 20000);
    free(copy);
    free(buf);
    rset_tree_free(tree);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packs_the_smallest_file_exactly),
        cmocka_unit_test(keeps_keys_sorted_as_text),
        cmocka_unit_test(null_passes_through),
        cmocka_unit_test(reads_numbers_strictly),
        cmocka_unit_test(unpacks_any_order),
        cmocka_unit_test(packs_again_what_it_unpacked),
        cmocka_unit_test(refuses_every_flip_and_every_truncation),
        cmocka_unit_test(refuses_wrong_head_fields),
        cmocka_unit_test(refuses_deep_nesting),
        cmocka_unit_test(refuses_counts_and_keys_that_lie),
        cmocka_unit_test(survives_random_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
