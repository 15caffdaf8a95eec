/* test_nearby.c: which generations there are of one rank's file, as one process without the others finds out from what is within its
 * reach (rset_generations_nearby): what it has lost of them itself, others still have. Never one of other files, nor one that was put
 * aside. */
#include "commit/newer.h"
#include "lives.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { COMMITS = 4 };

/* Created over, or changed in place; none is retired. They are recorded as of /<place>. */
static void
begin(life *w, lives_way how, int place)
{
    static char paths[2][LIVES_RANKS][32];

    srand((unsigned)place + 11);
    lives_begin(w, &rset_scheme_xor, 1, COMMITS);
    for (int r = 0; r < LIVES_RANKS; r++) {
        snprintf(paths[place][r], sizeof paths[place][r], "/%d/%s", place,
                 w->job.ranks[r].names[0]);
        w->job.ranks[r].path = paths[place][r];
    }
    lives_plan_all(w, LIVES_OVER);
    lives_commit(w);
    w->update = w->stays = how == LIVES_IN_PLACE;
    while (w->commits < COMMITS) {
        lives_plan_all(w, how);
        lives_commit(w);
    }
}

/* What rank r finds with the directories of all ranks of `w`, and of `other`, to look in; NULL: of none. */
static rset_generations
nearby(const life *w, int r, const life *other)
{
    const rset_which none = {0};
    const char      *names[1], *search[2 * LIVES_RANKS + 1] = {NULL};
    rset_err         err = RSET_ERR_NONE;
    rset_evidence    ev = {0};
    rset_generations all = {0};
    rset_local       local;
    rset_dir        *dir = lives_files(w, r, names, &local);

    local.paths = &w->job.ranks[r].path;
    for (int i = 0; i < LIVES_RANKS; i++) {
        search[i] = w->job.ranks[i].dir;
        search[LIVES_RANKS + i] = other != NULL ? other->job.ranks[i].dir : NULL;
    }
    assert_int_equal(rset_survey_local(&local, &ev, &err), RSET_OK);
    rset_generations_of(&ev, &all);
    if (rset_generations_nearby(
            &(rset_serial_args){.local = &local, .evidence = &ev, .search = search, .rank = -1},
            &none, &all, &err) != RSET_OK)
        fail_msg("rank %d: %s", r, err.text);
    rset_evidence_free(&ev);
    rset_dir_close(dir);
    return all;
}

/* All, newest first. */
static void
assert_all_there(const life *w, const rset_generations *all, const char *what)
{
    bool right = all->n == (uint64_t)w->commits;

    for (uint64_t i = 0; right && i < all->n; i++)
        right = all->at[i] == w->generation[w->commits - 1 - (int)i];
    if (!right)
        fail_msg("%s: %d are found", what, (int)all->n);
}

/* Removes of rank r what has this in its name; "": all. */
static void
lose(const life *w, int r, const char *part)
{
    image files = image_take(w->job.ranks[r].dir);

    for (size_t i = 0; i < files.n; i++)
        if (strstr(files.at[i].path, part) != NULL)
            (void)unlink(path_of("%s/%s", w->job.ranks[r].dir, files.at[i].path));
    image_free(&files);
}

static void
what_a_rank_has_lost_others_have(void **state)
{
    const lives_way ways[] = {LIVES_OVER, LIVES_IN_PLACE};

    (void)state;
    for (int k = 0; k < 2; k++)
        for (int r = 0; r < LIVES_RANKS; r++)
            for (int n = -1; n < COMMITS; n++) {
                rset_generations all;
                char             part[64] = "", what[128];
                life             w;

                begin(&w, ways[k], 0);
                if (n >= 0)
                    snprintf(part, sizeof part, "%016llx", (unsigned long long)w.generation[n]);
                lose(&w, r, n == COMMITS - 1 ? ".xor." : part);
                all = nearby(&w, r, NULL);
                snprintf(what, sizeof what, "way %d, rank %d, generation %d", k, r, n);
                assert_all_there(&w, &all, what);
                lives_end(&w);
            }
}

/* Of the same names, in directories that are looked into as well. */
static void
those_of_other_files_are_not_taken(void **state)
{
    (void)state;
    for (int r = 0; r < LIVES_RANKS; r++) {
        rset_generations all;
        life             w, other;

        begin(&w, LIVES_OVER, 0);
        begin(&other, LIVES_OVER, 1);
        all = nearby(&w, r, &other);
        assert_all_there(&w, &all, "with others of its name");
        lose(&w, r, "");
        all = nearby(&w, r, &other);
        assert_all_there(&w, &all, "with others of its name, lost");
        lives_end(&other);
        lives_end(&w);
    }
}

/* When nothing else is left of it. */
static void
what_was_put_aside_is_none(void **state)
{
    rset_generations all;
    life             w;

    (void)state;
    begin(&w, LIVES_OVER, 0);
    for (int r = 0; r < LIVES_RANKS; r++) {
        const char *names[1];
        rset_err    err = RSET_ERR_NONE;
        rset_local  local;
        rset_dir   *dir = lives_files(&w, r, names, &local);

        assert_int_equal(rset_newer_put(&local, w.generation[COMMITS - 1], &err), RSET_OK);
        assert_int_equal(unlink(job_data(&w.job, r)), 0);
        assert_int_equal(unlink(job_redundancy(&w.job, r)), 0);
        rset_dir_close(dir);
    }
    w.commits--;
    all = nearby(&w, 0, NULL);
    assert_all_there(&w, &all, "put aside");
    lose(&w, 1, "");
    all = nearby(&w, 1, NULL);
    assert_all_there(&w, &all, "put aside, lost");
    w.commits++;
    lives_end(&w);
}

static int listings;

static DIR *
count_listings(int fd)
{
    listings++;
    return rset_sys_posix.fdopendir(fd);
}

/* However many generations there are, and whatever is looked for in them. */
static void
each_directory_is_listed_once(void **state)
{
    static rset_sys  counting;
    rset_generations all;
    life             w;

    (void)state;
    counting = rset_sys_posix;
    counting.fdopendir = count_listings;
    begin(&w, LIVES_OVER, 0);
    listings = 0;
    rset_sys_use(&counting);
    all = nearby(&w, 0, NULL);
    rset_sys_use(NULL);
    assert_all_there(&w, &all, "counted");
    assert_int_equal(listings, LIVES_RANKS);
    lives_end(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_a_rank_has_lost_others_have),
                                       cmocka_unit_test(each_directory_is_listed_once),
                                       cmocka_unit_test(those_of_other_files_are_not_taken),
                                       cmocka_unit_test(what_was_put_aside_is_none)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
