/* test_undo_rollback.c: a file is rolled back by its undo journal (undo.h), in place, or where the old one was put aside; again if that is
 * cut short, and not while somebody changes it. */
#include "image.h"
#include "names/names.h"
#include "undo_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* "f" with SIZE old bytes, of which a program that died has changed some, and cut off others. */
static void
change_some(undo_scene *s, uint8_t *old)
{
    uint8_t now[UNDO_SIZE];

    for (int i = 0; i < UNDO_SIZE; i++)
        old[i] = (uint8_t)('a' + i / 30 * 30 % 26);
    memcpy(now, old, UNDO_SIZE);
    for (size_t off = 0; off < UNDO_SIZE; off += 30) {
        undo_put_entry(s, off, 10, 10);
        memset(now + off, '-', 10);
    }
    write_file(path_of("%s/f", s->base), now, UNDO_SIZE - 10);
}

/* "f" goes back to its old bytes. */
static void
assert_goes_back(undo_scene *s, const rset_undo *undo, const uint8_t *old)
{
    rset_err err = RSET_ERR_NONE;
    size_t   n;
    uint8_t *got;

    assert_int_equal(rset_undo_apply(s->dir, "f.", "f", undo, &err), RSET_OK);
    got = read_file(path_of("%s/f", s->base), &n);
    assert_int_equal(n, UNDO_SIZE);
    assert_memory_equal(got, old, UNDO_SIZE);
    free(got);
}

/* Whatever stops it, it can be done again: the journal stays until everything is durable. */
static void
rolls_back_in_place(void **state)
{
    undo_scene *s = *state;
    rset_err    err = RSET_ERR_NONE;
    uint8_t     old[UNDO_SIZE];
    rset_undo   undo;

    change_some(s, old);
    undo = undo_load(s);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(rset_undo_begin(s->dir, "f.", &undo, &err), RSET_OK);
        assert_goes_back(s, &undo, old);
    }
    assert_int_equal(rset_undo_remove(s->dir, "f.", &undo, &err), RSET_OK);
    assert_false(exists(path_of("%s/f.redset.1234560000000001.undo", s->base)));
    rset_undo_free(&undo);
}

/* The old file was put aside, after some of it had changed in place. */
static void
gives_the_name_back(void **state)
{
    undo_scene *s = *state;
    uint8_t     old[UNDO_SIZE];
    char       *aside = rset_name_of(RSET_NAME_DATA, "f.", undo_generation);
    rset_undo   undo;

    change_some(s, old);
    assert_int_equal(rename(path_of("%s/f", s->base), path_of("%s/%s", s->base, aside)), 0);
    write_file(path_of("%s/f", s->base), "new", 3);
    undo = undo_load(s);
    assert_false(undo.aside); /* it may be one that is kept */
    rset_undo_free(&undo);
    undo_put_aside(s);
    undo = undo_load(s);
    assert_true(undo.aside);
    assert_goes_back(s, &undo, old);
    assert_false(exists(path_of("%s/%s", s->base, aside)));
    free(aside);
    rset_undo_free(&undo);
}

/* An old file that had only grown before it was put aside is cut off: nothing of it had to be kept. */
static void
cuts_off_what_had_grown(void **state)
{
    undo_scene *s = *state;
    uint8_t     grown[3 * UNDO_SIZE];
    char       *aside = rset_name_of(RSET_NAME_DATA, "f.", undo_generation);
    rset_undo   undo;

    fill_random(grown, sizeof grown, 1);
    write_file(path_of("%s/%s", s->base, aside), grown, sizeof grown);
    write_file(path_of("%s/f", s->base), "new", 3);
    undo_put_aside(s);
    undo = undo_load(s);
    assert_goes_back(s, &undo, grown);
    free(aside);
    rset_undo_free(&undo);
}

/* One that was closed says OPEN, durably, before the first byte goes back: it is neither from then on. */
static void
is_open_while_it_rolls_back(void **state)
{
    undo_scene *s = *state;
    rset_err    err = RSET_ERR_NONE;
    rset_undo   undo, after;

    undo_put_head(s, 2, RSET_UNDO_CLOSED);
    undo = undo_load(s);
    assert_int_equal(undo.head.label.step, 12);
    assert_int_equal(rset_undo_begin(s->dir, "f.", &undo, &err), RSET_OK);
    assert_int_equal(rset_undo_load(s->dir, "f.", undo_generation, &after, &err), RSET_OK);
    assert_int_equal(after.head.state, RSET_UNDO_OPEN);
    assert_int_equal(after.head.label.ranks, 0);
    assert_int_equal(after.head.generation, undo_generation);
    rset_undo_free(&after);
    rset_undo_free(&undo);
}

/* What another process changes now is not rolled back under its hands. */
static void
what_is_changed_now_is_not_rolled_back(void **state)
{
    undo_scene *s = *state;
    rset_err    err = RSET_ERR_NONE;
    rset_file  *locked;
    rset_undo   undo;

    undo_put_head(s, 2, RSET_UNDO_CLOSED);
    undo = undo_load(s);
    assert_int_equal(rset_file_open_update(s->dir, "f.redset.1234560000000001.undo", &locked, &err),
                     RSET_OK);
    assert_true(rset_file_guard_as(locked, RSET_GUARD_CHANGED, true));
    assert_int_equal(rset_undo_begin(s->dir, "f.", &undo, &err), RSET_BUSY);
    rset_undo_free(&undo);
    assert_int_equal(rset_undo_load(s->dir, "f.", undo_generation, &undo, &err), RSET_OK);
    assert_true(undo.busy && undo.head.state == RSET_UNDO_CLOSED);
    rset_file_close(locked, NULL);
    rset_undo_free(&undo);
}

int
main(void)
{
#define WITH_SCENE(f) cmocka_unit_test_setup_teardown(f, undo_set_up, undo_tear_down)
    const struct CMUnitTest tests[] = {
        WITH_SCENE(rolls_back_in_place),
        WITH_SCENE(gives_the_name_back),
        WITH_SCENE(cuts_off_what_had_grown),
        WITH_SCENE(is_open_while_it_rolls_back),
        WITH_SCENE(what_is_changed_now_is_not_rolled_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
