/* test_tree_limits.c: what the tree container may cost: memory and time stay small whatever the bytes
 * say. */
#include "alloc.h"
#include "craft.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* 250 keys of one byte per level, as many as fit: 6 bytes per key. `bad`: a chain too deep last. */
static void
dense(craft *c, bool bad)
{
    enum { KEYS = 250, LEAVES = 6 * KEYS };
    uint32_t rows = (RSET_TREE_MAX_BYTES - 4096) / (LEAVES + 12);

    craft_begin(c);
    craft_count(c, rows + (bad ? 1 : 0));
    for (uint32_t i = 0; i < rows; i++) {
        char text[16];

        snprintf(text, sizeof text, "%07u", i);
        craft_key(c, text);
        craft_count(c, KEYS);
        for (int k = 0; k < KEYS; k++) {
            char key[2] = {(char)(k + 1), 0};

            craft_key(c, key);
            craft_count(c, 0);
        }
    }
    for (int i = 0; bad && i <= RSET_TREE_MAX_DEPTH; i++) {
        craft_key(c, "k");
        craft_count(c, i < RSET_TREE_MAX_DEPTH);
    }
    craft_end(c);
}

/* P9: memory of the densest trees; the block is all that there is. */
static void
memory_is_bounded_by_the_input(void **state)
{
    craft      c = {.buf = NULL};
    rset_tree *tree;

    (void)state;
    dense(&c, false);
    assert_int_equal(rset_tree_unpack(c.buf, c.len, "file", &tree, NULL), RSET_OK);
    assert_true(malloc_usable_size(tree) <= c.len * 26 / 10 + 65536);
    rset_tree_free(tree);
    craft_begin(&c); /* 16 levels of empty keys: 5 bytes per node */
    craft_count(&c, 250);
    for (int k = 0; k < 250; k++) {
        char key[2] = {(char)(k + 1), 0};

        craft_key(&c, key);
        for (int i = 1; i < RSET_TREE_MAX_DEPTH; i++) {
            craft_count(&c, 1);
            craft_key(&c, "");
        }
        craft_count(&c, 0);
    }
    craft_end(&c);
    assert_int_equal(rset_tree_unpack(c.buf, c.len, "file", &tree, NULL), RSET_OK);
    assert_true(malloc_usable_size(tree) <= c.len * 26 / 10 + 4096);
    rset_tree_free(tree);
    craft_free(&c);
}

/* While they are looked at no allocation succeeds. */
static bool
none_succeeds(void)
{
    return true;
}

static rset_status
unpack_without_memory(const uint8_t *buf, size_t len)
{
    rset_tree  *tree = NULL;
    rset_status st;

    alloc_fails = none_succeeds;
    st = rset_tree_unpack(buf, len, "file", &tree, NULL);
    alloc_fails = NULL;
    return st;
}

/* Within 10 ms: what is nested too deep is refused before anything is made of it, also when the depth comes
 * last; of what says that it is too long, nothing but its first page is looked at. */
static void
refuses_big_ones_quickly(void **state)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    craft        c = {.buf = NULL};
    uint8_t     *pages;
    clock_t      start;

    (void)state;
    dense(&c, true);
    start = clock();
    assert_int_equal(unpack_without_memory(c.buf, c.len), RSET_DAMAGED);
    print_message("too deep at the end of %zu bytes: %.1f ms\n", c.len,
                  1e3 * (double)(clock() - start) / CLOCKS_PER_SEC);
    craft_number_at(c.buf + 8, 8, (uint64_t)RSET_TREE_MAX_BYTES + 1);
    pages = mmap(NULL, c.len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    memcpy(pages, c.buf, page);
    assert_int_equal(mprotect(pages + page, c.len - page, PROT_NONE), 0);
    assert_int_equal(unpack_without_memory(pages, c.len), RSET_DAMAGED);
    munmap(pages, c.len);
    craft_free(&c);
}

/* A tree too large to be read again is not written. */
static void
refuses_to_pack_too_much(void **state)
{
    rset_tree *tree = rset_tree_new();
    rset_err   err = RSET_ERR_NONE;
    uint8_t   *buf = NULL;
    size_t     len;
    char      *key = malloc(RSET_TREE_MAX_BYTES);

    (void)state;
    memset(key, 'k', RSET_TREE_MAX_BYTES - 1);
    key[RSET_TREE_MAX_BYTES - 1] = '\0';
    assert_non_null(rset_tree_add(tree, key));
    assert_int_equal(rset_tree_pack(tree, &buf, &len, &err), RSET_USAGE);
    assert_null(buf);
    free(key);
    rset_tree_free(tree);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_bounded_by_the_input),
        cmocka_unit_test(refuses_big_ones_quickly),
        cmocka_unit_test(refuses_to_pack_too_much),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
