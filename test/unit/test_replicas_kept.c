/* test_replicas_kept.c: older generations of files of one rank (replicas/replicas.h, keep=N): whoever gets a replica keeps what that
 * replaces, so that they can be had where the node of the writer is lost. Ranks are threads, each with storage of its own under one
 * path. */
#include "comm/comm_local.h"
#include "image.h"
#include "job.h"
#include "mapped.h"
#include "member/kept.h"
#include "names/names.h"
#include "recover/recover.h"
#include "replicas/replicas.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS = 4, SIZE = 700001, VERSIONS = 6, STEP = 1000 };

static char   *base;
static char    storage[2048]; /* as all ranks call what is theirs */
static int     keep;
static uint8_t content[VERSIONS][SIZE];

/* ---- files ---- */

static const char prefix[] = "meta.h5.";

static uint64_t
generation_of(int version)
{
    return (uint64_t)version << 40 | 1;
}

/* Under which name is that version; 0: the newest. Valid until the next call. */
static const char *
name_of(int version)
{
    static _Thread_local char name[256];
    char                     *kept = rset_kept_name(prefix, generation_of(version));

    assert_non_null(kept);
    snprintf(name, sizeof name, "%s", version == 0 ? "meta.h5" : kept);
    free(kept);
    return name;
}

static const char *
path_on(int node, const char *name)
{
    return path_of("%s/node%d/%s", base, node, name);
}

static bool
is_version(int node, const char *name, int version)
{
    size_t   size = 0;
    uint8_t *data = exists(path_on(node, name)) ? read_file(path_on(node, name), &size) : NULL;
    bool     same = data != NULL && size == SIZE && memcmp(data, content[version], SIZE) == 0;

    free(data);
    return same;
}

/* Is that generation kept on this node, or is what leads back to it? */
static bool
has_kept(int node, int version)
{
    char *back = rset_back_name(prefix, generation_of(version));
    bool  is;

    assert_non_null(back);
    is = exists(path_on(node, name_of(version))) || exists(path_on(node, back));
    free(back);
    return is;
}

static void
begin(int generations)
{
    keep = generations;
    base = scratch_make();
    snprintf(storage, sizeof storage, "%s/storage", base);
    fill_random(content[0], SIZE, 1);
    for (int v = 1; v < VERSIONS; v++) {
        memcpy(content[v], content[0], SIZE);
        content[v][v * STEP] ^= 1;
    }
    for (int r = 0; r < RANKS; r++)
        mkdir(path_of("%s/node%d", base, r), 0777);
    mapped_use(&rset_sys_posix, storage);
}

static void
end(void)
{
    rset_sys_use(NULL);
    remove_tree(base);
    free(base);
}

static void
lose(int node)
{
    remove_tree(path_of("%s/node%d", base, node));
    mkdir(path_of("%s/node%d", base, node), 0777);
}

/* What a program does that writes it anew, or changes it in place. */
static rset_status
write_beside(job *j, int rank, rset_local *local)
{
    (void)rank;
    write_file(path_of("%s/new", j->ranks[0].dir), j->arg, SIZE);
    local->shadow = j->ranks[0].shadow;
    return RSET_OK;
}

static rset_status
write_in_place(job *j, int rank, rset_local *local)
{
    rset_journal *journal = NULL;
    rset_err      err = RSET_ERR_NONE;
    rset_status   st = rset_journal_begin(local, &j->ranks[rank].evidence, true, &journal, &err);

    if (st == RSET_OK)
        st = rset_journal_save(journal, 0, (VERSIONS + 1) * STEP, &err);
    if (st == RSET_OK)
        write_file(path_of("%s/meta.h5", j->ranks[0].dir), j->arg, SIZE);
    rset_journal_leave(journal);
    return st;
}

static void
write_version(int node, int version, const char *label, bool in_place)
{
    rset_stamp_text stamp = {.time = (uint64_t)(1000 + version)};
    job             j;
    job_rank       *k = &j.ranks[0];

    job_init(&j, base, 1, &rset_scheme_single, 0, 1);
    free(k->dir);
    free(k->names[0]);
    free(k->prefix);
    k->dir = strdup(path_of("%s/node%d", base, node));
    k->names[0] = strdup("meta.h5");
    k->prefix = strdup(prefix);
    k->shadow = in_place ? NULL : strdup("new");
    k->desc.generation = generation_of(version);
    snprintf(stamp.label, sizeof stamp.label, "%s", label);
    k->stamp = &stamp;
    j.keep = keep;
    j.update = in_place;
    j.arg = content[version];
    j.change = in_place ? write_in_place : write_beside;
    job_run(&j, job_body_protect);
    if (k->st != RSET_OK)
        fail_msg("version %d: %s", version, k->err.text);
    job_free(&j);
}

/* ---- what all ranks do ---- */

static struct {
    rset_status  st[RANKS];
    rset_err     err[RANKS];
    rset_replica sent;
    bool         gone[RANKS];
    uint64_t     generation[RANKS]; /* of the restored one */
} seen;

static const char *opened; /* name */
static int         copies;

static void
run(void (*body)(rset_comm *comm, void *arg))
{
    rset_err err = RSET_ERR_NONE;

    memset(&seen, 0, sizeof seen);
    for (int r = 0; r < RANKS; r++)
        seen.err[r] = (rset_err)RSET_ERR_NONE;
    assert_int_equal(rset_local_run(RANKS, 60, body, NULL, &err), RSET_OK);
    for (int r = 1; r < RANKS; r++)
        if (seen.st[r] != seen.st[0])
            fail_msg("rank 0: %d %s; rank %d: %d %s", seen.st[0], seen.err[0].text, r, seen.st[r],
                     seen.err[r].text);
}

static rset_status
may(void *arg, const char *path, rset_err *err)
{
    (void)arg, (void)path, (void)err;
    return RSET_OK;
}

static void
send_body(rset_comm *comm, void *arg)
{
    const int     r = comm->rank;
    char          dir[4096];
    rset_replicas args = {.set = comm, .host = "host", .mine = &seen.sent, .may = may};

    (void)arg;
    snprintf(dir, sizeof dir, "%s/node%d", base, r);
    mapped_to(dir);
    args.n = r == 0;
    seen.st[r] = rset_replicas_send(&args, &seen.err[r]);
    mapped_to(NULL);
}

static uint64_t sent_generation;

static void
send_prepared(rset_comm *comm, void *arg)
{
    if (comm->rank == 0) {
        seen.sent = (rset_replica){
            .generation = sent_generation, .copies = copies, .keep = keep, .why = RSET_ERR_NONE};
        snprintf(seen.sent.path, sizeof seen.sent.path, "%s/meta.h5", storage);
    }
    send_body(comm, arg);
}

/* Node 0 has written that version, and so many others get it. */
static void
send_version(int version, int to)
{
    sent_generation = generation_of(version);
    copies = to;
    run(send_prepared);
    if (seen.st[0] != RSET_OK || seen.sent.done == 0)
        fail_msg("version %d is not sent: %s %s", version, seen.err[0].text, seen.sent.why.text);
}

static bool shared; /* ranks 0 and 1 look at one directory */

static int
node_of(int rank)
{
    return shared && rank == 1 ? 0 : rank;
}

/* As whoever opens an older one does before. */
static rset_status
make_ready(rset_dir *dir, rset_err *err)
{
    const char *names[] = {"meta.h5"};
    rset_local  local = {.dir = dir, .prefix = prefix, .nfiles = 1, .names = names, .paths = names};

    return rset_kept_make_ready(&local, rset_name_kept(opened), false, err);
}

static void
open_body(rset_comm *comm, void *arg)
{
    const int            r = comm->rank;
    const char          *names[] = {opened};
    char                 dir[4096], of[300], host[32];
    rset_local           local = {.prefix = of, .nfiles = 1, .names = names, .paths = names};
    rset_evidence        ev = {0};
    rset_replica_args    args = {.world = comm,
                                 .local = &local,
                                 .evidence = &ev,
                                 .host = host,
                                 .content = RSET_CONTENT_ALL,
                                 .tidy = true,
                                 .keep = rset_name_kept(opened) != 0 ? 0 : keep};
    rset_replica_outcome out;

    (void)arg;
    snprintf(dir, sizeof dir, "%s/node%d", base, node_of(r));
    snprintf(of, sizeof of, "%s.", opened);
    snprintf(host, sizeof host, "host%d", node_of(r));
    args.before = rset_dir_open(dir, false, &local.dir, &seen.err[r]);
    if (args.before == RSET_OK && args.keep == 0)
        args.before = make_ready(local.dir, &seen.err[r]);
    if (args.before == RSET_OK)
        args.before = rset_survey_local(&local, &ev, &seen.err[r]);
    seen.st[r] = rset_replica_open(&args, &out, &seen.err[r]);
    seen.gone[r] = out.gone;
    rset_evidence_free(&ev);
    rset_dir_close(local.dir);
}

/* All open it, and have that version then. */
static void
expect_all(const char *name, int version)
{
    char own[256];

    snprintf(own, sizeof own, "%s", name);
    opened = own;
    run(open_body);
    if (seen.st[0] != RSET_OK)
        fail_msg("%s: %s", own, seen.err[0].text);
    for (int r = 0; r < RANKS; r++)
        if (!is_version(node_of(r), own, version))
            fail_msg("%s on rank %d is not version %d", own, r, version);
}

/* Each rank proposes another generation for what was version 1. */
static void
restore_body(rset_comm *comm, void *arg)
{
    static const rset_stamp_text stamp = {.label = "as it was"};
    const int                    r = comm->rank;
    const char                  *name = "meta.h5", *older = opened;
    char                         dir[4096], of[300], host[32];
    rset_evidence                ev = {0};
    rset_local        local = {.prefix = prefix, .nfiles = 1, .names = &name, .paths = &name};
    rset_local        kept = {.prefix = of, .nfiles = 1, .names = &older, .paths = &older};
    rset_replica_args args = {
        .world = comm, .local = &local, .evidence = &ev, .host = host, .keep = keep};
    rset_replica_older back = {.kept = &kept,
                               .newest = generation_of(2),
                               .stamp = &stamp,
                               .generation = generation_of(3) + (uint64_t)r};

    (void)arg;
    snprintf(dir, sizeof dir, "%s/node%d", base, node_of(r));
    snprintf(of, sizeof of, "%s.", opened);
    snprintf(host, sizeof host, "host%d", node_of(r));
    args.before = rset_dir_open(dir, false, &local.dir, &seen.err[r]);
    kept.dir = local.dir;
    seen.st[r] = rset_replica_restore(&args, &back, &seen.err[r]);
    seen.generation[r] = back.generation;
    rset_dir_close(local.dir);
}

/* ---- the tests ---- */

static void
RP4_replicas_keep_what_they_replace(void **state)
{
    (void)state;
    begin(3);
    for (int v = 1; v <= 3; v++) {
        write_version(0, v, "", v == 3);
        send_version(v, 2);
    }
    for (int r = 0; r <= 2; r++)
        assert_true(is_version(r, "meta.h5", 3) && has_kept(r, 2) && has_kept(r, 1));
    assert_false(exists(path_on(3, "meta.h5")));
    lose(0); /* the writer's */
    expect_all(name_of(2), 2);
    lose(1);
    expect_all(name_of(1), 1);
    expect_all(name_of(0), 3);
    end();
}

static void
RP4_what_is_brought_at_an_open_replaces_in_the_same_way(void **state)
{
    (void)state;
    begin(2);
    write_version(0, 1, "", false);
    expect_all(name_of(0), 1);
    write_version(0, 2, "", false);
    expect_all(name_of(0), 2);
    for (int r = 0; r < RANKS; r++)
        assert_true(has_kept(r, 1));
    lose(0);
    expect_all(name_of(1), 1);
    write_version(1, 3, "", false);
    expect_all(name_of(0), 3);
    for (int r = 0; r < RANKS; r++)
        assert_true(has_kept(r, 2) == (r != 0) && has_kept(r, 1) == (r == 0)); /* what it had */
    end();
}

/* And nothing is kept without keep=, nor more than that. */
static void
RP4_what_is_beyond_keep_goes(void **state)
{
    (void)state;
    begin(2);
    for (int v = 1; v <= 4; v++) {
        write_version(0, v, "", false);
        send_version(v, 1);
    }
    for (int r = 0; r <= 1; r++)
        assert_true(has_kept(r, 3) && !has_kept(r, 2) && !has_kept(r, 1));
    keep = 1;
    write_version(0, 5, "", false);
    send_version(5, 1);
    for (int r = 0; r <= 1; r++)
        assert_false(has_kept(r, 4) || has_kept(r, 3));
    end();
}

/* What is damaged, and comes again as it was, is no older generation; and what led back from it does so still. */
static void
RP4_the_same_generation_again_replaces_none(void **state)
{
    static const char leads_back[] = "meta.h5.redset.0000010000000001.kept.0.single.grp_1_of_1."
                                     "mem_1_of_1.redset.redo";

    (void)state;
    begin(2);
    write_version(0, 1, "", false);
    write_version(0, 2, "", true);
    send_version(2, 1);
    flip_bit(path_on(0, "meta.h5"), 500000);
    expect_all(name_of(0), 2);
    assert_false(has_kept(0, 2));
    assert_true(has_kept(0, 1) && !exists(path_on(0, name_of(1))));
    assert_true(exists(path_on(0, leads_back))); /* of its redundancy, too */
    expect_all(name_of(1), 1);
    end();
}

/* Whoever keeps an older one knows that there was a newer one (RP1). */
static void
RP1_no_older_one_where_a_newer_one_is_kept(void **state)
{
    (void)state;
    begin(2);
    write_version(0, 1, "", false);
    send_version(1, 1);
    write_version(0, 2, "", false);
    write_version(0, 3, "", false);
    expect_all(name_of(2), 2);
    lose(0);
    opened = "meta.h5";
    run(open_body);
    assert_int_equal(seen.st[0], RSET_LOST);
    assert_non_null(strstr(seen.err[0].text, "is lost or damaged, and no rank has a replica"));
    assert_true(is_version(1, "meta.h5", 1) && has_kept(1, 2) && has_kept(3, 2));
    write_version(0, 1, "", false); /* by a clock that goes wrong */
    send_version(1, 2);
    assert_false(exists(path_on(2, "meta.h5"))); /* it keeps what it has */
    write_version(0, 4, "", false);
    expect_all(name_of(0), 4);
    end();
}

static void
drop_body(rset_comm *comm, void *arg)
{
    const int      r = comm->rank;
    const char    *name = "meta.h5";
    char           dir[4096];
    rset_evidence  ev = {0};
    rset_local     local = {.prefix = prefix, .nfiles = 1, .names = &name, .paths = &name};
    rset_drop_args args = {.world = comm,
                           .local = &local,
                           .evidence = &ev,
                           .generation = generation_of(1),
                           .host = "host"};

    (void)arg;
    snprintf(dir, sizeof dir, "%s/node%d", base, r);
    args.before = rset_dir_open(dir, false, &local.dir, &seen.err[r]);
    if (args.before == RSET_OK)
        args.before = rset_survey_local(&local, &ev, &seen.err[r]);
    seen.st[r] = rset_generation_drop(&args, &seen.err[r]);
    rset_evidence_free(&ev);
    rset_dir_close(local.dir);
}

static void
dropped_on_all_ranks(void **state)
{
    (void)state;
    begin(3);
    for (int v = 1; v <= 3; v++) {
        write_version(0, v, "", v == 3);
        send_version(v, 2);
    }
    run(drop_body);
    assert_int_equal(seen.st[0], RSET_OK);
    for (int r = 0; r <= 2; r++)
        assert_true(is_version(r, "meta.h5", 3) && has_kept(r, 2) && !has_kept(r, 1));
    run(drop_body);
    assert_int_equal(seen.st[0], RSET_USAGE);
    expect_all(name_of(2), 2);
    end();
}

/* Version 2 is damaged on all that have it, and version 1 is whole on all. */
static void
lose_the_newest(void)
{
    begin(3);
    for (int v = 1; v <= 2; v++) {
        write_version(0, v, "", false);
        send_version(v, 2);
    }
    for (int r = 0; r <= 2; r++)
        flip_bit(path_on(r, "meta.h5"), 500000);
    opened = "meta.h5";
    run(open_body);
    for (int r = 0; r < RANKS; r++)
        assert_true(seen.st[r] == RSET_LOST && seen.gone[r]);
    expect_all(name_of(1), 1);
}

static bool
is_put_aside(int node)
{
    return exists(path_on(node, "meta.h5.redset.0000020000000001.newer"));
}

static void
restored_on_all_ranks(void **state)
{
    char older[256];

    (void)state;
    for (int i = 0; i < 2; i++) {
        lose_the_newest();
        shared = i == 1;
        snprintf(older, sizeof older, "%s", name_of(1));
        opened = older;
        run(restore_body);
        assert_int_equal(seen.st[0], RSET_OK);
        for (int r = 0; r < RANKS; r++)
            assert_int_equal(seen.generation[r], generation_of(3) + RANKS - 1);
        for (int r = 0; r < RANKS; r++)
            if (node_of(r) == r)
                assert_true(is_version(r, "meta.h5", 1) && is_put_aside(r) == (r < 3) &&
                            !has_kept(r, 1));
        expect_all(name_of(0), 1);
        shared = false;
        end();
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
    snprintf(older, sizeof older, "%s", name_of(1));
    opened = older;
    assert_int_equal(rset_local_run(1, 60, restore_body, NULL, &err), RSET_OK);
    assert_int_equal(seen.st[0], RSET_OK);
    assert_false(is_version(1, "meta.h5", 1));
    expect_all(name_of(0), 1);
    end();
}

/* When and as what its writer has protected it: by that an older one is found. */
static void
RP3_a_replica_is_called_what_its_writer_calls_it(void **state)
{
    rset_dir     *dir = NULL;
    rset_evidence ev = {0};
    rset_err      err = RSET_ERR_NONE;

    (void)state;
    begin(1);
    write_version(0, 1, "step 7", false);
    send_version(1, 1);
    assert_int_equal(rset_dir_open(path_of("%s/node1", base), false, &dir, &err), RSET_OK);
    assert_int_equal(rset_survey(dir, prefix, "meta.h5", &ev, &err), RSET_OK);
    assert_true(ev.has_header && ev.header.infos[0].stamp.label != NULL);
    assert_string_equal(ev.header.infos[0].stamp.label, "step 7");
    assert_int_equal(ev.header.infos[0].stamp.time, 1001);
    rset_evidence_free(&ev);
    rset_dir_close(dir);
    end();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(RP4_replicas_keep_what_they_replace),
        cmocka_unit_test(RP4_what_is_brought_at_an_open_replaces_in_the_same_way),
        cmocka_unit_test(RP4_what_is_beyond_keep_goes),
        cmocka_unit_test(RP4_the_same_generation_again_replaces_none),
        cmocka_unit_test(RP1_no_older_one_where_a_newer_one_is_kept),
        cmocka_unit_test(dropped_on_all_ranks),
        cmocka_unit_test(restored_on_all_ranks),
        cmocka_unit_test(restored_on_one_rank_is_brought_to_the_others),
        cmocka_unit_test(RP3_a_replica_is_called_what_its_writer_calls_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
