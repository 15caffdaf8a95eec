/* test_replicas_back.c: of files of one rank (replicas/replicas.h) all ranks drop an older generation, or go back to one where the
 * newest is whole nowhere. */
#include "image.h"
#include "recover/recover.h"
#include "replicas_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = REPLICAS_RANKS };

/* ---- dropped ---- */

static void
drop_body(rset_comm *comm, void *arg)
{
    const int      r = comm->rank;
    const char    *name = "meta.h5";
    char           dir[4096];
    rset_evidence  ev = {0};
    rset_local     local = {.prefix = replicas_prefix, .nfiles = 1, .names = &name, .paths = &name};
    rset_drop_args args = {.world = comm,
                           .local = &local,
                           .evidence = &ev,
                           .generation = replicas_generation(1),
                           .host = "host"};

    (void)arg;
    snprintf(dir, sizeof dir, "%s/node%d", replicas.base, r);
    args.before = rset_dir_open(dir, false, &local.dir, &replicas.seen.err[r]);
    if (args.before == RSET_OK)
        args.before = rset_survey_local(&local, &ev, &replicas.seen.err[r]);
    replicas.seen.st[r] = rset_generation_drop(&args, &replicas.seen.err[r]);
    rset_evidence_free(&ev);
    rset_dir_close(local.dir);
}

static void
dropped_on_all_ranks(void **state)
{
    (void)state;
    replicas_begin(3);
    for (int v = 1; v <= 3; v++) {
        replicas_write(0, v, "", v == 3);
        replicas_send_to(v, 2);
    }
    replicas_run(drop_body);
    assert_int_equal(replicas.seen.st[0], RSET_OK);
    for (int r = 0; r <= 2; r++)
        assert_true(replicas_is_version(r, "meta.h5", 3) && replicas_keeps(r, 2) &&
                    !replicas_keeps(r, 1));
    replicas_run(drop_body);
    assert_int_equal(replicas.seen.st[0], RSET_USAGE);
    replicas_expect_all(replicas_name(2), 2);
    replicas_end();
}

/* ---- the newest again ---- */

/* Each rank proposes another generation for what was version 1. */
static void
restore_body(rset_comm *comm, void *arg)
{
    static const rset_stamp_text stamp = {.label = "as it was"};
    const int                    r = comm->rank;
    const char                  *name = "meta.h5", *older = replicas.opened;
    char                         dir[4096], of[300], host[32];
    rset_evidence                ev = {0};
    rset_local local = {.prefix = replicas_prefix, .nfiles = 1, .names = &name, .paths = &name};
    rset_local kept = {.prefix = of, .nfiles = 1, .names = &older, .paths = &older};
    rset_replica_args args = {
        .world = comm, .local = &local, .evidence = &ev, .host = host, .keep = replicas.keep};
    rset_replica_older back = {.kept = &kept,
                               .newest = replicas_generation(2),
                               .stamp = &stamp,
                               .generation = replicas_generation(3) + (uint64_t)r};

    (void)arg;
    snprintf(dir, sizeof dir, "%s/node%d", replicas.base, replicas_node(r));
    snprintf(of, sizeof of, "%s.", replicas.opened);
    snprintf(host, sizeof host, "host%d", replicas_node(r));
    args.before = rset_dir_open(dir, false, &local.dir, &replicas.seen.err[r]);
    kept.dir = local.dir;
    replicas.seen.st[r] = rset_replica_restore(&args, &back, &replicas.seen.err[r]);
    replicas.seen.generation[r] = back.generation;
    rset_dir_close(local.dir);
}

/* Version 2 is damaged on all that have it, and version 1 is whole on all. */
static void
lose_the_newest(void)
{
    replicas_begin(3);
    for (int v = 1; v <= 2; v++) {
        replicas_write(0, v, "", false);
        replicas_send_to(v, 2);
    }
    for (int r = 0; r <= 2; r++)
        flip_bit(replicas_path(r, "meta.h5"), 500000);
    replicas_open("meta.h5");
    for (int r = 0; r < RANKS; r++)
        assert_true(replicas.seen.st[r] == RSET_LOST && replicas.seen.gone[r]);
    replicas_expect_all(replicas_name(1), 1);
}

static bool
is_put_aside(int node)
{
    return exists(replicas_path(node, "meta.h5.redset.0000020000000001.newer"));
}

static void
restored_on_all_ranks(void **state)
{
    char older[256];

    (void)state;
    for (int i = 0; i < 2; i++) {
        lose_the_newest();
        replicas.shared = i == 1;
        snprintf(older, sizeof older, "%s", replicas_name(1));
        replicas.opened = older;
        replicas_run(restore_body);
        assert_int_equal(replicas.seen.st[0], RSET_OK);
        for (int r = 0; r < RANKS; r++)
            assert_int_equal(replicas.seen.generation[r], replicas_generation(3) + RANKS - 1);
        for (int r = 0; r < RANKS; r++)
            if (replicas_node(r) == r)
                assert_true(replicas_is_version(r, "meta.h5", 1) && is_put_aside(r) == (r < 3) &&
                            !replicas_keeps(r, 1));
        replicas_expect_all(replicas_name(0), 1);
        replicas.shared = false;
        replicas_end();
    }
}

/* Only one rank has come so far: what it has is the newest. */
static void
restored_on_one_rank_is_brought_to_the_others(void **state)
{
    char     older[256];
    rset_err err = RSET_ERR_NONE;

    (void)state;
    lose_the_newest();
    snprintf(older, sizeof older, "%s", replicas_name(1));
    replicas.opened = older;
    assert_int_equal(rset_local_run(1, 60, restore_body, NULL, &err), RSET_OK);
    assert_int_equal(replicas.seen.st[0], RSET_OK);
    assert_false(replicas_is_version(1, "meta.h5", 1));
    replicas_expect_all(replicas_name(0), 1);
    replicas_end();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dropped_on_all_ranks),
        cmocka_unit_test(restored_on_all_ranks),
        cmocka_unit_test(restored_on_one_rank_is_brought_to_the_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
