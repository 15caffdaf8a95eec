/* test_reread.c: what was read for a rebuild is held against the checksums once more (reread.h; P2):
 * the rest of each block is read, in pieces where blocks are large, and one other bit is seen. */
#include "image.h"
#include "set/reread.h"
#include "sums.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BLOCK = 1 << 20, SIZE = 2 * BLOCK + 777, SECOND = 5000 };

typedef struct scene {
    uint8_t       *bytes; /* both files, one behind the other */
    rset_file_info files[2];
    rset_info      info;
    uint64_t       changed; /* this byte is read differently the second time; UINT64_MAX: none */
    size_t         largest; /* piece that was read */
    rset_status    st;      /* of reading */
} scene;

static int
set_up(void **state)
{
    scene *s = calloc(1, sizeof *s);

    s->bytes = malloc(SIZE + SECOND);
    fill_random(s->bytes, SIZE + SECOND, 1);
    s->info = (rset_info){.nfiles = 2, .files = s->files};
    s->files[0].attrs.size = SIZE;
    s->files[1].attrs.size = SECOND; /* without checksums: nothing to compare with */
    s->files[0].has_sums = true;
    sums_of(&s->files[0].sums, s->bytes, SIZE, BLOCK);
    s->changed = UINT64_MAX;
    *state = s;
    return 0;
}

static int
tear_down(void **state)
{
    scene *s = *state;

    rset_sums_free(&s->files[0].sums);
    free(s->bytes);
    free(s);
    return 0;
}

static rset_status
read_again(void *arg, bool payload, uint64_t off, void *buf, size_t len, rset_err *err)
{
    scene *s = arg;

    assert_false(payload);
    if (len > s->largest)
        s->largest = len;
    memcpy(buf, s->bytes + off, len);
    if (s->changed >= off && s->changed < off + len)
        ((uint8_t *)buf)[s->changed - off] ^= 1;
    return s->st == RSET_OK ? RSET_OK : rset_fail(err, s->st, "cannot be read");
}

/* Bytes [from, from + len) are noted, then all is compared. */
static rset_status
check(scene *s, uint64_t from, size_t len)
{
    rset_reread w = {0};
    rset_err    err = RSET_ERR_NONE;
    rset_status st;

    assert_int_equal(rset_reread_begin(&s->info, NULL, &w, &err), RSET_OK);
    rset_reread_data(&w, from, s->bytes + from, len);
    rset_reread_payload(&w, 0, s->bytes, 10);
    st = rset_reread_check(&w, read_again, s, "file", &err);
    rset_reread_free(&w);
    return st;
}

static void
rest_of_blocks_is_read(void **state)
{
    scene *s = *state;

    assert_int_equal(check(s, BLOCK + 3, 5), RSET_OK);
    assert_true(s->largest >= 1 && s->largest <= BLOCK / 2); /* in pieces */
    assert_int_equal(check(s, SIZE - 1, 2), RSET_OK);
    assert_int_equal(check(s, BLOCK - 1, BLOCK + 2), RSET_OK);
}

static void
another_bit_is_seen(void **state)
{
    static const uint64_t places[] = {BLOCK, 2 * BLOCK - 1, BLOCK + 3000};
    scene                *s = *state;

    for (size_t i = 0; i < 3; i++) {
        s->changed = places[i];
        assert_int_equal(check(s, BLOCK + 3, 5), RSET_IO);
    }
    s->changed = 2 * BLOCK; /* of a block of which nothing was read before */
    assert_int_equal(check(s, BLOCK + 3, 5), RSET_OK);
}

static void
unreadable_the_second_time(void **state)
{
    scene *s = *state;

    s->st = RSET_IO;
    assert_int_equal(check(s, 3, 5), RSET_IO);
}

static void
nothing_to_compare(void **state)
{
    scene      *s = *state;
    rset_err    err = RSET_ERR_NONE;
    rset_reread never = {0};

    assert_int_equal(check(s, SIZE, SECOND), RSET_OK);
    assert_int_equal(s->largest, 0);
    rset_reread_data(&never, 0, s->bytes, 10);
    rset_reread_payload(&never, 0, s->bytes, 10);
    assert_int_equal(rset_reread_check(&never, read_again, s, "file", &err), RSET_OK);
    rset_reread_free(&never);
}

int
main(void)
{
#define WITH_SCENE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_SCENE(rest_of_blocks_is_read),
        WITH_SCENE(another_bit_is_seen),
        WITH_SCENE(unreadable_the_second_time),
        WITH_SCENE(nothing_to_compare),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
