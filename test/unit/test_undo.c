/* test_undo.c: undo journals as they may lie on disk (undo.h, FORMAT-extensions.md 4): every flipped bit, every cut,
 * and what only somebody hostile writes. What is taken is exactly what stands before the first thing wrong. */
#include "image.h"
#include "undo_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void
honest_entries_are_taken(void **state)
{
    undo_scene *s = *state;
    rset_undo   undo;

    undo_put_entry(s, 50, 10, 10);
    undo_put_entry(s, 0, 3, 3);
    undo_put_entry(s, 90, 10, 10);
    undo = undo_load(s);
    assert_true(undo.there && !undo.busy && !undo.aside);
    assert_int_equal(undo.head.state, RSET_UNDO_OPEN);
    assert_int_equal(undo.head.closed, 77);
    assert_true(rset_undo_leads_to(&undo, undo_generation, UNDO_SIZE));
    assert_int_equal(undo.kept.n, 3);
    assert_int_equal(undo.kept.runs[0].off, 0); /* in order of the file, not of the journal */
    assert_int_equal(undo.kept.runs[0].at, UNDO_ENTRIES + UNDO_ENTRY + 10 + UNDO_ENTRY);
    assert_int_equal(undo.kept.runs[2].off, 90);
    assert_int_equal(undo.kept.end, s->n);
    rset_undo_free(&undo);
}

/* Of one with a rotten head nothing is known but that it was there. */
static void
no_bit_of_the_only_head_may_flip(void **state)
{
    undo_scene *s = *state;

    undo_put_entry(s, 0, 10, 10);
    for (size_t bit = 8 * UNDO_PLACE; bit < 8 * (UNDO_PLACE + UNDO_HEAD); bit++) {
        rset_undo undo;

        s->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        undo = undo_load(s);
        assert_true(undo.rotten && undo.kept.n == 0);
        assert_false(rset_undo_leads_to(&undo, undo_generation, UNDO_SIZE));
        s->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        rset_undo_free(&undo);
    }
}

/* The newer of two heads counts, wherever it lies; and while one is written, torn as it may be, the other. */
static void
the_newest_good_head_counts(void **state)
{
    undo_scene *s = *state;
    rset_undo   undo;

    for (uint64_t sequence = 2; sequence < 6; sequence++) {
        undo_put_head(s, sequence, sequence % 2 == 0 ? RSET_UNDO_CLOSED : RSET_UNDO_OPEN);
        undo = undo_load(s);
        assert_int_equal(undo.head.sequence, sequence);
        assert_int_equal(undo.head.state, sequence % 2 == 0 ? RSET_UNDO_CLOSED : RSET_UNDO_OPEN);
        rset_undo_free(&undo);
        for (size_t torn = 0; torn < UNDO_HEAD; torn++) {
            uint8_t *byte = s->bytes + sequence % 2 * UNDO_PLACE + torn;

            *byte ^= 0xff;
            undo = undo_load(s);
            assert_int_equal(undo.head.sequence, sequence - 1);
            *byte ^= 0xff;
            rset_undo_free(&undo);
        }
    }
}

/* What is written is what FORMAT-extensions.md says. */
static void
heads_are_written_as_they_are_read(void **state)
{
    undo_scene          *s = *state;
    const rset_undo_head closed = {
        2, RSET_UNDO_CLOSED, RSET_UNDO_KEPT, undo_generation, UNDO_SIZE, {11, 12, 4}, 77, undo_key};
    rset_err   err = RSET_ERR_NONE;
    rset_file *file;
    uint8_t    got[UNDO_HEAD];
    size_t     n;
    rset_undo  undo = undo_load(s);

    undo_put_head(s, 2, RSET_UNDO_CLOSED);
    assert_int_equal(rset_file_open_update(s->dir, "f.redset.1234560000000001.undo", &file, &err),
                     RSET_OK);
    assert_int_equal(rset_undo_write_head(file, &closed, &err), RSET_OK);
    assert_int_equal(rset_file_read(file, 0, got, sizeof got, &n, &err), RSET_OK);
    assert_memory_equal(got, s->bytes, UNDO_HEAD);
    rset_file_close(file, NULL);
    rset_undo_free(&undo);
}

/* What follows a broken entry cannot be told from what a dying program left. */
static void
no_bit_of_an_entry_may_flip(void **state)
{
    undo_scene *s = *state;
    size_t      second;

    undo_put_entry(s, 0, 10, 10);
    second = s->n;
    undo_put_entry(s, 20, 10, 10);
    undo_put_entry(s, 40, 10, 10);
    for (size_t bit = 0; bit < 8 * UNDO_ENTRY; bit++) {
        uint8_t  *byte = &s->bytes[second + bit / 8];
        rset_undo undo;

        *byte ^= (uint8_t)(1u << bit % 8);
        undo = undo_load(s);
        assert_true(undo.there);
        assert_int_equal(undo.kept.n, 1);
        assert_int_equal(undo.kept.end, second);
        *byte ^= (uint8_t)(1u << bit % 8);
        rset_undo_free(&undo);
    }
}

static void
what_is_cut_short_is_not_taken(void **state)
{
    undo_scene *s = *state;
    size_t      ends[3], all;

    undo_put_entry(s, 0, 10, 10);
    ends[0] = s->n;
    undo_put_entry(s, 20, 10, 10);
    ends[1] = s->n;
    all = s->n + 1;
    for (s->n = 0; s->n < all; s->n++) {
        rset_undo undo = undo_load(s);

        assert_int_equal(undo.there, s->n >= UNDO_PLACE + UNDO_HEAD);
        assert_int_equal(undo.kept.n, (s->n >= ends[0]) + (s->n >= ends[1]));
        rset_undo_free(&undo);
    }
}

/* Checksums fit, and yet it is none of ours. */
static void
impossible_entries_end_it(void **state)
{
    static const struct {
        uint64_t off, len;
    } bad[] = {{0, 0},          {UNDO_SIZE, 1}, {UNDO_SIZE - 1, 2}, {UINT64_MAX - 1, 1},
               {1, UINT64_MAX}, {0, 50} /* which are not there */};
    undo_scene *s = *state;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rset_undo undo;

        s->n = UNDO_ENTRIES;
        undo_put_entry(s, 60, 10, 10);
        undo_put_entry(s, bad[i].off, bad[i].len, 0);
        undo = undo_load(s);
        assert_true(undo.there);
        assert_int_equal(undo.kept.n, 1);
        assert_int_equal(undo.kept.end, UNDO_ENTRIES + UNDO_ENTRY + 10);
        rset_undo_free(&undo);
    }
}

static void
entries_over_each_other_are_rotten(void **state)
{
    undo_scene *s = *state;
    rset_undo   undo;

    undo_put_entry(s, 10, 10, 10);
    undo_put_entry(s, 0, 11, 11);
    undo = undo_load(s);
    assert_true(undo.rotten && undo.kept.n == 0);
    rset_undo_free(&undo);
}

static void
another_generation_or_size_is_not_led_to(void **state)
{
    undo_scene *s = *state;
    rset_err    err = RSET_ERR_NONE;
    rset_undo   undo, none;

    undo_put_entry(s, 0, 10, 10);
    undo = undo_load(s);
    assert_false(rset_undo_leads_to(&undo, undo_generation + 1, UNDO_SIZE));
    assert_false(rset_undo_leads_to(&undo, undo_generation, UNDO_SIZE + 1));
    undo.head.flags = 0; /* nothing was kept */
    assert_false(rset_undo_leads_to(&undo, undo_generation, UNDO_SIZE));
    undo.head.flags = RSET_UNDO_KEPT | RSET_UNDO_FIRST; /* there was nothing to keep */
    assert_false(rset_undo_leads_to(&undo, undo_generation, UNDO_SIZE));
    assert_int_equal(rset_undo_load(s->dir, "g.", undo_generation, &none, &err), RSET_OK);
    assert_false(none.there || none.rotten);
    rset_undo_free(&undo);
}

/* ---- reading through it ---- */

/* Every part of a file of which the journal has some, over a base that ends early, or that is missing. */
static void
reads_old_bytes_over_the_base(void **state)
{
    enum { BASE = 70 };
    undo_scene  *s = *state;
    rset_err     err = RSET_ERR_NONE;
    uint8_t      base_bytes[BASE], want[UNDO_SIZE], got[UNDO_SIZE];
    rset_file   *journal, *base;
    rset_layered layers;
    rset_undo    undo;

    fill_random(base_bytes, sizeof base_bytes, 1);
    write_file(path_of("%s/f", s->base), base_bytes, sizeof base_bytes);
    memcpy(want, base_bytes, sizeof base_bytes);
    for (size_t off = 0; off < UNDO_SIZE; off += 30) {
        undo_put_entry(s, off, 10, 10);
        memset(want + off, 'a' + (int)(off % 26), 10);
    }
    undo = undo_load(s);
    assert_int_equal(undo.kept.n, 4);
    assert_int_equal(rset_file_open(s->dir, "f.redset.1234560000000001.undo", &journal, &err),
                     RSET_OK);
    assert_int_equal(rset_file_open(s->dir, "f", &base, &err), RSET_OK);
    layers = (rset_layered){.top = journal, .over = &undo.kept};
    for (size_t off = 0; off < UNDO_SIZE; off++)
        for (size_t len = 1; len <= UNDO_SIZE - off; len++) {
            size_t n, due = off + len <= BASE ? len : off < BASE ? BASE - off : 0;

            if (off >= 90)
                due = len; /* again in the journal */
            layers.base = base;
            assert_int_equal(rset_layered_read(&layers, off, got, len, &n, &err), RSET_OK);
            assert_int_equal(n, due);
            assert_memory_equal(got, want + off, n);
            layers.base = NULL;
            assert_int_equal(rset_layered_read(&layers, off, got, len, &n, &err), RSET_OK);
            due = off % 30 < 10 ? 10 - off % 30 : 0;
            assert_int_equal(n, due < len ? due : len);
        }
    rset_file_close(journal, NULL);
    rset_file_close(base, NULL);
    rset_undo_free(&undo);
}

int
main(void)
{
#define WITH_SCENE(f) cmocka_unit_test_setup_teardown(f, undo_set_up, undo_tear_down)
    const struct CMUnitTest tests[] = {
        WITH_SCENE(honest_entries_are_taken),
        WITH_SCENE(no_bit_of_the_only_head_may_flip),
        WITH_SCENE(the_newest_good_head_counts),
        WITH_SCENE(heads_are_written_as_they_are_read),
        WITH_SCENE(no_bit_of_an_entry_may_flip),
        WITH_SCENE(what_is_cut_short_is_not_taken),
        WITH_SCENE(impossible_entries_end_it),
        WITH_SCENE(entries_over_each_other_are_rotten),
        WITH_SCENE(another_generation_or_size_is_not_led_to),
        WITH_SCENE(reads_old_bytes_over_the_base),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
