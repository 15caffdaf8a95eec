/* test_no_memory_jobs.c: each allocation of short operations of one rank or three fails in turn: whoever is concerned is
 * told so, nothing is left behind, and in the end what was to be done is done. */
#include "comm/comm_local.h"
#include "image.h"
#include "job.h"
#include "names/names.h"
#include "no_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { BYTES = 4000 };

typedef struct world {
    char *base;
    job   job;
    image image; /* what each attempt begins with */
} world;

/* A job of n ranks has written its files; `protected_`: and protected them. */
static void
open_world(world *w, const rset_scheme *scheme, int n, bool protected_)
{
    static const size_t size = BYTES;

    *w = (world){.base = scratch_make()};
    job_init(&w->job, w->base, n, scheme, scheme == &rset_scheme_single ? 0 : 1, n);
    job_write_data(&w->job, &size, 1, 1);
    if (protected_)
        assert_int_equal(job_protect(&w->job), RSET_OK);
    for (int r = 0; r < n; r++)
        rset_evidence_free(&w->job.ranks[r].evidence);
}

static void
close_world(world *w)
{
    image_free(&w->image);
    job_free(&w->job);
    remove_tree(w->base);
    free(w->base);
}

/* No allocation of the test's own fails. */
static void
begin_again(world *w)
{
    int may_fail = left;

    left = NEVER;
    for (int r = 0; r < w->job.n; r++)
        remove_tree(w->job.ranks[r].dir);
    image_put(&w->image, w->base, NULL);
    job_next_generation(&w->job);
    for (int r = 0; r < w->job.n; r++)
        rset_evidence_free(&w->job.ranks[r].evidence);
    left = may_fail;
}

/* What all ranks came to. */
static rset_status
run_all(world *w, void (*body)(rset_comm *comm, void *arg), rset_err *err)
{
    rset_status st = rset_local_run(w->job.n, 60, body, &w->job, err);

    for (int r = 0; st == RSET_OK && r < w->job.n; r++)
        if (w->job.ranks[r].st != RSET_OK)
            st = rset_fail(err, w->job.ranks[r].st, "%s", w->job.ranks[r].err.text);
    for (int r = 0; r < w->job.n; r++)
        rset_evidence_free(&w->job.ranks[r].evidence);
    return silent_or(st, err);
}

static rset_status
open_again(void *arg, rset_err *err)
{
    begin_again(arg);
    return run_all(arg, job_body_recover, err);
}

static rset_status
protect_parallel(void *arg, rset_err *err)
{
    begin_again(arg);
    return run_all(arg, job_body_protect, err);
}

static rset_status
rebuild_serial(void *arg, rset_err *err)
{
    world      *w = arg;
    rset_status st;

    begin_again(w);
    st = job_recover_serial(&w->job, 1);
    if (st != RSET_OK)
        (void)rset_fail(err, st, "%s", w->job.ranks[1].err.text);
    rset_evidence_free(&w->job.ranks[1].evidence);
    /* other members' files that cannot be looked at are done without; or it cannot be done */
    return st == RSET_LOST ? RSET_NOMEM : silent_or(st, err);
}

/* The rank's shadow file of the generation that is protected. */
static const char *
shadow_of(const job_rank *k)
{
    rset_evidence ev;
    rset_dir     *dir = NULL;
    char         *name;
    const char   *path;

    assert_int_equal(rset_dir_open(k->dir, false, &dir, NULL), RSET_OK);
    assert_int_equal(rset_survey(dir, k->prefix, k->names[0], &ev, NULL), RSET_OK);
    name = rset_name_of(RSET_NAME_SHADOW, k->prefix, rset_evidence_generation(&ev));
    assert_non_null(name);
    path = path_of("%s/%s", k->dir, name);
    free(name);
    rset_evidence_free(&ev);
    rset_dir_close(dir);
    return path;
}

/* One rank alone, whose job died in its commit. */
static void
finishing_a_commit(void **state)
{
    world       w;
    const char *data, *descriptor, *shadow;

    (void)state;
    open_world(&w, &rset_scheme_single, 1, true);
    data = job_data(&w.job, 0);
    descriptor = job_descriptor(&w.job, 0);
    shadow = shadow_of(&w.job.ranks[0]);
    assert_int_equal(rename(descriptor, path_of("%s" RSET_SUFFIX_NEW, descriptor)), 0);
    assert_int_equal(rename(data, shadow), 0);
    write_file(data, "old", 3);
    w.image = image_take(w.base);
    each_failure_of("finishing a commit", true, open_again, &w);
    assert_false(exists(shadow));
    assert_true(exists(descriptor));
    close_world(&w);
}

/* All of a striped set. */
static void
protecting_parallel(void **state)
{
    world w;

    (void)state;
    open_world(&w, &rset_scheme_xor, 3, false);
    w.image = image_take(w.base);
    each_failure_of("protecting together", true, protect_parallel, &w);
    assert_true(exists(job_redundancy(&w.job, 2)));
    close_world(&w);
}

/* P5: members of its set as threads; none of them waits for one that has no memory. */
static void
rebuilding_serial(void **state)
{
    world w;

    (void)state;
    open_world(&w, &rset_scheme_xor, 3, true);
    assert_int_equal(unlink(job_data(&w.job, 1)), 0);
    w.image = image_take(w.base);
    each_failure_of("rebuilding alone", true, rebuild_serial, &w);
    assert_true(exists(job_data(&w.job, 1)));
    close_world(&w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finishing_a_commit),
        cmocka_unit_test(protecting_parallel),
        cmocka_unit_test(rebuilding_serial),
    };

    alloc_fails = fails;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
