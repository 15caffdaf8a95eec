/* The names file lists older generations by their numbers: however many they are, nobody else pays for them. */
#include "common/bytes.h"
#include "image.h"
#include "names_place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { OLDER = 300 };

static const char *
older_name(int i)
{
    return path_of("x/f.h5.redset.%016x.%s", i, i % 2 ? "data" : "undo") + 2;
}

/* So many generations are noted, and those of even numbers are there. */
static void
note_older(const names_place *p)
{
    names_protect(p);
    for (int i = 1; i <= OLDER; i++) {
        rset_err err = RSET_ERR_NONE;

        assert_int_equal(rset_names_note_kept(p->dir, "f.h5.", NULL, 0, (uint64_t)i, &err),
                         RSET_OK);
        if (i % 2 == 0) { /* what protects it says that it is one */
            names_make(p, older_name(i));
            names_make(p, path_of("x/f.h5.redset.%016x.data.3.redset", i) + 2);
        }
    }
    names_lists = names_syncs = names_writes = 0;
}

/* N5. They are listed, newest first, however many they are, and only who asks for them looks for each. */
static void
older_generations_are_listed_and_not_looked_for(void **state)
{
    const names_place *p = *state;
    rset_names         names;
    rset_err           err = RSET_ERR_NONE;
    bool               is;

    note_older(p);
    assert_int_equal(rset_names_find(p->dir, "f.h5.", "f.h5", &names, &err), RSET_OK);
    assert_int_equal(names.n, 2);
    assert_int_equal(names.nolder, OLDER);
    for (size_t i = 0; i < OLDER; i++)
        assert_int_equal(names.older[i].generation, OLDER - i);
    rset_names_free(&names);
    assert_int_equal(rset_names_find_all(p->dir, "f.h5.", "f.h5", &names, &err), RSET_OK);
    assert_int_equal(names.n, 2 + OLDER / 2);
    assert_int_equal(names.nolder, OLDER / 2);
    rset_names_free(&names);
    assert_int_equal(names_lists, 0);
    write_file(names_at(p, NAMES), "", 0); /* they are found by listing as well, and noted again */
    assert_int_equal(names_find(p, older_name(2), &is), 2 + OLDER / 2);
    assert_true(is);
    assert_int_equal(names_note(p, SHADOW), RSET_OK);
    assert_int_equal(rset_names_find(p->dir, "f.h5.", "f.h5", &names, &err), RSET_OK);
    assert_int_equal(names.nolder, OLDER / 2);
    rset_names_free(&names);
}

/* *refused_out: is it noted that it could not be had? False: it is not listed. */
static bool
is_listed(const names_place *p, uint64_t generation, bool *refused_out)
{
    rset_err    err = RSET_ERR_NONE;
    rset_older *list = NULL;
    size_t      n = 0;
    bool        is = false;

    assert_int_equal(rset_names_older(p->dir, "f.h5.", &list, &n, &err), RSET_OK);
    for (size_t i = 0; i < n; i++)
        if (list[i].generation == generation) {
            is = true;
            *refused_out = list[i].refused;
        }
    free(list);
    return is;
}

static void
what_becomes_of_an_older_generation_is_noted(void **state)
{
    const names_place *p = *state;
    bool               refused;

    note_older(p);
    rset_names_forget_older(p->dir, "f.h5.", 7);
    rset_names_note_refused(p->dir, "f.h5.", 8, true);
    rset_names_note_refused(p->dir, "f.h5.", OLDER + 1, true);
    assert_int_equal(names_writes, 2);
    assert_false(is_listed(p, 7, &refused));
    assert_false(is_listed(p, OLDER + 1, &refused));
    assert_true(is_listed(p, 8, &refused) && refused);
    assert_true(is_listed(p, 9, &refused) && !refused);
    assert_int_equal(names_note(p, SHADOW), RSET_OK);
    assert_true(is_listed(p, 8, &refused) && refused);
    rset_names_note_refused(p->dir, "f.h5.", 8, false);
    assert_true(is_listed(p, 8, &refused) && !refused);
}

/* What a names file says of them behind its stems is in order, each once, and as long as it says (P7, N3). */
static void
hostile_lists_of_older_ones_are_refused(void **state)
{
    static const char  good[] = "3.redset\0003.xor.grp_1_of_1.mem_4_of_4.redset";
    const names_place *p = *state;
    char               text[sizeof good + 48];

    names_protect(p);
    names_make(p, SHADOW);
    memcpy(text, good, sizeof good);
    for (int i = 0; i < 3; i++) {
        rset_put64((uint8_t *)text + sizeof good + 16 * i, 30 - (uint64_t)i);
        rset_put64((uint8_t *)text + sizeof good + 16 * i + 8, 0);
    }
    names_write_all(p, text, sizeof text, 2, sizeof good, 3);
    assert_names_found(p, R, 2);
    for (uint64_t n = 4; n != 0; n *= 2) {
        names_write_all(p, text, sizeof text, 2, sizeof good, n);
        assert_names_found(p, SHADOW, 3);
    }
    for (uint64_t second = 30; second <= 31; second++) {
        rset_put64((uint8_t *)text + sizeof good + 16, second);
        names_write_all(p, text, sizeof text, 2, sizeof good, 3);
        assert_names_found(p, SHADOW, 3);
    }
}

int
main(void)
{
#define HERE(test) cmocka_unit_test_setup_teardown(test, names_begin, names_end)
    const struct CMUnitTest tests[] = {
        HERE(older_generations_are_listed_and_not_looked_for),
        HERE(what_becomes_of_an_older_generation_is_noted),
        HERE(hostile_lists_of_older_ones_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
