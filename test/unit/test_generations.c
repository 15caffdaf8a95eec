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
    static const char *const wrong[] = {"",
                                        "0",
                                        "-0",
                                        "+1",
                                        "1x",
                                        "--1",
                                        "1 ",
                                        "label:",
                                        "label:a\n",
                                        "Label:a",
                                        "-",
                                        "123456789",
                                        "label",
                                        "0000000000000000",
                                        "0cabc18a91af836",
                                        "0cabc18a91af83655",
                                        "-cabc18a91af8365"};
    rset_which               which;
    rset_err                 err = RSET_ERR_NONE;

    (void)state;
    assert_int_equal(which_of("-1").back, 1);
    assert_int_equal(which_of("-12").back, 12);
    assert_int_equal(which_of("17").commits, 17);
    assert_int_equal(which_of("17").back, 0);
    assert_string_equal(which_of("label:a b=\"c\"").label, "a b=\"c\"");
    assert_string_equal(which_of("label:-1").label, "-1");
    assert_true(which_of("0cabc18a91af8365").exact == UINT64_C(0x0cabc18a91af8365));
    assert_true(which_of("0000000000000017").exact == 0x17);
    assert_int_equal(which_of("0000000000000017").commits, 0);
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

/* What one directory says is enough, unless it may have lost one on the way from the newest to the one that is meant. */
static void
what_one_rank_knows_is_enough(void **state)
{
    const rset_which one_back = which_of("-1"), two_back = which_of("-2"),
                     label = which_of("label:a");
    rset_generations all = {.published = generation(4)};

    (void)state;
    assert_false(rset_generations_suffice(&all, &one_back));
    rset_generations_add(&all, generation(4));
    assert_false(rset_generations_suffice(&all, &one_back));
    rset_generations_add(&all, generation(3));
    rset_generations_add(&all, generation(1));
    assert_true(rset_generations_suffice(&all, &one_back));
    assert_false(rset_generations_suffice(&all, &two_back));
    assert_true(rset_generations_suffice(&all, &(rset_which){.commits = 1}));
    assert_false(rset_generations_suffice(&all, &(rset_which){.commits = 2}));
    all.published = 0;
    assert_false(rset_generations_suffice(&all, &one_back));
    all.published = generation(4);
    rset_generations_note(&all, &label, generation(1), "a");
    assert_false(rset_generations_suffice(&all, &label));
    rset_generations_note(&all, &label, generation(3), "a");
    assert_true(rset_generations_suffice(&all, &label));
}

/* Files of one rank are numbered by the time, so some of them have one number: none is taken for another. */
static void
of_two_with_one_number_none_is_meant(void **state)
{
    const uint64_t   one = generation(830401), other = one + 2;
    rset_generations all = {0};
    rset_err         err = RSET_ERR_NONE;

    (void)state;
    rset_generations_add(&all, generation(830403));
    rset_generations_add(&all, one);
    rset_generations_add(&all, other);
    assert_true(rset_generations_find(&all, &(rset_which){.commits = 830401}) == 0);
    assert_int_equal(rset_generations_none(&all, "830401", "file", &err), RSET_USAGE);
    assert_non_null(strstr(err.text, "more than one generation has the number 830401"));
    assert_non_null(strstr(err.text, "0cabc10000000007, 0cabc10000000005"));
    assert_null(strstr(err.text, "0cabc3"));
    assert_true(rset_generations_find(&all, &(rset_which){.exact = one}) == one);
    assert_true(rset_generations_find(&all, &(rset_which){.exact = one + 1}) == 0);
    assert_true(rset_generations_find(&all, &(rset_which){.commits = 830403}) == all.at[0]);
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
    char      *base = scratch_make(), *name = rset_name_of(RSET_NAME_DATA, "f.", generation(3));
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
                                       cmocka_unit_test(what_one_rank_knows_is_enough),
                                       cmocka_unit_test(many_long_labels),
                                       cmocka_unit_test(of_two_with_one_number_none_is_meant),
                                       cmocka_unit_test(ranks_that_see_different_ones),
                                       cmocka_unit_test(a_reader_is_seen)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
