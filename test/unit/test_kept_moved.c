/* test_kept_moved.c: older generations of ranks that run on other nodes than before (encode/move/): they come along as they are, with
 * what protects them; and where the files cannot be had, nothing was changed. */
#include "failing.h"
#include "lives.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Files of which two older generations are only what leads back to them; and what that looks like. */
static image
begin(life *w, const rset_scheme *scheme, int parity)
{
    lives_begin_in_place(w, scheme, parity, 3, 2);
    return image_take(w->base);
}

/* All is as it was, but that ranks 0 and 1 run where the other one ran before, and those in `lost` (bits) have lost all. */
static void
rearrange(life *w, const image *was, unsigned lost)
{
    bool flags[JOB_RANKS];

    lives_put_back(w, was);
    lives_exchange(w);
    (void)job_mask(&w->job, lost, flags);
    job_lose(&w->job, flags);
}

static void
expect_same(const image *was, const life *w, image_strictness how, const char *what)
{
    char why[1024];

    if (!image_same(was, w->base, NULL, how, why))
        fail_msg("%s: %s: %s", w->what, what, why);
}

/* More is lost than the scheme covers: what the ranks that moved have, older generations as well, is where it was, as it was. */
static void
R5_a_refused_open_changes_nothing(void **state)
{
    life  w;
    image was, before;

    (void)state;
    was = begin(&w, &rset_scheme_xor, 1);
    rearrange(&w, &was, 1 << 2 | 1 << 3);
    before = image_take(w.base);
    assert_int_equal(job_recover(&w.job), RSET_LOST);
    expect_same(&before, &w, IMAGE_UNTOUCHED, "refused");
    image_free(&before);
    image_free(&was);
    lives_end(&w);
}

/* Bit for bit, and nothing stays where it was: so each survives what the scheme covers. */
static void
MV7_older_ones_come_along(void **state)
{
    life  w;
    image was;

    (void)state;
    was = begin(&w, &rset_scheme_xor, 1);
    for (int r = 0; r < LIVES_RANKS; r++) {
        rearrange(&w, &was, 0);
        lives_assert_is(&w, 2, 0);
        expect_same(&was, &w, IMAGE_CONTENT, "moved");
        lives_assert_all(&w, 1u << r);
    }
    image_free(&was);
    lives_end(&w);
}

/* Redundancy that was marked void is not made good by that of another place: its mark may be about the data that is there. */
static void
what_is_void_stays_so(void **state)
{
    life  w;
    image was;
    char  at[512];

    (void)state;
    was = begin(&w, &rset_scheme_xor, 1);
    rearrange(&w, &was, 0);
    for (size_t i = 0; i < was.n; i++) {
        const char  *path = was.at[i].path;
        const size_t n = strlen(path), m = strlen(RSET_SUFFIX_REDO);

        if (strncmp(path, "node0/", 6) == 0 && strcmp(path + n - m, RSET_SUFFIX_REDO) == 0)
            snprintf(at, sizeof at, "%s/%.*s", w.base, (int)(n - m), path);
    }
    write_file(path_of("%s" RSET_SUFFIX_VOID, at), "void", 4);
    assert_int_equal(job_recover(&w.job), RSET_OK);
    assert_true(exists(path_of("%s" RSET_SUFFIX_VOID, at)));
    assert_false(exists(at) || exists(path_of("%s" RSET_SUFFIX_REDO, at)));
    image_free(&was);
    lives_end(&w);
}

/* They are copied: then both places have them. */
static void
copies_have_what_protects_them(void **state)
{
    life  w;
    image was;

    (void)state;
    was = begin(&w, &rset_scheme_xor, 1);
    rearrange(&w, &was, 0);
    w.job.copies = true;
    assert_int_equal(job_recover(&w.job), RSET_OK);
    for (size_t i = 0; i < was.n; i++)
        assert_true(exists(path_of("%s/%s", w.base, was.at[i].path)));
    lives_assert_all(&w, 1u << 2);
    image_free(&was);
    lives_end(&w);
}

/* ---- what fails on one rank ---- */

/* All go on, or none does and nothing was changed: job_recover fails the test where ranks differ, or one is left waiting. */
static bool
moved_or_as_before(life *w, const image *was, unsigned calls, int at)
{
    bool  hit = false;
    image before;

    rearrange(w, was, 0);
    before = image_take(w->base);
    if (failing_run(&w->job, job_recover, calls, 0, at, &hit) != RSET_OK)
        expect_same(&before, w, IMAGE_BACK, job_text(&w->job));
    else
        lives_assert_is(w, 2, 0);
    image_free(&before);
    return hit;
}

static void
a_fault_on_one_rank_is_all_ranks(void **state)
{
    static const unsigned kinds[] = {FAILING_PWRITE, FAILING_CREATE, FAILING_RENAME, FAILING_PREAD,
                                     FAILING_OPEN};
    life                  w;
    image                 was;

    (void)state;
    was = begin(&w, &rset_scheme_xor, 1);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int at = 1; moved_or_as_before(&w, &was, kinds[k], at); at++)
            ;
    image_free(&was);
    lives_end(&w);
}

/* ---- where all files have one name ---- */

static image
begin_one_name(life *w)
{
    srand(7);
    lives_begin(w, &rset_scheme_xor, 1, 3);
    lives_call_all_the_same(w);
    lives_plan_all(w, LIVES_OVER);
    lives_commit(w);
    lives_change_in_place(w, 2);
    return image_take(w->base);
}

/* MV6: what lies where another rank's file belongs goes out of the way with its older generations, and comes back with them. */
static void
R5_refused_where_all_have_one_name(void **state)
{
    life  w;
    image was, before;

    (void)state;
    was = begin_one_name(&w);
    rearrange(&w, &was, 1 << 2 | 1 << 3);
    before = image_take(w.base);
    assert_int_equal(job_recover(&w.job), RSET_LOST);
    expect_same(&before, &w, IMAGE_BACK, "refused");
    image_free(&before);
    image_free(&was);
    lives_end(&w);
}

/* Of each rank one older generation is made whole where it lies now: with its own data, by its own redundancy. */
static void
expect_own_older(life *w)
{
    for (int r = 0; r < LIVES_RANKS; r++)
        for (int n = 0; n < 2; n++) {
            char    *name = rset_name_of(RSET_NAME_DATA, w->job.ranks[r].prefix, w->generation[n]);
            size_t   size = 0;
            uint8_t *data;

            lives_make_whole(w, r, n);
            data = read_file(path_of("%s/%s", w->job.ranks[r].dir, name), &size);
            assert_int_equal(size, w->was[n][r].size);
            assert_memory_equal(data, w->was[n][r].data, size);
            free(data);
            free(name);
        }
}

static void
MV7_where_all_have_one_name(void **state)
{
    life  w;
    image was, now;

    (void)state;
    was = begin_one_name(&w);
    for (int copies = 0; copies <= 1; copies++) {
        w.job.copies = copies != 0;
        rearrange(&w, &was, 0);
        for (int times = 0; times < 3; times++) {
            if (job_recover(&w.job) != RSET_OK)
                fail_msg("%s", job_text(&w.job));
            if (!copies)
                expect_same(&was, &w, IMAGE_CONTENT, "moved");
            now = image_take(w.base);
            if (times == 2)
                expect_own_older(&w);
            rearrange(&w, &now, 0);
            image_free(&now);
        }
    }
    image_free(&was);
    lives_end(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(R5_a_refused_open_changes_nothing),
                                       cmocka_unit_test(MV7_older_ones_come_along),
                                       cmocka_unit_test(what_is_void_stays_so),
                                       cmocka_unit_test(copies_have_what_protects_them),
                                       cmocka_unit_test(a_fault_on_one_rank_is_all_ranks),
                                       cmocka_unit_test(R5_refused_where_all_have_one_name),
                                       cmocka_unit_test(MV7_where_all_have_one_name)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
