/* test_together.c: files of each rank that are committed together (rset_protect_together): whatever a crash has left of the
 * commit of two, whichever is opened first, and with a node lost on top, both are old or both are new, and which is known. */
#include "commit/kept.h"
#include "commit/shadow.h"
#include "image.h"
#include "job.h"
#include "names/names.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS = 4, SIZE = 3000, OLD = 1, NEW = 2, NEWEST = 3 };

typedef struct pair {
    char *base;
    job   first, second;
    image begun; /* all ranks have prepared version NEW of both, and published none */
} pair;

/* ---- two files of each rank ---- */

static int version; /* that is written next */

static void
write_version(const char *path, const job *j, int rank, int which)
{
    uint8_t data[SIZE];

    fill_random(data, sizeof data, (uint64_t)(1000 * which + 100 * j->second + rank));
    write_file(path, data, sizeof data);
}

static rset_status
write_beside(job *j, int rank, rset_local *local)
{
    job_rank   *k = &j->ranks[rank];
    rset_status st = rset_shadow_begin(local, &k->evidence, &k->shadow, &k->err);

    if (st != RSET_OK)
        return st;
    local->shadow = k->shadow;
    write_version(path_of("%s/%s", k->dir, k->shadow), j, rank, version);
    return RSET_OK;
}

static void
forget_shadow(job *j, int rank, rset_local *local, rset_status st)
{
    (void)local, (void)st;
    free(j->ranks[rank].shadow);
    j->ranks[rank].shadow = NULL;
}

static void
call_second(job *j)
{
    j->second = true;
    for (int r = 0; r < RANKS; r++) {
        job_rank *k = &j->ranks[r];

        free(k->names[0]);
        free(k->prefix);
        assert_true(asprintf(&k->names[0], "parts_%d.h5", r) > 0);
        assert_true(asprintf(&k->prefix, "parts_%d.h5.", r) > 0);
    }
}

/* Version OLD of both is protected, together. */
static void
begin(pair *w, const rset_scheme *scheme, int parity)
{
    *w = (pair){.base = scratch_make()};
    job_init(&w->first, w->base, RANKS, scheme, parity, RANKS);
    job_init(&w->second, w->base, RANKS, scheme, parity, RANKS);
    call_second(&w->second);
    w->first.with = &w->second;
    for (int r = 0; r < RANKS; r++) {
        write_version(job_data(&w->first, r), &w->first, r, OLD);
        write_version(job_data(&w->second, r), &w->second, r, OLD);
    }
    if (job_protect(&w->first) != RSET_OK)
        fail_msg("%s", job_text(&w->first));
    w->first.change = w->second.change = write_beside;
    w->first.settle = w->second.settle = forget_shadow;
}

static void
end(pair *w)
{
    image_free(&w->begun);
    job_free(&w->first);
    job_free(&w->second);
    remove_tree(w->base);
    free(w->base);
}

static int
refuse_to_publish(int from_dir, const char *from, int to_dir, const char *to)
{
    static const char end[] = ".redset" RSET_SUFFIX_NEW;
    const size_t      n = strlen(from), m = strlen(end);

    if (n > m && strcmp(from + n - m, end) == 0) {
        errno = EIO;
        return -1;
    }
    return rset_sys_posix.renameat(from_dir, from, to_dir, to);
}

/* The job dies when all have prepared version NEW of both. */
static void
die_prepared(pair *w)
{
    rset_sys sys = rset_sys_posix;

    version = NEW;
    sys.renameat = refuse_to_publish;
    rset_sys_use(&sys);
    assert_int_not_equal(job_protect(&w->first), RSET_OK);
    rset_sys_use(NULL);
    w->begun = image_take(w->base);
}

static void
put(const pair *w)
{
    bool all[JOB_RANKS];

    (void)job_mask(&w->first, (1u << RANKS) - 1, all);
    job_lose(&w->first, all);
    image_put(&w->begun, w->base, NULL);
}

static void
publish(const job *j, unsigned ranks)
{
    for (int r = 0; r < RANKS; r++)
        if (ranks >> r & 1)
            assert_int_equal(
                rename(path_of("%s" RSET_SUFFIX_NEW, job_redundancy(j, r)), job_redundancy(j, r)),
                0);
}

/* ---- what is there ---- */

static bool
is_version(const job *j, int rank, int which)
{
    uint8_t data[SIZE], *is;
    size_t  size = 0;
    bool    same;

    fill_random(data, sizeof data, (uint64_t)(1000 * which + 100 * j->second + rank));
    is = read_file(job_data(j, rank), &size);
    same = size == SIZE && memcmp(is, data, SIZE) == 0;
    free(is);
    return same;
}

static void
assert_version(const job *j, int which, const char *what)
{
    for (int r = 0; r < RANKS; r++)
        if (!is_version(j, r, which))
            fail_msg("%s: %s of rank %d is not %s", what, j->ranks[r].names[0], r,
                     which == OLD ? "old" : "new");
}

static void
assert_opens(job *j, int which, const char *what)
{
    if (job_recover(j) != RSET_OK)
        fail_msg("%s: %s", what, job_text(j));
    assert_version(j, which, what);
}

/* ---- what crashes leave ---- */

static void
try_one(pair *w, unsigned first, unsigned second, int lost, bool second_first)
{
    const unsigned left = (first | second) & ~(lost < 0 ? 0 : 1u << lost);
    const int      is = left != 0 || lost < 0 ? NEW : OLD;
    bool           flags[JOB_RANKS];
    char           what[128];

    snprintf(what, sizeof what, "published %x and %x, node %d lost, %s first", first, second, lost,
             second_first ? "the second" : "the first");
    put(w);
    publish(&w->first, first);
    publish(&w->second, second);
    (void)job_mask(&w->first, lost < 0 ? 0 : 1u << lost, flags);
    job_lose(&w->first, flags);
    assert_opens(second_first ? &w->second : &w->first, is, what);
    assert_opens(second_first ? &w->first : &w->second, is, what);
}

static void
both_or_none_are_new(void **state)
{
    static const unsigned masks[] = {0, 1, 6, 15};
    pair                  w;

    (void)state;
    begin(&w, &rset_scheme_xor, 1);
    die_prepared(&w);
    for (size_t a = 0; a < 4; a++)
        for (size_t b = 0; b < 4; b++)
            for (int lost = -1; lost < RANKS; lost++)
                for (int order = 0; order < 2; order++)
                    try_one(&w, masks[a], masks[b], lost, order == 1);
    end(&w);
}

/* One rank had prepared one of its two files only: nothing was decided. */
static void
half_prepared_goes_back(void **state)
{
    pair w;

    (void)state;
    begin(&w, &rset_scheme_xor, 1);
    die_prepared(&w);
    for (int order = 0; order < 2; order++) {
        put(&w);
        unlink(path_of("%s" RSET_SUFFIX_NEW, job_redundancy(&w.second, 2)));
        assert_opens(order == 0 ? &w.first : &w.second, OLD, "half prepared");
        assert_opens(order == 0 ? &w.second : &w.first, OLD, "half prepared");
    }
    end(&w);
}

/* One of the two goes on alone before the other is opened at all: that one follows all the same. */
static void
the_other_follows_much_later(void **state)
{
    pair w;

    (void)state;
    begin(&w, &rset_scheme_xor, 1);
    die_prepared(&w);
    for (int parted = 0; parted < 2; parted++) {
        put(&w);
        if (parted)
            unlink(path_of("%s" RSET_SUFFIX_NEW, job_redundancy(&w.second, 2)));
        assert_opens(&w.first, parted ? OLD : NEW, "opened");
        w.first.with = NULL;
        version = NEWEST;
        for (int n = 0; n < 2; n++)
            if (job_protect(&w.first) != RSET_OK)
                fail_msg("%s", job_text(&w.first));
        w.first.with = &w.second;
        assert_opens(&w.second, parted ? OLD : NEW, "much later");
    }
    end(&w);
}

/* One process without the others sees a sibling that is published, and finishes its share; in doubt it changes nothing. */
static void
alone_it_is_the_same(void **state)
{
    pair w;

    (void)state;
    begin(&w, &rset_scheme_xor, 1);
    die_prepared(&w);
    put(&w);
    publish(&w.second, 1 << 1);
    assert_int_equal(job_recover_serial(&w.first, 1), RSET_OK);
    assert_true(is_version(&w.first, 1, NEW));
    assert_int_equal(job_recover_serial(&w.first, 2), RSET_OK);
    assert_true(is_version(&w.first, 2, OLD));
    assert_int_equal(w.first.ranks[2].out.reason, RSET_REASON_IN_DOUBT);
    assert_opens(&w.first, NEW, "by all");
    assert_opens(&w.second, NEW, "by all");
    end(&w);
}

/* Where it cannot be protected because of one file, neither is; and older generations belong together (keep=). */
static void
older_generations_have_one_number(void **state)
{
    pair     w;
    uint64_t was;

    (void)state;
    begin(&w, &rset_scheme_rs, 2);
    w.first.keep = w.second.keep = 2;
    was = w.first.ranks[0].desc.generation;
    version = NEW;
    if (job_protect(&w.first) != RSET_OK)
        fail_msg("%s", job_text(&w.first));
    for (int r = 0; r < RANKS; r++) {
        char *a = rset_name_of(RSET_NAME_DATA, w.first.ranks[r].prefix, was);
        char *b = rset_name_of(RSET_NAME_DATA, w.second.ranks[r].prefix, was);

        assert_true(exists(path_of("%s/%s", w.first.ranks[r].dir, a)));
        assert_true(exists(path_of("%s/%s", w.first.ranks[r].dir, b)));
        free(a);
        free(b);
    }
    assert_opens(&w.first, NEW, "protected");
    assert_string_equal(w.first.ranks[1].evidence.header.infos[0].together, "parts_1.h5");
    assert_opens(&w.second, NEW, "protected");
    assert_string_equal(w.second.ranks[1].evidence.header.infos[0].together, "ckpt_1.h5");
    end(&w);
}

/* ---- what a header may say ---- */

static void
only_names_are_taken(void **state)
{
    static const char *const good[] = {"a", "a/b", "state 1.h5/..x", "1/2/3/4/5/6/7"};
    static const char *const bad[] = {
        "", "/", "a/", "/a", "a//b", ".", "..", "a/..", "1/2/3/4/5/6/7/8"};
    char        name[256], *longest = malloc(258);
    const char *at = "a/bc";

    (void)state;
    assert_non_null(longest);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(rset_together_may_be(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (rset_together_may_be(bad[i]))
            fail_msg("\"%s\" is taken", bad[i]);
    memset(longest, 'x', 257);
    longest[255] = '\0';
    assert_true(rset_together_may_be(longest));
    longest[255] = 'x';
    longest[256] = '\0';
    assert_false(rset_together_may_be(longest));
    assert_true(rset_together_next(&at, name));
    assert_string_equal(name, "a");
    assert_true(rset_together_next(&at, name));
    assert_string_equal(name, "bc");
    assert_false(rset_together_next(&at, name));
    free(longest);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_or_none_are_new),
                                       cmocka_unit_test(half_prepared_goes_back),
                                       cmocka_unit_test(the_other_follows_much_later),
                                       cmocka_unit_test(alone_it_is_the_same),
                                       cmocka_unit_test(older_generations_have_one_number),
                                       cmocka_unit_test(only_names_are_taken)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
