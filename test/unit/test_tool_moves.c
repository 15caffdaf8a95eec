/* test_tool_moves.c: h5redset rm, mv and scavenge, and one of their looks fails (tools/h5redset, HR4): what is not done is said, with
 * what failed, what they only read is as it was, and the same command once more does it. */
#include "engine_damage.h"
#include "every.h"
#include "store/recall.h"
#include "tool_run.h"

#include "../../tools/h5redset/exits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

int h5redset_main(int argc, char **argv);
TOOL_RUN_LOOK(stat)
TOOL_RUN_LOOK(lstat)

enum { SIZE = 8400 };
enum { AGAIN = 0 /* no look fails */ };

/* One command in one world. */
typedef struct trial {
    world      *w;
    image       before; /* what is there when it begins */
    const char *argv[8];
    const char *again;  /* what the second run is told as well; or NULL */
    const char *target; /* of scavenge; or NULL */
    /* NULL: all is as it should be when the command has said that it is done. */
    const char *(*done)(const struct trial *t);
    /* After each run, whatever it has come to; or NULL. */
    const char *(*always)(const struct trial *t);
} trial;

static void
wrong(const trial *t, int at, const tool_run *now, const char *what)
{
    fprintf(stderr, "h5redset %s, look %d fails: exit status %d, and %s; it says: %s%s\n",
            t->argv[1], at, now->status, what, now->said[0], now->said[1]);
    fail();
}

static void
begin(const trial *t)
{
    remove_tree(t->w->base);
    image_put(&t->before, t->w->base, NULL);
    if (t->target != NULL)
        remove_tree(t->target);
    rset_recall_forget();
}

/* There was nothing left to do. */
static bool
is_nothing(int status)
{
    return status == EXITS_NOTHING || status == EXITS_NO_PATH;
}

/* Exit status; true in *hit_out: that look was made. */
static int
run(const trial *t, int at, bool *hit_out)
{
    const char *argv[10] = {t->argv[0], t->argv[1], at == AGAIN ? t->again : NULL};
    tool_run    now;
    const char *why;

    for (int i = 2, n = argv[2] != NULL ? 3 : 2; t->argv[i] != NULL; i++)
        argv[n++] = t->argv[i];
    now = tool_run_do(h5redset_main, argv, at);
    *hit_out = now.hit;
    if (now.hit && !tool_run_says_why(&now))
        wrong(t, at, &now, "does not say why");
    why = t->always != NULL ? t->always(t) : NULL;
    if (why == NULL && (now.status == EXITS_WELL || (at == AGAIN && is_nothing(now.status))))
        why = t->done(t);
    else if (why == NULL && at == AGAIN)
        why = "nothing failed";
    if (why != NULL)
        wrong(t, at, &now, why);
    tool_run_free(&now);
    rset_recall_forget();
    return now.status;
}

static void
with_each_look_failing(trial *t)
{
    bool more = true, again;
    int  at = 1 + every_skip();

    t->before = image_take(t->w->base);
    for (; more; at += every_step()) {
        begin(t);
        if (run(t, at, &more) != 0)
            (void)run(t, AGAIN, &again);
    }
    assert_true(at > 20);
    begin(t);
    image_free(&t->before);
}

/* ---- judges ---- */

static const char *
nothing_is_left(const trial *t)
{
    image       is = image_take(t->w->base);
    const char *why = is.n == 0 ? NULL : path_of("%s is left", is.at[0].path);

    image_free(&is);
    return why;
}

static void
call_files(job *j, const char *stem)
{
    for (int r = 0; r < N; r++) {
        job_rank *one = &j->ranks[r];

        free(one->names[0]);
        free(one->prefix);
        one->names[0] = strdup(path_of("%s_%d.h5", stem, r));
        one->prefix = strdup(path_of("%s_%d.h5.", stem, r));
    }
}

/* Has the file at `path` what rank r had protected? */
static bool
has_content(const world *w, int r, const char *path)
{
    char why[1024];

    return access(path, F_OK) == 0 &&
           image_same_file(&w->image, path_of("node%d/ckpt_%d.h5", r, r), path, why);
}

/* All have their new names, and are protected under these. */
static const char *
all_are_renamed(const trial *t)
{
    job        *j = &t->w->job;
    const char *why = NULL;

    call_files(j, "moved");
    if (job_recover(j) != RSET_OK || !j->ranks[0].out.protected_)
        why = job_text(j);
    for (int r = 0; why == NULL && r < N; r++)
        if (!has_content(t->w, r, job_data(j, r)))
            why = path_of("rank %d's file has not its new name", r);
    call_files(j, "ckpt");
    return why;
}

static const char *
all_are_brought(const trial *t)
{
    for (int r = 0; r < N; r++)
        if (!has_content(t->w, r, path_of("%s/ckpt_%d.h5", t->target, r)))
            return path_of("rank %d's file is not in the target", r);
    return NULL;
}

/* Scavenge only reads the files that it saves. */
static const char *
sources_are_untouched(const trial *t)
{
    char why[1024];

    for (int r = 0; r < N; r++)
        if (!image_same(&t->before, t->w->base, path_of("node%d", r), IMAGE_CONTENT, why))
            return path_of("%s", why);
    return NULL;
}

/* ---- commands ---- */

static void
rm_and_mv(void **state)
{
    static const kind kinds[] = {{&rset_scheme_xor, 1}, {&rset_scheme_single, 0}};

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        world w;
        /* where some of the files are gone, nobody knows that they are not on nodes which cannot be seen */
        trial t = {
            .w = &w, .argv = {"h5redset", "rm"}, .again = "--force", .done = nothing_is_left};

        damage_open(&w, kinds[k], SIZE);
        t.argv[2] = w.base;
        with_each_look_failing(&t);
        t.argv[1] = "mv";
        t.again = NULL;
        t.argv[2] = strdup(path_of("%s/node%%r/ckpt_%%r.h5", w.base));
        t.argv[3] = strdup(path_of("%s/node%%r/moved_%%r.h5", w.base));
        t.done = all_are_renamed;
        with_each_look_failing(&t);
        free((char *)t.argv[2]);
        free((char *)t.argv[3]);
        damage_close(&w);
    }
}

static void
scavenge(void **state)
{
    (void)state;
    for (int lost = -1; lost < 1; lost++) {
        world w;
        trial t = {.w = &w,
                   .argv = {"h5redset", "scavenge", "--to"},
                   .done = all_are_brought,
                   .always = sources_are_untouched};

        damage_open(&w, xor_kind, SIZE);
        if (lost >= 0)
            assert_int_equal(unlink(job_data(&w.job, lost)), 0);
        t.argv[3] = t.target = strdup(path_of("%s.safe", w.base));
        t.argv[4] = w.base;
        with_each_look_failing(&t);
        remove_tree(t.target);
        free((char *)t.target);
        damage_close(&w);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rm_and_mv),
        cmocka_unit_test(scavenge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
