/* The names file: what it lists, what it is worth when it does not check out, and that with it no directory is listed. */
#include "image.h"
#include "names_place.h"
#include "store/recall.h"
#include "twice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- what it lists ---- */

/* N5. With every suffix, and without one look at the directory. */
static void
what_was_noted_is_found_without_listing(void **state)
{
    static const char *const more[] = {R ".void",
                                       R ".new",
                                       R ".fix",
                                       R ".redo",
                                       D ".new",
                                       D ".fix",
                                       "f.h5.3.redset.0.fix",
                                       "f.h5.redset.0000000000000000.undo",
                                       "f.h5.redset.0000000000000000.fix"};
    const names_place       *p = *state;

    names_protect(p);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        names_make(p, more[i]);
        assert_names_found(p, more[i], 3 + i);
    }
    assert_int_equal(names_note(p, SHADOW), RSET_OK);
    names_make(p, SHADOW);
    assert_names_found(p, SHADOW, 12);
    assert_int_equal(names_lists, 0);
}

/* It may list more than there is. */
static void
what_is_gone_is_not_found(void **state)
{
    const names_place *p = *state;

    names_protect(p);
    assert_int_equal(names_note(p, SHADOW), RSET_OK);
    assert_names_found(p, R, 2);
}

static void
nothing_is_written_twice(void **state)
{
    const names_place *p = *state;

    names_protect(p);
    assert_int_equal(names_note(p, R), RSET_OK);
    assert_int_equal(names_note(p, D ".new"), RSET_OK);
    assert_int_equal(names_writes, 0);
    assert_int_equal(names_note(p, SHADOW), RSET_OK);
    assert_int_equal(names_writes, 1);
    assert_int_equal(names_syncs, 0); /* the generation of the redundancy file says as much */
}

/* N4. */
static void
new_redundancy_is_noted_durably(void **state)
{
    const names_place *p = *state;

    names_protect(p);
    assert_int_equal(names_note(p, "f.h5.3.partner.grp_1_of_1.mem_4_of_4.redset"), RSET_OK);
    assert_int_equal(names_syncs, 1);
    names_sync_fails = true;
    assert_int_equal(names_note(p, "f.h5.2.redset"), RSET_IO);
    names_sync_fails = false;
    assert_int_equal(names_note(p, "f.h5.2.redset"), RSET_OK); /* not by what may not be durable */
    assert_int_equal(names_syncs, 3);
}

static void
names_of_files_that_are_gone_are_dropped(void **state)
{
    const names_place *p = *state;
    struct stat        sb;

    names_protect(p);
    for (int i = 0; i < 100; i++)
        assert_int_equal(names_note(p, path_of("x/f.h5.redset.%016x.new", i + 1) + 2), RSET_OK);
    assert_int_equal(stat(names_at(p, NAMES), &sb), 0);
    assert_true(sb.st_size < 400);
    assert_names_found(p, R, 2);
    assert_int_equal(names_lists, 0);
}

/* N1. The redundancy file is what a commit is about to make; another one, by another scheme, had made it once. */
static void
what_is_about_to_be_made_stays_listed(void **state)
{
    static const char *const commit[] = {"f.h5.3.partner.grp_1_of_1.mem_4_of_4.redset", D, SHADOW};
    static const char        journal[] = "f.h5.redset.00000200000000ab.undo";
    const names_place       *p = *state;
    rset_err                 err = RSET_ERR_NONE;

    names_protect(p);
    assert_int_equal(names_note(p, commit[0]), RSET_OK);
    assert_int_equal(names_note(p, "f.h5.redset.00000300000000ab.new"), RSET_OK);
    assert_int_equal(rset_names_note(p->dir, "f.h5.", commit, 3, &err), RSET_OK);
    assert_int_equal(names_note(p, journal), RSET_OK); /* its program writes on */
    names_make(p, commit[0]);
    names_make(p, journal);
    assert_names_found(p, commit[0], 4);
    assert_int_equal(names_lists, 0);
}

/* ---- what it is worth ---- */

/* N2. Torn, rotten, or nothing at all: the directory is listed. */
static void
what_does_not_check_out_costs_a_listing(void **state)
{
    const names_place *p = *state;
    uint8_t           *good;
    size_t             size;

    names_protect(p);
    names_make(p, SHADOW); /* not noted */
    good = read_file(names_at(p, NAMES), &size);
    for (size_t n = 0; n < size; n++) {
        write_file(names_at(p, NAMES), good, n);
        assert_names_found(p, SHADOW, 3);
        write_file(names_at(p, NAMES), good, size);
        flip_bit(names_at(p, NAMES), n);
        assert_names_found(p, SHADOW, 3);
    }
    write_file(names_at(p, NAMES), good, size);
    names_lists = 0;
    assert_names_found(p, R, 2); /* a good one is believed */
    append_file(names_at(p, NAMES), "what an older one has left", 26);
    assert_names_found(p, R, 2);
    assert_int_equal(names_lists, 0);
    free(good);
}

static void
write_names(const names_place *p, const char *stems, size_t len, uint64_t count, uint64_t length)
{
    names_write_all(p, stems, len, count, length, 0);
}

/* Lengths and counts are checked before they are used, and names before they are looked for (P7, N3). */
static void
hostile_ones_are_refused(void **state)
{
    static const char *const stems[] = {"../f.h5.3.redset",
                                        "3.redset/x",
                                        "",
                                        "state",
                                        "redset.names",
                                        "3.redset.void",
                                        "redset.00000100000000ab.data"};
    static const char        good[] = "3.redset\0003.xor.grp_1_of_1.mem_4_of_4.redset";
    const names_place       *p = *state;

    names_protect(p);
    names_make(p, SHADOW);
    write_names(p, good, sizeof good, 2, sizeof good);
    assert_names_found(p, R, 2);
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++) {
        const size_t n = sizeof good + strlen(stems[i]) + 1;
        char         text[256];

        memcpy(text, good, sizeof good);
        memcpy(text + sizeof good, stems[i], strlen(stems[i]) + 1);
        write_names(p, text, n, 3, n);
        assert_names_found(p, SHADOW, 3); /* by listing */
    }
    write_names(p, good, sizeof good, 1, sizeof good);
    assert_names_found(p, SHADOW, 3);
    write_names(p, good, sizeof good, UINT64_MAX, sizeof good);
    assert_names_found(p, SHADOW, 3);
    write_names(p, good, sizeof good - 1, 2, sizeof good - 1); /* no zero at the end */
    assert_names_found(p, SHADOW, 3);
    for (uint64_t length = sizeof good + 1; length != 0; length *= 2) {
        write_names(p, good, sizeof good, 2, length);
        assert_names_found(p, SHADOW, 3);
    }
    write_file(names_at(p, NAMES), good, 0);
    assert_int_equal(truncate(names_at(p, NAMES), 1 << 20), 0);
    assert_names_found(p, SHADOW, 3);
}

/* Neither followed nor written through: it is replaced. */
static void
a_link_in_its_place_is_replaced(void **state)
{
    const names_place *p = *state;
    struct stat        sb;

    names_protect(p);
    names_make(p, "other");
    unlink(names_at(p, NAMES));
    assert_int_equal(symlink("other", names_at(p, NAMES)), 0);
    names_make(p, SHADOW);
    assert_names_found(p, SHADOW, 3);
    assert_int_equal(names_note(p, "f.h5.2.redset"), RSET_OK);
    assert_int_equal(lstat(names_at(p, NAMES), &sb), 0);
    assert_true(S_ISREG(sb.st_mode));
    assert_int_equal(stat(names_at(p, "other"), &sb), 0);
    assert_int_equal(sb.st_size, 1);
    names_lists = 0;
    assert_names_found(p, SHADOW, 3); /* what was there is noted with it */
    assert_int_equal(names_lists, 0);
}

/* What was not durable when the machine went down is found by listing once, and noted with the next change. */
/* One with a second name is not written over: the new one says, durably, what it said. */
static void
one_with_another_name_is_replaced_by_its_like(void **state)
{
    names_place *p = *state;
    uint8_t     *was, *is;
    size_t       was_size, is_size;

    names_make(p, R);
    assert_int_equal(names_note(p, R), RSET_OK);
    was = read_file(names_at(p, NAMES), &was_size);
    assert_int_equal(link(names_at(p, NAMES), names_at(p, "other")), 0);
    names_syncs = 0;
    assert_int_equal(names_note(p, R), RSET_OK);
    is = read_file(names_at(p, NAMES), &is_size);
    assert_int_equal(is_size, was_size);
    assert_memory_equal(is, was, was_size);
    assert_true(names_syncs > 0);
    free(was);
    free(is);
}

static void
after_a_start_of_the_machine_it_is_only_a_hint(void **state)
{
    const names_place *p = *state;

    names_protect(p);
    names_make(p, SHADOW);
    names_boot = 2;
    rset_recall_forget();
    assert_names_found(p, SHADOW, 3);
    assert_true(names_lists > 0);
    names_lists = 0;
    assert_names_found(p, SHADOW, 3);
    assert_int_equal(names_lists, 0); /* once */
    assert_int_equal(names_note(p, "f.h5.2.redset"), RSET_OK);
    rset_recall_forget();
    assert_names_found(p, SHADOW, 3);
    assert_int_equal(names_lists, 0);
    names_boot = 0; /* not known */
    assert_names_found(p, SHADOW, 3);
    assert_true(names_lists > 0);
}

/* Files of another program, which writes none. */
static void
without_one_the_directory_is_listed_once(void **state)
{
    const struct timespec moment = {.tv_sec = 3};
    const names_place    *p = *state;
    bool                  is;

    names_make(p, R);
    names_make(p, "f.h5");
    nanosleep(&moment, NULL); /* the data file is not new */
    assert_names_found(p, R, 1);
    assert_true(names_lists > 0);
    names_lists = 0;
    assert_names_found(p, R, 1);
    rename(names_at(p, R), names_at(p, R ".void"));
    assert_names_found(p, R ".void", 1); /* the same file */
    assert_int_equal(names_lists, 0);
    names_make(p, D);
    names_make(p, "f.h5"); /* somebody has put both there */
    assert_names_found(p, D, 2);
    unlink(names_at(p, R ".void"));
    unlink(names_at(p, D));
    assert_int_equal(names_find(p, R, &is), 0);
}

/* One that leads to no redundancy file is not believed. */
static void
redundancy_that_was_not_noted_is_found(void **state)
{
    const names_place *p = *state;

    names_protect(p);
    rename(names_at(p, R), names_at(p, "f.h5.3.rs.grp_1_of_1.mem_4_of_4.redset"));
    assert_names_found(p, "f.h5.3.rs.grp_1_of_1.mem_4_of_4.redset", 2);
    assert_true(names_lists > 0);
}

/* A names file that was removed loses nothing. */
static void
removed_it_loses_nothing(void **state)
{
    const names_place *p = *state;

    names_protect(p);
    assert_int_equal(names_note(p, SHADOW), RSET_OK);
    names_make(p, SHADOW);
    unlink(names_at(p, NAMES));
    assert_names_found(p, SHADOW, 3); /* the data file is newer than what was listed */
    unlink(names_at(p, "f.h5"));
    rset_recall_forget(); /* a new process */
    assert_names_found(p, SHADOW, 3);
}

/* N5: files that are protected, changed, protected again and opened. */
static void
a_job_lists_nothing(void **state)
{
    (void)state;
    for (int k = 0; k < TWICE_KINDS; k++) {
        twice w;

        twice_open(&w, twice_kinds[k]);
        rset_recall_forget();
        w.job.counted = true;
        names_count();
        names_boot = rset_sys_posix.boot();
        assert_int_equal(job_recover(&w.job), RSET_OK);
        job_write_data(&w.job, twice_sizes, TWICE_RANKS, 3);
        assert_int_equal(job_protect(&w.job), RSET_OK);
        assert_int_equal(job_recover(&w.job), RSET_OK);
        assert_int_equal(names_lists, 0);
        rset_sys_use(NULL);
        twice_close(&w);
    }
}

/* What was put out of the way says whose it is, and by which name that rank opens it; nothing else passes for it. */
static void
located_files_are_known_by_their_names(void **state)
{
    static const char *const others[] = {"f.h5.redset..displaced", "f.h5.redset.03.displaced",
                                         ".redset.3.displaced", "f.h5.3.displaced", ".displaced"};
    static const char *const opened_by[] = {"f.h5.redset.3.displaced",
                                            "f.h5.redset.0123456789abcdef.data", "f.h5"};
    char                     opened[NAME_MAX + 1], *prefix = NULL;
    int                      rank = 0;
    bool                     ours = false;

    (void)state;
    for (size_t i = 0; i < sizeof opened_by / sizeof *opened_by; i++) {
        char *name = rset_displaced_name(opened_by[i], 12);

        assert_true(rset_displaced_parse(name, opened, &rank));
        assert_string_equal(opened, opened_by[i]);
        assert_int_equal(rank, 12);
        assert_int_equal(rset_name_seen(name, &ours, &prefix, NULL), RSET_OK);
        free(name);
        assert_true(ours && prefix == NULL);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(rset_displaced_parse(others[i], opened, &rank));
}

int
main(void)
{
#define HERE(test) cmocka_unit_test_setup_teardown(test, names_begin, names_end)
    const struct CMUnitTest tests[] = {
        HERE(what_was_noted_is_found_without_listing),
        HERE(what_is_gone_is_not_found),
        HERE(nothing_is_written_twice),
        HERE(new_redundancy_is_noted_durably),
        HERE(names_of_files_that_are_gone_are_dropped),
        HERE(what_is_about_to_be_made_stays_listed),
        HERE(what_does_not_check_out_costs_a_listing),
        HERE(hostile_ones_are_refused),
        HERE(a_link_in_its_place_is_replaced),
        HERE(one_with_another_name_is_replaced_by_its_like),
        HERE(after_a_start_of_the_machine_it_is_only_a_hint),
        HERE(without_one_the_directory_is_listed_once),
        HERE(redundancy_that_was_not_noted_is_found),
        HERE(removed_it_loses_nothing),
        cmocka_unit_test(a_job_lists_nothing),
        cmocka_unit_test(located_files_are_known_by_their_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
