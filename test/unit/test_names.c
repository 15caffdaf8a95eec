/* The names file: what it lists, what it is worth when it does not check out, and that with it no directory is listed. */
#include "common/bytes.h"
#include "common/crc64.h"
#include "image.h"
#include "names/names.h"
#include "store/recall.h"
#include "twice.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define R      "f.h5.3.xor.grp_1_of_1.mem_4_of_4.redset"
#define D      "f.h5.3.redset"
#define SHADOW "f.h5.redset.00000100000000ab.new"
#define NAMES  "f.h5.redset.names"

/* ---- calls that are counted, and a machine that is started again ---- */

static _Atomic int lists, syncs, writes;
static uint64_t    boot;
static bool        sync_fails;

static struct dirent *
count_readdir(DIR *dir)
{
    lists++;
    return rset_sys_posix.readdir(dir);
}

static int
count_fsync(int fd)
{
    syncs++;
    errno = EIO;
    return sync_fails ? -1 : rset_sys_posix.fsync(fd);
}

static ssize_t
count_pwrite(int fd, const void *buf, size_t len, off_t off)
{
    writes++;
    return rset_sys_posix.pwrite(fd, buf, len, off);
}

static uint64_t
this_boot(void)
{
    return boot;
}

static void
count(void)
{
    static rset_sys table;

    table = rset_sys_posix;
    table.readdir = count_readdir;
    table.fsync = count_fsync;
    table.pwrite = count_pwrite;
    table.boot = this_boot;
    rset_sys_use(&table);
    boot = 1;
    sync_fails = false;
    lists = syncs = writes = 0;
}

/* ---- one directory ---- */

typedef struct place {
    char     *base;
    rset_dir *dir;
} place;

static int
begin(void **state)
{
    place   *p = calloc(1, sizeof *p);
    rset_err err = RSET_ERR_NONE;

    assert_non_null(p);
    p->base = scratch_make();
    assert_int_equal(rset_dir_open(p->base, false, &p->dir, &err), RSET_OK);
    count();
    *state = p;
    return 0;
}

static int
end(void **state)
{
    place *p = *state;

    rset_sys_use(NULL);
    rset_dir_close(p->dir);
    remove_tree(p->base);
    free(p->base);
    free(p);
    return 0;
}

static const char *
at(const place *p, const char *name)
{
    return path_of("%s/%s", p->base, name);
}

static void
make(const place *p, const char *name)
{
    write_file(at(p, name), "x", 1);
}

static rset_status
note(const place *p, const char *name)
{
    rset_err err = RSET_ERR_NONE;

    return rset_names_note(p->dir, "f.h5.", &name, 1, &err);
}

/* How many are found; is `name` one of them? */
static size_t
find(const place *p, const char *name, bool *is_out)
{
    rset_names names;
    rset_err   err = RSET_ERR_NONE;
    size_t     n;

    assert_int_equal(rset_names_find(p->dir, "f.h5.", "f.h5", &names, &err), RSET_OK);
    *is_out = false;
    for (size_t i = 0; i < names.n; i++)
        *is_out = *is_out || strcmp(names.at[i], name) == 0;
    n = names.n;
    rset_names_free(&names);
    return n;
}

static void
assert_found(const place *p, const char *name, size_t n)
{
    bool is;

    assert_int_equal(find(p, name, &is), n);
    assert_true(is);
}

/* A file that is protected, with its names noted. */
static void
protect(const place *p)
{
    assert_int_equal(note(p, R), RSET_OK);
    assert_int_equal(note(p, D), RSET_OK);
    make(p, R);
    make(p, D);
    make(p, "f.h5");
    lists = syncs = writes = 0;
}

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
    const place             *p = *state;

    protect(p);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        make(p, more[i]);
        assert_found(p, more[i], 3 + i);
    }
    assert_int_equal(note(p, SHADOW), RSET_OK);
    make(p, SHADOW);
    assert_found(p, SHADOW, 12);
    assert_int_equal(lists, 0);
}

/* It may list more than there is. */
static void
what_is_gone_is_not_found(void **state)
{
    const place *p = *state;

    protect(p);
    assert_int_equal(note(p, SHADOW), RSET_OK);
    assert_found(p, R, 2);
}

static void
nothing_is_written_twice(void **state)
{
    const place *p = *state;

    protect(p);
    assert_int_equal(note(p, R), RSET_OK);
    assert_int_equal(note(p, D ".new"), RSET_OK);
    assert_int_equal(writes, 0);
    assert_int_equal(note(p, SHADOW), RSET_OK);
    assert_int_equal(writes, 1);
    assert_int_equal(syncs, 0); /* the generation of the redundancy file says as much */
}

/* N4. */
static void
new_redundancy_is_noted_durably(void **state)
{
    const place *p = *state;

    protect(p);
    assert_int_equal(note(p, "f.h5.3.partner.grp_1_of_1.mem_4_of_4.redset"), RSET_OK);
    assert_int_equal(syncs, 1);
    sync_fails = true;
    assert_int_equal(note(p, "f.h5.2.redset"), RSET_IO);
    sync_fails = false;
    assert_int_equal(note(p, "f.h5.2.redset"), RSET_OK); /* not by what may not be durable */
    assert_int_equal(syncs, 3);
}

static void
names_of_files_that_are_gone_are_dropped(void **state)
{
    const place *p = *state;
    struct stat  sb;

    protect(p);
    for (int i = 0; i < 100; i++)
        assert_int_equal(note(p, path_of("x/f.h5.redset.%016x.new", i + 1) + 2), RSET_OK);
    assert_int_equal(stat(at(p, NAMES), &sb), 0);
    assert_true(sb.st_size < 400);
    assert_found(p, R, 2);
    assert_int_equal(lists, 0);
}

/* ---- older generations ---- */

enum { OLDER = 300 };

static const char *
older_name(int i)
{
    return path_of("x/f.h5.redset.%016x.%s", i, i % 2 ? "data" : "undo") + 2;
}

/* So many generations are noted, and those of even numbers are there. */
static void
note_older(const place *p)
{
    protect(p);
    for (int i = 1; i <= OLDER; i++) {
        rset_err err = RSET_ERR_NONE;

        assert_int_equal(rset_names_note_kept(p->dir, "f.h5.", NULL, 0, (uint64_t)i, &err),
                         RSET_OK);
        if (i % 2 == 0) { /* what protects it says that it is one */
            make(p, older_name(i));
            make(p, path_of("x/f.h5.redset.%016x.data.3.redset", i) + 2);
        }
    }
    lists = syncs = writes = 0;
}

/* N5. They are listed, newest first, however many they are, and only who asks for them looks for each. */
static void
older_generations_are_listed_and_not_looked_for(void **state)
{
    const place *p = *state;
    rset_names   names;
    rset_err     err = RSET_ERR_NONE;
    bool         is;

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
    assert_int_equal(lists, 0);
    write_file(at(p, NAMES), "", 0); /* they are found by listing as well, and noted again */
    assert_int_equal(find(p, older_name(2), &is), 2 + OLDER / 2);
    assert_true(is);
    assert_int_equal(note(p, SHADOW), RSET_OK);
    assert_int_equal(rset_names_find(p->dir, "f.h5.", "f.h5", &names, &err), RSET_OK);
    assert_int_equal(names.nolder, OLDER / 2);
    rset_names_free(&names);
}

/* *refused_out: is it noted that it could not be had? False: it is not listed. */
static bool
is_listed(const place *p, uint64_t generation, bool *refused_out)
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
    const place *p = *state;
    bool         refused;

    note_older(p);
    rset_names_forget_older(p->dir, "f.h5.", 7);
    rset_names_note_refused(p->dir, "f.h5.", 8, true);
    rset_names_note_refused(p->dir, "f.h5.", OLDER + 1, true);
    assert_int_equal(writes, 2);
    assert_false(is_listed(p, 7, &refused));
    assert_false(is_listed(p, OLDER + 1, &refused));
    assert_true(is_listed(p, 8, &refused) && refused);
    assert_true(is_listed(p, 9, &refused) && !refused);
    assert_int_equal(note(p, SHADOW), RSET_OK);
    assert_true(is_listed(p, 8, &refused) && refused);
    rset_names_note_refused(p->dir, "f.h5.", 8, false);
    assert_true(is_listed(p, 8, &refused) && !refused);
}

/* ---- what it is worth ---- */

/* N2. Torn, rotten, or nothing at all: the directory is listed. */
static void
what_does_not_check_out_costs_a_listing(void **state)
{
    const place *p = *state;
    uint8_t     *good;
    size_t       size;

    protect(p);
    make(p, SHADOW); /* not noted */
    good = read_file(at(p, NAMES), &size);
    for (size_t n = 0; n < size; n++) {
        write_file(at(p, NAMES), good, n);
        assert_found(p, SHADOW, 3);
        write_file(at(p, NAMES), good, size);
        flip_bit(at(p, NAMES), n);
        assert_found(p, SHADOW, 3);
    }
    write_file(at(p, NAMES), good, size);
    lists = 0;
    assert_found(p, R, 2); /* a good one is believed */
    append_file(at(p, NAMES), "what an older one has left", 26);
    assert_found(p, R, 2);
    assert_int_equal(lists, 0);
    free(good);
}

/* A names file with a right checksum, of so many older generations, and of `count` and `length` as they are said to be. */
static void
write_all(const place *p, const char *stems, size_t len, uint64_t count, uint64_t length,
          uint64_t older)
{
    uint8_t buf[48 + 512] = "RSETNAM3";

    memcpy(buf + 48, stems, len);
    rset_put64(buf + 8, boot);
    rset_put64(buf + 16, count);
    rset_put64(buf + 24, length);
    rset_put64(buf + 32, older);
    rset_put64(buf + 40, rset_crc64(rset_crc64(0, buf, 40), buf + 48, len));
    write_file(at(p, NAMES), buf, 48 + len);
}

static void
write_names(const place *p, const char *stems, size_t len, uint64_t count, uint64_t length)
{
    write_all(p, stems, len, count, length, 0);
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
    const place             *p = *state;

    protect(p);
    make(p, SHADOW);
    write_names(p, good, sizeof good, 2, sizeof good);
    assert_found(p, R, 2);
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++) {
        const size_t n = sizeof good + strlen(stems[i]) + 1;
        char         text[256];

        memcpy(text, good, sizeof good);
        memcpy(text + sizeof good, stems[i], strlen(stems[i]) + 1);
        write_names(p, text, n, 3, n);
        assert_found(p, SHADOW, 3); /* by listing */
    }
    write_names(p, good, sizeof good, 1, sizeof good);
    assert_found(p, SHADOW, 3);
    write_names(p, good, sizeof good, UINT64_MAX, sizeof good);
    assert_found(p, SHADOW, 3);
    write_names(p, good, sizeof good - 1, 2, sizeof good - 1); /* no zero at the end */
    assert_found(p, SHADOW, 3);
    for (uint64_t length = sizeof good + 1; length != 0; length *= 2) {
        write_names(p, good, sizeof good, 2, length);
        assert_found(p, SHADOW, 3);
    }
    write_file(at(p, NAMES), good, 0);
    assert_int_equal(truncate(at(p, NAMES), 1 << 20), 0);
    assert_found(p, SHADOW, 3);
}

/* The same of the older generations behind the stems, which are in order, each once. */
static void
hostile_lists_of_older_ones_are_refused(void **state)
{
    static const char good[] = "3.redset\0003.xor.grp_1_of_1.mem_4_of_4.redset";
    const place      *p = *state;
    char              text[sizeof good + 48];

    protect(p);
    make(p, SHADOW);
    memcpy(text, good, sizeof good);
    for (int i = 0; i < 3; i++) {
        rset_put64((uint8_t *)text + sizeof good + 16 * i, 30 - (uint64_t)i);
        rset_put64((uint8_t *)text + sizeof good + 16 * i + 8, 0);
    }
    write_all(p, text, sizeof text, 2, sizeof good, 3);
    assert_found(p, R, 2);
    for (uint64_t n = 4; n != 0; n *= 2) {
        write_all(p, text, sizeof text, 2, sizeof good, n);
        assert_found(p, SHADOW, 3);
    }
    for (uint64_t second = 30; second <= 31; second++) {
        rset_put64((uint8_t *)text + sizeof good + 16, second);
        write_all(p, text, sizeof text, 2, sizeof good, 3);
        assert_found(p, SHADOW, 3);
    }
}

/* Neither followed nor written through: it is replaced. */
static void
a_link_in_its_place_is_replaced(void **state)
{
    const place *p = *state;
    struct stat  sb;

    protect(p);
    make(p, "other");
    unlink(at(p, NAMES));
    assert_int_equal(symlink("other", at(p, NAMES)), 0);
    make(p, SHADOW);
    assert_found(p, SHADOW, 3);
    assert_int_equal(note(p, "f.h5.2.redset"), RSET_OK);
    assert_int_equal(lstat(at(p, NAMES), &sb), 0);
    assert_true(S_ISREG(sb.st_mode));
    assert_int_equal(stat(at(p, "other"), &sb), 0);
    assert_int_equal(sb.st_size, 1);
    lists = 0;
    assert_found(p, SHADOW, 3); /* what was there is noted with it */
    assert_int_equal(lists, 0);
}

/* What was not durable when the machine went down is found by listing once, and noted with the next change. */
/* One with a second name is not written over: the new one says, durably, what it said. */
static void
one_with_another_name_is_replaced_by_its_like(void **state)
{
    place   *p = *state;
    uint8_t *was, *is;
    size_t   was_size, is_size;

    make(p, R);
    assert_int_equal(note(p, R), RSET_OK);
    was = read_file(at(p, NAMES), &was_size);
    assert_int_equal(link(at(p, NAMES), at(p, "other")), 0);
    syncs = 0;
    assert_int_equal(note(p, R), RSET_OK);
    is = read_file(at(p, NAMES), &is_size);
    assert_int_equal(is_size, was_size);
    assert_memory_equal(is, was, was_size);
    assert_true(syncs > 0);
    free(was);
    free(is);
}

static void
after_a_start_of_the_machine_it_is_only_a_hint(void **state)
{
    const place *p = *state;

    protect(p);
    make(p, SHADOW);
    boot = 2;
    rset_recall_forget();
    assert_found(p, SHADOW, 3);
    assert_true(lists > 0);
    lists = 0;
    assert_found(p, SHADOW, 3);
    assert_int_equal(lists, 0); /* once */
    assert_int_equal(note(p, "f.h5.2.redset"), RSET_OK);
    rset_recall_forget();
    assert_found(p, SHADOW, 3);
    assert_int_equal(lists, 0);
    boot = 0; /* not known */
    assert_found(p, SHADOW, 3);
    assert_true(lists > 0);
}

/* Files of another program, which writes none. */
static void
without_one_the_directory_is_listed_once(void **state)
{
    const struct timespec moment = {.tv_sec = 3};
    const place          *p = *state;
    bool                  is;

    make(p, R);
    make(p, "f.h5");
    nanosleep(&moment, NULL); /* the data file is not new */
    assert_found(p, R, 1);
    assert_true(lists > 0);
    lists = 0;
    assert_found(p, R, 1);
    rename(at(p, R), at(p, R ".void"));
    assert_found(p, R ".void", 1); /* the same file */
    assert_int_equal(lists, 0);
    make(p, D);
    make(p, "f.h5"); /* somebody has put both there */
    assert_found(p, D, 2);
    unlink(at(p, R ".void"));
    unlink(at(p, D));
    assert_int_equal(find(p, R, &is), 0);
}

/* One that leads to no redundancy file is not believed. */
static void
redundancy_that_was_not_noted_is_found(void **state)
{
    const place *p = *state;

    protect(p);
    rename(at(p, R), at(p, "f.h5.3.rs.grp_1_of_1.mem_4_of_4.redset"));
    assert_found(p, "f.h5.3.rs.grp_1_of_1.mem_4_of_4.redset", 2);
    assert_true(lists > 0);
}

/* A names file that was removed loses nothing. */
static void
removed_it_loses_nothing(void **state)
{
    const place *p = *state;

    protect(p);
    assert_int_equal(note(p, SHADOW), RSET_OK);
    make(p, SHADOW);
    unlink(at(p, NAMES));
    assert_found(p, SHADOW, 3); /* the data file is newer than what was listed */
    unlink(at(p, "f.h5"));
    rset_recall_forget(); /* a new process */
    assert_found(p, SHADOW, 3);
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
        count();
        boot = rset_sys_posix.boot();
        assert_int_equal(job_recover(&w.job), RSET_OK);
        job_write_data(&w.job, twice_sizes, TWICE_RANKS, 3);
        assert_int_equal(job_protect(&w.job), RSET_OK);
        assert_int_equal(job_recover(&w.job), RSET_OK);
        assert_int_equal(lists, 0);
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
#define HERE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        HERE(what_was_noted_is_found_without_listing),
        HERE(what_is_gone_is_not_found),
        HERE(nothing_is_written_twice),
        HERE(new_redundancy_is_noted_durably),
        HERE(names_of_files_that_are_gone_are_dropped),
        HERE(older_generations_are_listed_and_not_looked_for),
        HERE(what_becomes_of_an_older_generation_is_noted),
        HERE(what_does_not_check_out_costs_a_listing),
        HERE(hostile_ones_are_refused),
        HERE(hostile_lists_of_older_ones_are_refused),
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
