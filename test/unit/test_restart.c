/* test_restart.c: as many ranks as there are files of a kind open one each, to read them: that is a restart. It has files of one
 * generation, or is refused, or warned of; as one that opens them to change them. */
#include "reader_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FEWER = 2 };

/* Fewer ranks have written over the first files of step 0 since. */
static void
write_over(world *w)
{
    job few;

    job_init(&few, w->base, FEWER, &rset_scheme_xor, 1, 2);
    for (int r = 0; r < FEWER; r++) {
        job_rank *k = &few.ranks[r];

        free(k->dir);
        free(k->prefix);
        free(k->names[0]);
        assert_true(asprintf(&k->dir, "%s/node%d", w->base, r) > 0);
        assert_true(asprintf(&k->names[0], "%s", name_of(0, r)) > 0);
        assert_true(asprintf(&k->prefix, "%s.", name_of(0, r)) > 0);
        k->desc.generation = w->job[0].ranks[0].desc.generation;
    }
    job_write_data(&few, reader_sizes, 6, 30);
    if (job_protect(&few) != RSET_OK)
        fail_msg("%s", job_text(&few));
    job_free(&few);
    image_free(&w->image);
    w->image = image_take(w->base);
}

/* Each its own. */
static void
one_each(reader *who)
{
    for (int i = 0; i < WRITERS; i++)
        who[i] = (reader){i % NODES, 0, i};
}

/* Refused on all, and nothing was changed; or opened, with this in the note of all. */
static void
a_restart_has_one_generation(void **state)
{
    reader who[WRITERS];
    job    readers;
    world  w;

    (void)state;
    reader_world_open(&w, &rset_scheme_xor, 1, 1);
    write_over(&w);
    one_each(who);
    w.required = true;
    expect_not_read(&w, who, WRITERS, "were not protected together");
    w.required = false;
    assert_int_equal(read_all(&w, who, WRITERS, &readers), RSET_OK);
    for (int i = 0; i < WRITERS; i++) {
        assert_int_equal(readers.ranks[i].out.reason, RSET_REASON_MIXED_AS_IS);
        assert_non_null(strstr(readers.ranks[i].out.note, "of different generations"));
        assert_false(readers.ranks[i].out.protected_);
    }
    job_free(&readers);
    reader_world_close(&w);
}

/* Whether it may be wrong or not. */
static void
nor_is_it_opened_to_be_changed(void **state)
{
    reader who[WRITERS];
    world  w;

    (void)state;
    reader_world_open(&w, &rset_scheme_xor, 1, 1);
    write_over(&w);
    one_each(who);
    w.writes = true;
    expect_not_read(&w, who, WRITERS, "of the 8 that wrote these files");
    reader_world_close(&w);
}

/* Fewer ranks, or two of one file: they may read what they like, and are told. */
static void
other_readers_are_told(void **state)
{
    reader who[WRITERS];
    world  w;

    (void)state;
    reader_world_open(&w, &rset_scheme_xor, 1, 1);
    write_over(&w);
    w.required = true;
    for (int i = 0; i < NODES; i++)
        who[i] = (reader){i, 0, i};
    assert_int_equal(expect_read(&w, who, NODES), RSET_REASON_MIXED_AS_IS);
    one_each(who);
    who[7] = who[3];
    assert_int_equal(expect_read(&w, who, WRITERS), RSET_REASON_MIXED_AS_IS);
    for (int i = 0; i < FEWER; i++)
        who[i] = (reader){i, 0, i};
    assert_int_equal(expect_read(&w, who, FEWER), RSET_REASON_HEALTHY);
    for (int i = 0; i < NODES; i++)
        who[i] = (reader){(i + 2) % NODES, 0, i + 2};
    assert_int_equal(expect_read(&w, who, NODES), RSET_REASON_READ_AS_IS);
    reader_world_close(&w);
}

/* Their names say that they are of different steps: that is what the program wants. */
static void
files_of_several_steps_are_none(void **state)
{
    reader who[WRITERS];
    world  w;

    (void)state;
    reader_world_open(&w, &rset_scheme_xor, 1, 2);
    w.required = true;
    for (int i = 0; i < WRITERS; i++)
        who[i] = (reader){i % NODES, i % 2, i};
    assert_int_equal(expect_read(&w, who, WRITERS), RSET_REASON_READ_AS_IS);
    reader_world_close(&w);
}

/* Some have published the last commit, and others have only prepared it: that is one generation, and is finished. */
static void
a_commit_that_was_not_finished_is_one_generation(void **state)
{
    reader who[WRITERS];
    job    readers;
    world  w;

    (void)state;
    reader_world_open(&w, &rset_scheme_xor, 1, 1);
    job_write_data(&w.job[0], reader_sizes, 6, 9);
    job_die_publishing(&w.job[0], 0x1c);
    one_each(who);
    w.required = true;
    if (read_all(&w, who, WRITERS, &readers) != RSET_OK)
        fail_msg("%s", job_text(&readers));
    job_free(&readers);
    reader_world_close(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restart_has_one_generation),
        cmocka_unit_test(nor_is_it_opened_to_be_changed),
        cmocka_unit_test(other_readers_are_told),
        cmocka_unit_test(files_of_several_steps_are_none),
        cmocka_unit_test(a_commit_that_was_not_finished_is_one_generation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
