/* test_generations.c: which generation a user means (recover/generations.h): by how many before the newest, by its number, by its label;
 * and what ranks that see different ones come to. */
#include "comm/comm_local.h"
#include "image.h"
#include "names/names.h"
#include "recover/generations.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t
generation(uint64_t commits)
{
    return commits << RSET_GENERATION_RANDOM_BITS | 5;
}

static rset_which
which_of(const char *text)
{
    rset_which which;

    assert_int_equal(rset_which_parse(text, &which, NULL), RSET_OK);
    return which;
}

static void
what_is_said_is_understood(void **state)
{
    static const char *const wrong[] = {"",    "0",         "-0",     "+1",        "1x",
                                        "--1", "1 ",        "label:", "label:a\n", "Label:a",
                                        "-",   "123456789", "label"};
    rset_which               which;
    rset_err                 err = RSET_ERR_NONE;

    (void)state;
    assert_int_equal(which_of("-1").back, 1);
    assert_int_equal(which_of("-12").back, 12);
    assert_int_equal(which_of("17").commits, 17);
    assert_int_equal(which_of("17").back, 0);
    assert_string_equal(which_of("label:a b=\"c\"").label, "a b=\"c\"");
    assert_string_equal(which_of("label:-1").label, "-1");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (rset_which_parse(wrong[i], &which, NULL) != RSET_USAGE)
            fail_msg("\"%s\" is taken", wrong[i]);
    assert_int_equal(rset_which_parse("x", &which, &err), RSET_USAGE);
    assert_non_null(strstr(err.text, "label:NAME"));
}

/* The label is that of the newest of several; no label is not an empty one. */
static void
the_one_that_is_meant(void **state)
{
    const rset_which two = which_of("label:two"), none = which_of("label:none");
    rset_generations all = {0}, others;

    (void)state;
    for (uint64_t i = 1; i <= 4; i++)
        rset_generations_add(&all, generation(i));
    rset_generations_add(&all, generation(3));
    assert_int_equal(all.n, 4);
    others = all;
    rset_generations_note(&all, &two, generation(4), NULL);
    rset_generations_note(&all, &two, generation(3), "two");
    rset_generations_note(&all, &two, generation(2), "two");
    rset_generations_note(&others, &none, generation(4), NULL);
    assert_true(rset_generations_find(&all, &two) == generation(3));
    assert_true(rset_generations_find(&others, &none) == 0);
    assert_true(rset_generations_find(&all, &(rset_which){.back = 1}) == generation(3));
    assert_true(rset_generations_find(&all, &(rset_which){.back = 4}) == 0);
    assert_true(rset_generations_find(&all, &(rset_which){.commits = 1}) == generation(1));
    assert_true(rset_generations_find(&all, &(rset_which){.commits = 5}) == 0);
}

static uint64_t
found(const rset_generations *all, const char *which)
{
    const rset_which w = which_of(which);

    return rset_generation_commits(rset_generations_find(all, &w));
}

/* Nothing records the newest any more: an older one is not taken for it, whether its number is known or not. */
static void
the_newest_is_not_recorded(void **state)
{
    uint64_t         kept[] = {generation(2), generation(3)};
    rset_evidence    ev = {.nkept = 2, .kept = kept};
    rset_generations all;

    (void)state;
    for (uint64_t mark = 0; mark <= 6; mark += 6) {
        ev.mark = mark > 0 ? generation(mark) : 0;
        rset_generations_of(&ev, &all);
        rset_generations_add_lost(&all);
        assert_int_equal(rset_generation_commits(all.at[0]), mark > 0 ? mark : 4);
        assert_int_equal(found(&all, "-1"), 3);
        assert_int_equal(found(&all, "-2"), 2);
        assert_int_equal(found(&all, "3"), 3);
        assert_int_equal(found(&all, "-3"), 0);
    }
    ev.nkept = 0;
    rset_generations_of(&ev, &all);
    rset_generations_add_lost(&all);
    assert_int_equal(found(&all, "-1"), 0);
    assert_int_equal(all.n, 1);
}

/* One that is recorded, or where nobody has ever protected the file, nothing is added. */
static void
nothing_is_lost(void **state)
{
    rset_generations all = {.n = 1, .at = {generation(3)}, .published = generation(3)};

    (void)state;
    all.known = generation(5);
    rset_generations_add_lost(&all);
    assert_int_equal(all.n, 1);
    all = (rset_generations){0};
    rset_generations_add_lost(&all);
    assert_int_equal(all.n, 0);
}

/* There may be more labels than a message has room for. */
static void
many_long_labels(void **state)
{
    const rset_which which = which_of("label:none");
    char             label[RSET_STAMP_TEXT + 1];
    rset_generations all = {0};
    rset_err         err = RSET_ERR_NONE;

    (void)state;
    for (size_t len = 1; len <= RSET_STAMP_TEXT; len++) {
        memset(label, '.', len);
        label[len] = '\0';
        memset(&all, 0, sizeof all);
        for (uint64_t i = 100; i > 0; i--) {
            rset_generations_add(&all, generation(i));
            rset_generations_note(&all, &which, generation(i), i % 3 == 0 ? NULL : label);
        }
        assert_true(strlen(all.text) < sizeof all.text);
        assert_int_equal(all.text[sizeof all.text - 1], 0);
        assert_string_equal(all.text + strlen(all.text) - 5, ", ...");
        assert_int_equal(all.n, RSET_GENERATIONS_MAX);
        assert_true(all.at[0] == generation(100));
    }
    assert_int_equal(rset_generations_none(&all, "label:none", "file", &err), RSET_USAGE);
    assert_non_null(strstr(err.text, "newest first: 100 \"..."));
}

/* ---- ranks ---- */

enum { RANKS = 5 };

typedef struct seen {
    rset_generations mine[RANKS], all[RANKS];
} seen;

static void
reduce(rset_comm *world, void *arg)
{
    seen    *s = arg;
    rset_err err = RSET_ERR_NONE;

    s->all[world->rank] = s->mine[world->rank];
    if (rset_generations_of_all(world, "", &s->all[world->rank], &err) != RSET_OK)
        s->all[world->rank].n = 0;
}

/* One has lost all, one sees an older newest, one does not know a label, one sends what is no text. */
static void
ranks_that_see_different_ones(void **state)
{
    const rset_which which = which_of("label:x");
    seen             s;
    rset_err         err = RSET_ERR_NONE;

    (void)state;
    memset(&s, 0, sizeof s);
    for (int r = 1; r < RANKS; r++)
        for (uint64_t i = r == 2 ? 3 : 4; i > 1; i--) {
            rset_generations_add(&s.mine[r], generation(i));
            if (r != 3)
                rset_generations_note(&s.mine[r], &which, generation(i), i == 3 ? "x" : NULL);
        }
    memset(s.mine[4].text, 0x7f, sizeof s.mine[4].text);
    assert_int_equal(rset_local_run(RANKS, 60, reduce, &s, &err), RSET_OK);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(s.all[r].n, 3);
        assert_true(s.all[r].at[0] == generation(4));
        assert_true(rset_generations_find(&s.all[r], &which) == generation(3));
        assert_int_equal(s.all[r].told, 3);
        assert_string_equal(s.all[r].text, s.all[0].text);
    }
    assert_int_equal(strspn(s.all[0].text, "?"), sizeof s.all[0].text - 1);
}

/* As for whoever is not root, where the file has mode 0444. */
static int
openat_of_what_is_only_read(int dir, const char *name, int flags, mode_t mode)
{
    if ((flags & O_ACCMODE) == O_RDONLY)
        return rset_sys_posix.openat(dir, name, flags, mode);
    errno = EACCES;
    return -1;
}

static void
a_reader_is_seen(void **state)
{
    char      *base = scratch_make(), *name = rset_kept_name("f.", generation(3));
    rset_local local = {.prefix = "f."};
    rset_sys   sys = rset_sys_posix;
    int        fd;

    (void)state;
    sys.openat = openat_of_what_is_only_read;
    write_file(path_of("%s/%s", base, name), "abc", 3);
    assert_int_equal(rset_dir_open(base, false, &local.dir, NULL), RSET_OK);
    for (int only_read = 0; only_read < 2; only_read++) {
        rset_sys_use(only_read ? &sys : NULL);
        assert_false(rset_generation_is_open(&local, generation(3)));
        assert_false(rset_generation_is_open(&local, generation(4))); /* there is none */
        fd = open(path_of("%s/%s", base, name), O_RDONLY);
        assert_int_equal(flock(fd, LOCK_SH), 0);
        assert_true(rset_generation_is_open(&local, generation(3)));
        close(fd);
    }
    rset_sys_use(NULL);
    rset_dir_close(local.dir);
    remove_tree(base);
    free(base);
    free(name);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_said_is_understood),
                                       cmocka_unit_test(the_one_that_is_meant),
                                       cmocka_unit_test(the_newest_is_not_recorded),
                                       cmocka_unit_test(nothing_is_lost),
                                       cmocka_unit_test(many_long_labels),
                                       cmocka_unit_test(ranks_that_see_different_ones),
                                       cmocka_unit_test(a_reader_is_seen)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
