/* test_undo.c: undo journals as they may lie on disk (undo.h, FORMAT-extensions.md 4): every flipped bit, every cut,
 * and what only somebody hostile writes. What is taken is exactly what stands before the first thing wrong. And rolling back by one. */
#include "common/bytes.h"
#include "common/crc64.h"
#include "image.h"
#include "member/undo.h"
#include "names/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    SIZE = 100,
    ROOM = 4096,
    HEAD = 96,
    PLACE = 512,
    ENTRIES = RSET_UNDO_ENTRIES,
    ENTRY = RSET_OVERLAY_ENTRY
};

static const uint64_t generation = UINT64_C(0x1234560000000001);
static const uint64_t key = UINT64_C(0x77);

typedef struct scene {
    char     *base;
    rset_dir *dir;
    uint8_t   bytes[ROOM];
    size_t    n;
} scene;

/* A head as FORMAT-extensions.md 4 has it, by hand: magic, ten numbers, checksum. */
static void
put_head(scene *s, uint64_t sequence, rset_undo_state state)
{
    const uint64_t fields[] = {sequence, state, RSET_UNDO_KEPT, generation, SIZE, 11, 12, 4,
                               77,       key};
    uint8_t       *at = s->bytes + sequence % 2 * PLACE;

    memcpy(at, "RSETJRN3", 8);
    for (size_t i = 0; i < 10; i++)
        rset_put64(at + 8 + 8 * i, fields[i]);
    rset_put64(at + 88, rset_crc64(0, at, 88));
    s->n = s->n > ENTRIES ? s->n : ENTRIES;
}

/* The head says that the old file was put aside as well. */
static void
put_aside(scene *s)
{
    uint8_t *at = s->bytes + PLACE;

    rset_put64(at + 24, RSET_UNDO_KEPT | RSET_UNDO_ASIDE);
    rset_put64(at + 88, rset_crc64(0, at, 88));
}

/* An entry with `real` bytes of 'a' + off. */
static void
put_entry(scene *s, uint64_t off, uint64_t len, size_t real)
{
    rset_put64(s->bytes + s->n, off);
    rset_put64(s->bytes + s->n + 8, len);
    rset_put64(s->bytes + s->n + 16, key);
    rset_put64(s->bytes + s->n + 16, rset_crc64(0, s->bytes + s->n, 24));
    memset(s->bytes + s->n + ENTRY, 'a' + (int)(off % 26), real);
    s->n += ENTRY + real;
}

static rset_undo
load(scene *s)
{
    rset_err  err = RSET_ERR_NONE;
    rset_undo undo;

    write_file(path_of("%s/f.redset.1234560000000001.undo", s->base), s->bytes, s->n);
    assert_int_equal(rset_undo_load(s->dir, "f.", generation, &undo, &err), RSET_OK);
    assert_true(undo.there != undo.rotten);
    return undo;
}

static int
set_up(void **state)
{
    rset_err err = RSET_ERR_NONE;
    scene   *s = calloc(1, sizeof *s);

    s->base = scratch_make();
    assert_int_equal(rset_dir_open(s->base, false, &s->dir, &err), RSET_OK);
    put_head(s, 1, RSET_UNDO_OPEN);
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
    scene    *s = *state;
    rset_undo undo;

    put_entry(s, 50, 10, 10);
    put_entry(s, 0, 3, 3);
    put_entry(s, 90, 10, 10);
    undo = load(s);
    assert_true(undo.there && !undo.busy && !undo.aside);
    assert_int_equal(undo.head.state, RSET_UNDO_OPEN);
    assert_int_equal(undo.head.closed, 77);
    assert_true(rset_undo_leads_to(&undo, generation, SIZE));
    assert_int_equal(undo.kept.n, 3);
    assert_int_equal(undo.kept.runs[0].off, 0); /* in order of the file, not of the journal */
    assert_int_equal(undo.kept.runs[0].at, ENTRIES + ENTRY + 10 + ENTRY);
    assert_int_equal(undo.kept.runs[2].off, 90);
    assert_int_equal(undo.kept.end, s->n);
    rset_undo_free(&undo);
}

/* Of one with a rotten head nothing is known but that it was there. */
static void
no_bit_of_the_only_head_may_flip(void **state)
{
    scene *s = *state;

    put_entry(s, 0, 10, 10);
    for (size_t bit = 8 * PLACE; bit < 8 * (PLACE + HEAD); bit++) {
        rset_undo undo;

        s->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        undo = load(s);
        assert_true(undo.rotten && undo.kept.n == 0);
        assert_false(rset_undo_leads_to(&undo, generation, SIZE));
        s->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        rset_undo_free(&undo);
    }
}

/* The newer of two heads counts, wherever it lies; and while one is written, torn as it may be, the other. */
static void
the_newest_good_head_counts(void **state)
{
    scene    *s = *state;
    rset_undo undo;

    for (uint64_t sequence = 2; sequence < 6; sequence++) {
        put_head(s, sequence, sequence % 2 == 0 ? RSET_UNDO_CLOSED : RSET_UNDO_OPEN);
        undo = load(s);
        assert_int_equal(undo.head.sequence, sequence);
        assert_int_equal(undo.head.state, sequence % 2 == 0 ? RSET_UNDO_CLOSED : RSET_UNDO_OPEN);
        rset_undo_free(&undo);
        for (size_t torn = 0; torn < HEAD; torn++) {
            uint8_t *byte = s->bytes + sequence % 2 * PLACE + torn;

            *byte ^= 0xff;
            undo = load(s);
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
    scene               *s = *state;
    const rset_undo_head closed = {
        2, RSET_UNDO_CLOSED, RSET_UNDO_KEPT, generation, SIZE, {11, 12, 4}, 77, key};
    rset_err   err = RSET_ERR_NONE;
    rset_file *file;
    uint8_t    got[HEAD];
    size_t     n;
    rset_undo  undo = load(s);

    put_head(s, 2, RSET_UNDO_CLOSED);
    assert_int_equal(rset_file_open_update(s->dir, "f.redset.1234560000000001.undo", &file, &err),
                     RSET_OK);
    assert_int_equal(rset_undo_write_head(file, &closed, &err), RSET_OK);
    assert_int_equal(rset_file_read(file, 0, got, sizeof got, &n, &err), RSET_OK);
    assert_memory_equal(got, s->bytes, HEAD);
    rset_file_close(file, NULL);
    rset_undo_free(&undo);
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
    for (size_t bit = 0; bit < 8 * ENTRY; bit++) {
        uint8_t  *byte = &s->bytes[second + bit / 8];
        rset_undo undo;

        *byte ^= (uint8_t)(1u << bit % 8);
        undo = load(s);
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
    scene *s = *state;
    size_t ends[3], all;

    put_entry(s, 0, 10, 10);
    ends[0] = s->n;
    put_entry(s, 20, 10, 10);
    ends[1] = s->n;
    all = s->n + 1;
    for (s->n = 0; s->n < all; s->n++) {
        rset_undo undo = load(s);

        assert_int_equal(undo.there, s->n >= PLACE + HEAD);
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
    } bad[] = {{0, 0},          {SIZE, 1}, {SIZE - 1, 2}, {UINT64_MAX - 1, 1},
               {1, UINT64_MAX}, {0, 50} /* which are not there */};
    scene *s = *state;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rset_undo undo;

        s->n = ENTRIES;
        put_entry(s, 60, 10, 10);
        put_entry(s, bad[i].off, bad[i].len, 0);
        undo = load(s);
        assert_true(undo.there);
        assert_int_equal(undo.kept.n, 1);
        assert_int_equal(undo.kept.end, ENTRIES + ENTRY + 10);
        rset_undo_free(&undo);
    }
}

static void
entries_over_each_other_are_rotten(void **state)
{
    scene    *s = *state;
    rset_undo undo;

    put_entry(s, 10, 10, 10);
    put_entry(s, 0, 11, 11);
    undo = load(s);
    assert_true(undo.rotten && undo.kept.n == 0);
    rset_undo_free(&undo);
}

static void
another_generation_or_size_is_not_led_to(void **state)
{
    scene    *s = *state;
    rset_err  err = RSET_ERR_NONE;
    rset_undo undo, none;

    put_entry(s, 0, 10, 10);
    undo = load(s);
    assert_false(rset_undo_leads_to(&undo, generation + 1, SIZE));
    assert_false(rset_undo_leads_to(&undo, generation, SIZE + 1));
    undo.head.flags = 0; /* nothing was kept */
    assert_false(rset_undo_leads_to(&undo, generation, SIZE));
    undo.head.flags = RSET_UNDO_KEPT | RSET_UNDO_FIRST; /* there was nothing to keep */
    assert_false(rset_undo_leads_to(&undo, generation, SIZE));
    assert_int_equal(rset_undo_load(s->dir, "g.", generation, &none, &err), RSET_OK);
    assert_false(none.there || none.rotten);
    rset_undo_free(&undo);
}

/* ---- reading through it ---- */

/* Every part of a file of which the journal has some, over a base that ends early, or that is missing. */
static void
reads_old_bytes_over_the_base(void **state)
{
    enum { BASE = 70 };
    scene       *s = *state;
    rset_err     err = RSET_ERR_NONE;
    uint8_t      base_bytes[BASE], want[SIZE], got[SIZE];
    rset_file   *journal, *base;
    rset_layered layers;
    rset_undo    undo;

    fill_random(base_bytes, sizeof base_bytes, 1);
    write_file(path_of("%s/f", s->base), base_bytes, sizeof base_bytes);
    memcpy(want, base_bytes, sizeof base_bytes);
    for (size_t off = 0; off < SIZE; off += 30) {
        put_entry(s, off, 10, 10);
        memset(want + off, 'a' + (int)(off % 26), 10);
    }
    undo = load(s);
    assert_int_equal(undo.kept.n, 4);
    assert_int_equal(rset_file_open(s->dir, "f.redset.1234560000000001.undo", &journal, &err),
                     RSET_OK);
    assert_int_equal(rset_file_open(s->dir, "f", &base, &err), RSET_OK);
    layers = (rset_layered){.top = journal, .over = &undo.kept};
    for (size_t off = 0; off < SIZE; off++)
        for (size_t len = 1; len <= SIZE - off; len++) {
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

/* ---- rolling back ---- */

/* "f" with SIZE old bytes, of which a program that died has changed some, and cut off others. */
static void
change_some(scene *s, uint8_t *old)
{
    uint8_t now[SIZE];

    for (int i = 0; i < SIZE; i++)
        old[i] = (uint8_t)('a' + i / 30 * 30 % 26);
    memcpy(now, old, SIZE);
    for (size_t off = 0; off < SIZE; off += 30) {
        put_entry(s, off, 10, 10);
        memset(now + off, '-', 10);
    }
    write_file(path_of("%s/f", s->base), now, SIZE - 10);
}

/* Whatever stops it, it can be done again: the journal stays until everything is durable. */
static void
rolls_back_in_place(void **state)
{
    scene    *s = *state;
    rset_err  err = RSET_ERR_NONE;
    uint8_t   old[SIZE];
    size_t    n;
    uint8_t  *got;
    rset_undo undo;

    change_some(s, old);
    undo = load(s);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(rset_undo_begin(s->dir, "f.", &undo, &err), RSET_OK);
        assert_int_equal(rset_undo_apply(s->dir, "f.", "f", &undo, &err), RSET_OK);
        got = read_file(path_of("%s/f", s->base), &n);
        assert_int_equal(n, SIZE);
        assert_memory_equal(got, old, SIZE);
        free(got);
    }
    assert_int_equal(rset_undo_remove(s->dir, "f.", &undo, &err), RSET_OK);
    assert_false(exists(path_of("%s/f.redset.1234560000000001.undo", s->base)));
    rset_undo_free(&undo);
}

/* The old file was put aside, after some of it had changed in place. */
static void
gives_the_name_back(void **state)
{
    scene    *s = *state;
    rset_err  err = RSET_ERR_NONE;
    uint8_t   old[SIZE];
    size_t    n;
    uint8_t  *got;
    char     *aside = rset_name_of(RSET_NAME_DATA, "f.", generation);
    rset_undo undo;

    change_some(s, old);
    assert_int_equal(rename(path_of("%s/f", s->base), path_of("%s/%s", s->base, aside)), 0);
    write_file(path_of("%s/f", s->base), "new", 3);
    undo = load(s);
    assert_false(undo.aside); /* it may be one that is kept */
    rset_undo_free(&undo);
    put_aside(s);
    undo = load(s);
    assert_true(undo.aside);
    assert_int_equal(rset_undo_apply(s->dir, "f.", "f", &undo, &err), RSET_OK);
    got = read_file(path_of("%s/f", s->base), &n);
    assert_int_equal(n, SIZE);
    assert_memory_equal(got, old, SIZE);
    assert_false(exists(path_of("%s/%s", s->base, aside)));
    free(got);
    free(aside);
    rset_undo_free(&undo);
}

/* The same of one that had only grown before it was put aside: nothing had to be kept, and it has to be cut off. */
static void
cuts_off_what_had_grown(void **state)
{
    scene    *s = *state;
    rset_err  err = RSET_ERR_NONE;
    uint8_t   grown[3 * SIZE];
    size_t    n;
    uint8_t  *got;
    char     *aside = rset_name_of(RSET_NAME_DATA, "f.", generation);
    rset_undo undo;

    fill_random(grown, sizeof grown, 1);
    write_file(path_of("%s/%s", s->base, aside), grown, sizeof grown);
    write_file(path_of("%s/f", s->base), "new", 3);
    put_aside(s);
    undo = load(s);
    assert_int_equal(rset_undo_apply(s->dir, "f.", "f", &undo, &err), RSET_OK);
    got = read_file(path_of("%s/f", s->base), &n);
    assert_int_equal(n, SIZE);
    assert_memory_equal(got, grown, SIZE);
    free(got);
    free(aside);
    rset_undo_free(&undo);
}

/* One that was closed says OPEN, durably, before the first byte goes back: it is neither from then on. */
static void
is_open_while_it_rolls_back(void **state)
{
    scene    *s = *state;
    rset_err  err = RSET_ERR_NONE;
    rset_undo undo, after;

    put_head(s, 2, RSET_UNDO_CLOSED);
    undo = load(s);
    assert_int_equal(undo.head.label.step, 12);
    assert_int_equal(rset_undo_begin(s->dir, "f.", &undo, &err), RSET_OK);
    assert_int_equal(rset_undo_load(s->dir, "f.", generation, &after, &err), RSET_OK);
    assert_int_equal(after.head.state, RSET_UNDO_OPEN);
    assert_int_equal(after.head.label.ranks, 0);
    assert_int_equal(after.head.generation, generation);
    rset_undo_free(&after);
    rset_undo_free(&undo);
}

/* What another process changes now is not rolled back under its hands. */
static void
what_is_changed_now_is_not_rolled_back(void **state)
{
    scene     *s = *state;
    rset_err   err = RSET_ERR_NONE;
    rset_file *locked;
    rset_undo  undo;

    put_head(s, 2, RSET_UNDO_CLOSED);
    undo = load(s);
    assert_int_equal(rset_file_open_update(s->dir, "f.redset.1234560000000001.undo", &locked, &err),
                     RSET_OK);
    assert_true(rset_file_guard_as(locked, RSET_GUARD_CHANGED, true));
    assert_int_equal(rset_undo_begin(s->dir, "f.", &undo, &err), RSET_BUSY);
    rset_undo_free(&undo);
    assert_int_equal(rset_undo_load(s->dir, "f.", generation, &undo, &err), RSET_OK);
    assert_true(undo.busy && undo.head.state == RSET_UNDO_CLOSED);
    rset_file_close(locked, NULL);
    rset_undo_free(&undo);
}

int
main(void)
{
#define WITH_SCENE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
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
        WITH_SCENE(rolls_back_in_place),
        WITH_SCENE(gives_the_name_back),
        WITH_SCENE(cuts_off_what_had_grown),
        WITH_SCENE(is_open_while_it_rolls_back),
        WITH_SCENE(what_is_changed_now_is_not_rolled_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
