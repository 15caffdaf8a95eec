/* test_buffer.c: a buffer begins where copies to and from its file are fast, wherever its memory and the file's offset lie. */
#include "store/buffer.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LEN = 100 };

/* Is the destination just behind the source, as far as a processor looks at addresses? */
static bool
slow(uint64_t to, uint64_t from)
{
    const uint64_t behind = (to - from) % RSET_BUFFER_PAGE;

    return behind > 0 && behind < RSET_BUFFER_NEAR;
}

static void
no_buffer_begins_just_behind_its_file(void **state)
{
    uint8_t *memory = malloc(rset_buffer_size(LEN) + 64);

    (void)state;
    for (size_t at = 0; at < 64; at += 8)
        for (uint64_t off = 0; off < 2 * RSET_BUFFER_PAGE; off++) {
            uint8_t       *room = memory + at;
            const uint8_t *r = rset_buffer_for_read(room, off),
                          *w = rset_buffer_for_write(room, off);

            assert_false(slow((uintptr_t)r, off));
            assert_false(slow(off, (uintptr_t)w));
            assert_false(slow((uintptr_t)r, (uintptr_t)w)); /* one is sent, the other receives it */
            assert_true(r >= room && r + LEN <= room + rset_buffer_size(LEN));
            assert_true(w >= room && w + LEN <= room + rset_buffer_size(LEN));
        }
    free(memory);
}

/* All of it can be written, and what is large lies in whole large pages. */
static void
many_buffers_lie_in_large_pages(void **state)
{
    static const size_t sizes[] = {1, RSET_BUFFER_LARGE - 1, RSET_BUFFER_LARGE,
                                   4 * RSET_BUFFER_LARGE + 4097};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint8_t *begin = NULL, *room = rset_buffers_alloc(sizes[i], &begin);

        assert_non_null(room);
        assert_true(begin >= room && begin + sizes[i] <= room + malloc_usable_size(room));
        assert_true(sizes[i] < RSET_BUFFER_LARGE || (uintptr_t)begin % RSET_BUFFER_LARGE == 0);
        memset(begin, 1, sizes[i]);
        free(room);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_buffer_begins_just_behind_its_file),
                                       cmocka_unit_test(many_buffers_lie_in_large_pages)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
