/* test_journal.c: journals as they may lie on disk (journal.h, FORMAT.md 15): every flipped bit, every cut, and
 * what only somebody hostile writes. What is taken is exactly what stands before the first thing wrong. */
#include "common/bytes.h"
#include "common/crc64.h"
#include "image.h"
#include "member/journal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 100, ROOM = 4096, AT_HEAD = RSET_OVERLAY_HEAD, ENTRY = RSET_OVERLAY_ENTRY };

static const uint64_t generation = UINT64_C(0x1234560000000001);

typedef struct scene {
    char     *base;
    rset_dir *dir;
    uint8_t   bytes[ROOM];
    size_t    n;
} scene;

static void
put_head(scene *s)
{
    memcpy(s->bytes, RSET_JOURNAL_MAGIC, 8);
    rset_put64(s->bytes + 8, generation);
    rset_put64(s->bytes + 16, SIZE);
    rset_put64(s->bytes + 24, rset_crc64(0, s->bytes, 24));
    s->n = AT_HEAD;
}

/* An entry with `real` bytes of 'a' + off. */
static void
put_entry(scene *s, uint64_t off, uint64_t len, size_t real)
{
    rset_put64(s->bytes + s->n, off);
    rset_put64(s->bytes + s->n + 8, len);
    rset_put64(s->bytes + s->n + 16, rset_overlay_entry_crc(off, len, generation));
    memset(s->bytes + s->n + ENTRY, 'a' + (int)(off % 26), real);
    s->n += ENTRY + real;
}

static rset_old
load(scene *s)
{
    rset_err err = RSET_ERR_NONE;
    rset_old old;

    write_file(path_of("%s/f.redset.journal", s->base), s->bytes, s->n);
    assert_int_equal(rset_old_load(s->dir, "f.", generation, SIZE, &old, &err), RSET_OK);
    return old;
}

static int
set_up(void **state)
{
    rset_err err = RSET_ERR_NONE;
    scene   *s = calloc(1, sizeof *s);

    s->base = scratch_make();
    assert_int_equal(rset_dir_open(s->base, false, &s->dir, &err), RSET_OK);
    put_head(s);
    *state = s;
    return 0;
}

static int
tear_down(void **state)
{
    scene *s = *state;

    rset_dir_close(s->dir);
    remove_tree(s->base);
    free(s->base);
    free(s);
    return 0;
}

static void
honest_entries_are_taken(void **state)
{
    scene   *s = *state;
    rset_old old;

    put_entry(s, 50, 10, 10);
    put_entry(s, 0, 3, 3);
    put_entry(s, 90, 10, 10);
    put_entry(s, RSET_OVERLAY_END, 0, 0);
    old = load(s);
    assert_true(old.there && old.kept.complete && !old.busy && !old.replaced);
    assert_int_equal(old.kept.n, 3);
    assert_int_equal(old.kept.runs[0].off, 0); /* in order of the file, not of the journal */
    assert_int_equal(old.kept.runs[0].at, AT_HEAD + ENTRY + 10 + ENTRY);
    assert_int_equal(old.kept.runs[2].off, 90);
    assert_int_equal(old.kept.end, s->n - ENTRY);
    rset_old_free(&old);
}

static void
no_bit_of_the_head_may_flip(void **state)
{
    scene *s = *state;

    put_entry(s, 0, 10, 10);
    for (size_t bit = 0; bit < 8 * AT_HEAD; bit++) {
        rset_old old;

        s->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        old = load(s);
        assert_false(old.there || old.kept.n > 0);
        s->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        rset_old_free(&old);
    }
}

/* What follows a broken entry cannot be told from what a dying program left. */
static void
no_bit_of_an_entry_may_flip(void **state)
{
    scene *s = *state;
    size_t second;

    put_entry(s, 0, 10, 10);
    second = s->n;
    put_entry(s, 20, 10, 10);
    put_entry(s, 40, 10, 10);
    put_entry(s, RSET_OVERLAY_END, 0, 0);
    for (size_t bit = 0; bit < 8 * ENTRY; bit++) {
        uint8_t *byte = &s->bytes[second + bit / 8];
        rset_old old;

        *byte ^= (uint8_t)(1u << bit % 8);
        old = load(s);
        assert_true(old.there);
        assert_false(old.kept.complete);
        assert_int_equal(old.kept.n, 1);
        assert_int_equal(old.kept.end, second);
        *byte ^= (uint8_t)(1u << bit % 8);
        rset_old_free(&old);
    }
}

static void
what_is_cut_short_is_not_taken(void **state)
{
    scene *s = *state;
    size_t ends[3], all;

    put_entry(s, 0, 10, 10);
    ends[0] = s->n;
    put_entry(s, 20, 10, 10);
    ends[1] = s->n;
    put_entry(s, RSET_OVERLAY_END, 0, 0);
    all = s->n;
    for (s->n = 0; s->n < all; s->n++) {
        rset_old old = load(s);

        assert_int_equal(old.there, s->n >= AT_HEAD);
        assert_int_equal(old.kept.n, (s->n >= ends[0]) + (s->n >= ends[1]));
        assert_false(old.kept.complete);
        rset_old_free(&old);
    }
}

/* Checksums fit, and yet it is none of ours. */
static void
impossible_entries_end_it(void **state)
{
    static const struct {
        uint64_t off, len;
    } bad[] = {{0, 0},          {SIZE, 1}, {SIZE - 1, 2}, {UINT64_MAX - 1, 1},
               {1, UINT64_MAX}, {0, 50} /* which are not there */};
    scene *s = *state;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rset_old old;

        put_head(s);
        put_entry(s, 60, 10, 10);
        put_entry(s, bad[i].off, bad[i].len, 0);
        old = load(s);
        assert_true(old.there);
        assert_int_equal(old.kept.n, 1);
        assert_int_equal(old.kept.end, AT_HEAD + ENTRY + 10);
        rset_old_free(&old);
    }
}

static void
entries_over_each_other_are_no_way_back(void **state)
{
    scene   *s = *state;
    rset_old old;

    put_entry(s, 10, 10, 10);
    put_entry(s, 0, 11, 11);
    old = load(s);
    assert_false(old.there || old.kept.n > 0);
    rset_old_free(&old);
}

static void
another_generation_or_size_is_anothers(void **state)
{
    scene   *s = *state;
    rset_err err = RSET_ERR_NONE;
    rset_old old;

    put_entry(s, 0, 10, 10);
    write_file(path_of("%s/f.redset.journal", s->base), s->bytes, s->n);
    assert_int_equal(rset_old_load(s->dir, "f.", generation + 1, SIZE, &old, &err), RSET_OK);
    assert_false(old.there);
    assert_int_equal(rset_old_load(s->dir, "f.", generation, SIZE + 1, &old, &err), RSET_OK);
    assert_false(old.there);
    assert_int_equal(rset_old_load(s->dir, "g.", generation, SIZE, &old, &err), RSET_OK);
    assert_false(old.there);
}

/* ---- reading through it ---- */

/* Every part of a file of which the journal has some, over a base that ends early, or that is missing. */
static void
reads_old_bytes_over_the_base(void **state)
{
    enum { BASE = 70 };
    scene     *s = *state;
    rset_err   err = RSET_ERR_NONE;
    uint8_t    base_bytes[BASE], want[SIZE], got[SIZE];
    rset_file *journal, *base;
    rset_old   old;

    fill_random(base_bytes, sizeof base_bytes, 1);
    write_file(path_of("%s/f", s->base), base_bytes, sizeof base_bytes);
    memcpy(want, base_bytes, sizeof base_bytes);
    for (size_t off = 0; off < SIZE; off += 30) {
        put_entry(s, off, 10, 10);
        memset(want + off, 'a' + (int)(off % 26), 10);
    }
    old = load(s);
    assert_int_equal(old.kept.n, 4);
    assert_int_equal(rset_file_open(s->dir, "f.redset.journal", &journal, &err), RSET_OK);
    assert_int_equal(rset_file_open(s->dir, "f", &base, &err), RSET_OK);
    for (size_t off = 0; off < SIZE; off++)
        for (size_t len = 1; len <= SIZE - off; len++) {
            size_t n, due = off + len <= BASE ? len : off < BASE ? BASE - off : 0;

            if (off >= 90)
                due = len; /* again in the journal */
            assert_int_equal(rset_overlay_read(&old.kept, journal, base, off, got, len, &n, &err),
                             RSET_OK);
            assert_int_equal(n, due);
            assert_memory_equal(got, want + off, n);
            assert_int_equal(rset_overlay_read(&old.kept, journal, NULL, off, got, len, &n, &err),
                             RSET_OK);
            due = off % 30 < 10 ? 10 - off % 30 : 0;
            assert_int_equal(n, due < len ? due : len);
        }
    rset_file_close(journal, NULL);
    rset_file_close(base, NULL);
    rset_old_free(&old);
}

int
main(void)
{
#define WITH_SCENE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_SCENE(honest_entries_are_taken),
        WITH_SCENE(no_bit_of_the_head_may_flip),
        WITH_SCENE(no_bit_of_an_entry_may_flip),
        WITH_SCENE(what_is_cut_short_is_not_taken),
        WITH_SCENE(impossible_entries_end_it),
        WITH_SCENE(entries_over_each_other_are_no_way_back),
        WITH_SCENE(another_generation_or_size_is_anothers),
        WITH_SCENE(reads_old_bytes_over_the_base),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
