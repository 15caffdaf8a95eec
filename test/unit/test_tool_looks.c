/* test_tool_looks.c: h5redset looks at files that are whole, and one of its looks fails: it says so, or tells what it tells of them
 * without that. What it has not seen is not passed over (HR4). With the tool inside (main is h5redset_main here). */
#include "engine_damage.h"
#include "every.h"
#include "failing.h"
#include "store/recall.h"
#include "tool_run.h"

#include "../../tools/h5redset/below.h"

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

/* A failure may also be one of a disk that has lost a file, which it would rebuild. The tool has functions of the names of
 * cmocka's that would say what is wrong. */
static void
check_said(const char *command, const tool_run *now, const tool_run *whole, int at)
{
    const bool same = strcmp(now->said[0], whole->said[0]) == 0 && now->status == whole->status;

    if (same || (now->status != 0 && tool_run_says_why(now)) || whole->said[0][0] == '\0')
        return;
    fprintf(stderr, "h5redset %s, look %d fails: exit status %d; it says: %s%s\ninstead of: %s\n",
            command, at, now->status, now->said[0], now->said[1], whole->said[0]);
    fail();
}

static void
look_with_each_failing(const char *const *argv)
{
    tool_run whole = tool_run_do(h5redset_main, argv, 0);
    bool     more = true;
    int      at = 1 + every_skip();

    assert_int_equal(whole.status, 0);
    for (; more; at += every_step()) {
        tool_run now = tool_run_do(h5redset_main, argv, at);

        more = now.hit;
        check_said(argv[1], &now, &whole, at);
        tool_run_free(&now);
    }
    assert_true(at > 20);
    tool_run_free(&whole);
}

/* Files that were protected together record where the others are, and lead the look there; those of SINGLE do not. */
static const kind kinds[] = {{&rset_scheme_xor, 1}, {&rset_scheme_single, 0}};
enum { KINDS_HERE = sizeof kinds / sizeof *kinds };

static void
begin_world(world *w, kind k)
{
    const size_t size = 8400;

    *w = (world){.base = scratch_make(), .kind = k};
    job_init(&w->job, w->base, N, k.scheme, k.parity, N);
    job_write_data(&w->job, &size, 1, 1);
    assert_int_equal(job_protect(&w->job), RSET_OK);
}

static void
what_is_not_seen_is_not_passed_over(void **state)
{
    static const char *const commands[][3] = {{"status", "--json"},
                                              {"map"},
                                              {"list", "--json"},
                                              {"gc", "--dry-run"},
                                              {"rebuild", "--dry-run"}};

    (void)state;
    for (int k = 0; k < KINDS_HERE; k++) {
        world w;

        begin_world(&w, kinds[k]);
        for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
            const char *argv[5] = {"h5redset"};
            int         n = 1;

            for (const char *const *word = commands[i]; *word != NULL; word++)
                argv[n++] = *word;
            argv[n] = w.base;
            look_with_each_failing(argv);
        }
        w.image = image_take(w.base);
        damage_close(&w);
    }
}

/* ---- what is removed ---- */

static void
gc_with_each_look_failing(const world *w, const char *what)
{
    const char *argv[] = {"h5redset", "gc", w->base, NULL};
    bool        more = true;
    int         at = 1 + every_skip();

    for (; more; at += every_step()) {
        tool_run now = tool_run_do(h5redset_main, argv, at);
        char     why[1024];

        more = now.hit;
        if (!image_same(&w->image, w->base, NULL, IMAGE_UNTOUCHED, why)) {
            fprintf(stderr, "h5redset gc, %s, look %d fails: %s\n", what, at, why);
            fail();
        }
        tool_run_free(&now);
    }
    assert_true(at > 20);
}

/* One data file is left: gc has nothing to do, and whatever it fails to see does nothing. */
static void
gc_leaves_what_it_has_not_seen(void **state)
{
    (void)state;
    for (int left = 0; left < N; left++) {
        world w;

        begin_world(&w, kinds[0]);
        for (int r = 0; r < N; r++)
            if (r != left)
                assert_int_equal(unlink(job_data(&w.job, r)), 0);
        w.image = image_take(w.base);
        gc_with_each_look_failing(&w, path_of("the file of rank %d is left", left));
        damage_close(&w);
    }
}

/* ---- what is changed ---- */

static void
wrong(const char *command, int at, const tool_run *now, const char *what)
{
    fprintf(stderr, "h5redset %s, look %d fails: exit status %d, and %s; it says: %s%s\n", command,
            at, now->status, what, now->said[0], now->said[1]);
    fail();
}

/* Has every data file the content that it had when it was protected? */
static bool
has_data(const world *w)
{
    for (int r = 0; r < N; r++) {
        const char       *path = job_data(&w->job, r);
        const image_file *was = image_find(&w->image, path + strlen(w->base) + 1);
        size_t            size = 0;
        uint8_t          *is = exists(path) ? read_file(path, &size) : NULL;
        const bool same = is != NULL && size == was->size && memcmp(is, was->data, size) == 0;

        free(is);
        if (!same)
            return false;
    }
    return true;
}

/* One command on all data files, of which rank `lost` (-1: none) has lost its own. What it has not done is said; what it says that it
 * has done is done; and no file is worse than before. */
static void
change_with_each_failing(world *w, const char *command, int lost)
{
    const char *argv[3 + N] = {"h5redset", command};
    const bool  protects = strcmp(command, "unprotect") != 0;
    bool        more = true;
    int         at = 1 + every_skip();

    for (int r = 0; r < N; r++)
        argv[2 + r] = strdup(job_data(&w->job, r));
    for (; more; at += every_step()) {
        tool_run now;

        for (int r = 0; r < N; r++)
            remove_tree(w->job.ranks[r].dir);
        image_put(&w->image, w->base, NULL);
        rset_recall_forget();
        if (lost >= 0)
            assert_int_equal(unlink(job_data(&w->job, lost)), 0);
        now = tool_run_do(h5redset_main, argv, at);
        more = now.hit;
        if (more && !tool_run_says_why(&now))
            wrong(command, at, &now, "it does not say why");
        if (lost < 0 && !has_data(w))
            wrong(command, at, &now, "data has changed");
        if (!more && now.status != 0)
            wrong(command, at, &now, "nothing failed");
        if (now.status == 0 || protects) {
            const rset_status st = job_recover(&w->job);

            if (st != (protects ? RSET_OK : RSET_ABSENT) || !has_data(w) ||
                (protects && !w->job.ranks[0].out.protected_))
                wrong(command, at, &now,
                      path_of("then: %s, %s", rset_status_name(st), job_text(&w->job)));
        }
        tool_run_free(&now);
    }
    assert_true(at > 20);
    for (int r = 0; r < N; r++)
        free((char *)argv[2 + r]);
}

static void
what_is_changed_is_as_it_says(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS_HERE; k++) {
        world w;

        begin_world(&w, kinds[k]);
        w.image = image_take(w.base);
        change_with_each_failing(&w, "protect", -1);
        change_with_each_failing(&w, "unprotect", -1);
        change_with_each_failing(&w, "rebuild", -1);
        if (kinds[k].parity > 0)
            change_with_each_failing(&w, "rebuild", 1);
        damage_close(&w);
    }
}

/* ---- directories ---- */

typedef struct walked {
    const char *root;
    strings     out, failed;
} walked;

static rset_status
walk(void *arg)
{
    walked *w = arg;

    walk_below(w->root, &w->out, &w->failed);
    return RSET_OK;
}

static void
free_walked(walked *w)
{
    strings_free(&w->out);
    strings_free(&w->failed);
}

/* A directory that cannot be opened, or listed to its end, once. */
static void
directories_are_found_or_it_is_said(void **state)
{
    static const char *const dirs[] = {"a", "a/b", "a/b/c", "d", "d/e"};
    enum { DIRS = sizeof dirs / sizeof *dirs };
    char *base = scratch_make();
    bool  more = true;
    int   at = 1 + every_skip();

    (void)state;
    for (int i = 0; i < DIRS; i++)
        assert_int_equal(mkdir(path_of("%s/%s", base, dirs[i]), 0700), 0);
    for (; more; at += every_step()) {
        walked w = {.root = base};

        (void)failing_here(walk, &w, FAILING_LOOKS | FAILING_LIST, at, &more);
        if (more)
            assert_true(w.failed.n > 0 || w.out.n == DIRS + 1);
        else
            assert_true(w.failed.n == 0 && w.out.n == DIRS + 1);
        free_walked(&w);
    }
    assert_true(at > 4 * DIRS);
    remove_tree(base);
    free(base);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_seen_is_not_passed_over),
        cmocka_unit_test(gc_leaves_what_it_has_not_seen),
        cmocka_unit_test(what_is_changed_is_as_it_says),
        cmocka_unit_test(directories_are_found_or_it_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
