/* test_tool_generations.c: h5redset drop and restore, and one of their looks fails (tools/h5redset, HR4): what is not done is said, and
 * no generation but the one that was named is worse than before. Saved copies are the judge (lives.h). */
#include "every.h"
#include "lives.h"
#include "store/recall.h"
#include "tool_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

int h5redset_main(int argc, char **argv);
TOOL_RUN_LOOK(stat)
TOOL_RUN_LOOK(lstat)

enum { COMMITS = 4, NAMED = 1 /* what h5redset calls generation 2 */ };

/* The tool has functions of the names of cmocka's that would say it. */
static void
wrong(const life *w, const char *command, int at, const tool_run *now, const char *what)
{
    fprintf(stderr, "%s, h5redset %s, look %d fails: exit status %d, and %s; it says: %s%s\n",
            w->what, command, at, now->status, what, now->said[0], now->said[1]);
    fail();
}

static void
begin(life *w, lives_way how)
{
    lives_begin(w, &rset_scheme_xor, 1, COMMITS);
    for (int n = 0; n < COMMITS; n++) {
        lives_plan_all(w, how);
        lives_commit(w);
    }
}

/* Has each rank that generation in the place of its file? */
static bool
is_newest(const life *w, int n)
{
    for (int r = 0; r < LIVES_RANKS; r++) {
        const lives_content *was = &w->was[n][r];
        size_t               size = 0;
        uint8_t             *is = read_file(job_data(&w->job, r), &size);
        const bool           same = size == was->size && memcmp(is, was->data, size) == 0;

        free(is);
        if (!same)
            return false;
    }
    return true;
}

/* The files before the command, and after one of which no look failed. */
static image before, done;

/* Where neither has come out, each generation is opened. */
static const char *
judge_drop(life *w, int status)
{
    char why[1024];

    if (image_same(status == 0 ? &done : &before, w->base, NULL, IMAGE_CONTENT, why))
        return NULL;
    for (int r = 0; status == 0 && r < LIVES_RANKS; r++)
        if (lives_is_kept(w, r, NAMED))
            return "it is there";
    w->kept[NAMED] = false;
    lives_assert_all(w, 0);
    w->kept[NAMED] = true;
    return NULL;
}

/* Whatever it has come to, all ranks are at one generation when they have opened their files. */
static const char *
judge_restore(life *w, int status)
{
    if (status == 0 && !is_newest(w, NAMED))
        return "it is not the newest";
    if (job_recover(&w->job) != RSET_OK || !w->job.ranks[0].out.protected_)
        return job_text(&w->job);
    return is_newest(w, NAMED) || (status != 0 && is_newest(w, COMMITS - 1)) ? NULL
                                                                             : "it is neither";
}

/* A run makes a thousand looks, and each wants all files anew: a sample is a thin one. */
static int
step(void)
{
    return every_step() > 1 ? 8 * every_step() : 1;
}

static void
with_each_look_failing(life *w, const char *command, const char *(*judge)(life *w, int status))
{
    const char *argv[] = {"h5redset", command, "--generation", "2", w->base, NULL};
    bool        more = true;
    int         at = 1 + every_skip();
    tool_run    whole;

    before = image_take(w->base);
    whole = tool_run_do(h5redset_main, argv, 0);
    done = image_take(w->base);
    for (; more; at += step()) {
        tool_run    now;
        const char *why;

        lives_put_back(w, &before);
        rset_recall_forget();
        now = tool_run_do(h5redset_main, argv, at);
        more = now.hit;
        if ((more && !tool_run_says_why(&now)) || (!more && now.status != 0))
            wrong(w, command, at, &now, "nothing failed, or it is not said");
        why = judge(w, now.status);
        if (why != NULL)
            wrong(w, command, at, &now, why);
        tool_run_free(&now);
    }
    assert_true(at > 20 && whole.status == 0);
    lives_put_back(w, &before);
    tool_run_free(&whole);
    image_free(&before);
    image_free(&done);
}

static void
one_generation(void **state)
{
    (void)state;
    for (lives_way how = LIVES_OVER; how <= LIVES_IN_PLACE; how++) {
        life w;

        begin(&w, how);
        with_each_look_failing(&w, "drop", judge_drop);
        with_each_look_failing(&w, "restore", judge_restore);
        lives_end(&w);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_generation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
