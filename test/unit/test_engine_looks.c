/* test_engine_looks.c: a look at a name fails (P2, P11): that is no answer, and least of all that nothing has the name. */
#include "commit/newer.h"
#include "failing.h"
#include "lives.h"
#include "twice.h"
#include "twice_change.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- what another program has made of a file ---- */

typedef struct putting {
    rset_local local;
    uint64_t   number;
} putting;

static rset_status
put(void *arg)
{
    putting *p = arg;
    rset_err err = RSET_ERR_NONE;

    return rset_changed_put(&p->local, 7, &p->number, &err);
}

/* Has the file that content? */
static bool
is(const char *path, const char *content)
{
    size_t     size = 0;
    uint8_t   *data = exists(path) ? read_file(path, &size) : NULL;
    const bool same = data != NULL && size == strlen(content) && memcmp(data, content, size) == 0;

    free(data);
    return same;
}

/* The engine says that a file is put aside only where it is: what comes next writes over that file. One that was put aside before stays. */
static void
changed_is_put_aside_or_that_is_said(void **state)
{
    const char *names[1] = {"file"}, *before = "file.redset.0000000000000007.changed";
    bool        more = true;

    (void)state;
    for (int at = 1; more; at++) {
        char    *base = scratch_make();
        rset_err err = RSET_ERR_NONE;
        putting  p = {.local = {.prefix = "file.", .nfiles = 1, .names = names}};

        assert_int_equal(rset_dir_open(base, false, &p.local.dir, &err), RSET_OK);
        write_file(path_of("%s/%s", base, names[0]), "now", 3);
        write_file(path_of("%s/%s", base, before), "then", 4);
        if (failing_here(put, &p, FAILING_FSTATAT, at, &more) == RSET_OK &&
            !is(path_of("%s/%s.redset.%016llx.changed", base, names[0],
                        (unsigned long long)p.number),
                "now"))
            fail_msg("look %d: what the file was is not put aside", at);
        assert_true(is(path_of("%s/%s", base, before), "then"));
        rset_dir_close(p.local.dir);
        remove_tree(base);
        free(base);
    }
}

/* ---- what was rebuilt since a program has looked ---- */

static rset_status
begin_first(void *arg)
{
    change_of *c = arg;
    rset_err   err = RSET_ERR_NONE;

    return rset_change_begin_first(&c->local, &c->ev, &c->journal, &err);
}

/* Redundancy that was rebuilt meanwhile does not count for what a program writes: it is void, or the program may not begin. */
static void
what_has_come_is_void_or_that_is_said(void **state)
{
    bool more = true;

    (void)state;
    for (int at = 1; more; at++) {
        twice       w;
        change_of   c;
        rset_status st;

        twice_open(&w, twice_kinds[1]);
        twice_lose_node(&w, 1);
        change_open(&c, &w, 1);
        assert_int_equal(job_recover(&w.job), RSET_OK);
        st = failing_here(begin_first, &c, FAILING_FSTATAT, at, &more);
        if (st == RSET_OK && exists(job_redundancy(&w.job, 1)))
            fail_msg("look %d: what protects the file counts while it is being written", at);
        change_close(&c, END_KILLED);
        twice_close(&w);
    }
}

/* ---- older generations ---- */

typedef struct dropping {
    rset_local local;
    uint64_t   generation;
} dropping;

static rset_status
drop(void *arg)
{
    dropping *d = arg;
    rset_err  err = RSET_ERR_NONE;

    return rset_kept_drop(&d->local, d->generation, &err);
}

/* Before a generation is removed the older one that rests on it is made whole; else none is removed. */
static void
what_rests_on_it_is_found(void **state)
{
    life  w;
    image was;
    bool  more = true;

    (void)state;
    lives_begin_in_place(&w, &rset_scheme_single, 0, 5, 4);
    was = image_take(w.base);
    for (int at = 1; more; at++) {
        const char *names[1];
        dropping    d = {.generation = w.generation[2]};
        rset_dir   *dir = lives_files(&w, 1, names, &d.local);

        (void)failing_here(drop, &d, FAILING_FSTATAT, at, &more);
        rset_dir_close(dir);
        for (int n = 0; n < w.commits; n++)
            if (n != 2)
                lives_assert_is(&w, n, 0);
        lives_put_back(&w, &was);
    }
    image_free(&was);
    lives_end(&w);
}

/* ---- opening ---- */

/* Rank r has created its file anew, what it was is put aside, and its program has died. */
static void
die_anew(const twice *w, int r)
{
    rset_err  err = RSET_ERR_NONE;
    change_of c;

    change_open(&c, w, r);
    assert_int_equal(rset_aside_begin(&c.local, &c.ev, &c.journal, &err), RSET_OK);
    (void)unlink(job_data(&w->job, r));
    change_close(&c, END_KILLED);
}

/* An open finds the old content that was put aside, or says that it cannot look for it; never that somebody has deleted the files. */
static void
put_aside_is_not_deleted(void **state)
{
    bool more = true;

    (void)state;
    for (int at = 1; more; at++) {
        twice w;

        twice_open(&w, single);
        for (int r = 0; r < TWICE_RANKS; r++)
            die_anew(&w, r);
        (void)failing_run(&w.job, job_recover, FAILING_FSTATAT, -1, at, &more);
        for (int r = 0; r < TWICE_RANKS; r++)
            assert_int_not_equal(w.job.ranks[r].out.reason, RSET_REASON_DELETED);
        assert_int_equal(job_recover(&w.job), RSET_OK);
        assert_data_as(&w, &w.new);
        twice_close(&w);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_is_put_aside_or_that_is_said),
        cmocka_unit_test(what_has_come_is_void_or_that_is_said),
        cmocka_unit_test(what_rests_on_it_is_found),
        cmocka_unit_test(put_aside_is_not_deleted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
