/* replicas_world.c: see replicas_world.h. */
#include "replicas_world.h"

#include "commit/kept.h"
#include "image.h"
#include "job.h"
#include "mapped.h"
#include "names/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { RANKS = REPLICAS_RANKS, SIZE = 700001, VERSIONS = 6, STEP = 1000 };

static char    storage[2048]; /* as all ranks call what is theirs */
static uint8_t content[VERSIONS][SIZE];

replicas_world replicas;

/* ---- files ---- */

const char replicas_prefix[] = "meta.h5.";

uint64_t
replicas_generation(int version)
{
    return (uint64_t)version << 40 | 1;
}

const char *
replicas_name(int version)
{
    static _Thread_local char name[256];
    char *kept = rset_name_of(RSET_NAME_DATA, replicas_prefix, replicas_generation(version));

    assert_non_null(kept);
    snprintf(name, sizeof name, "%s", version == 0 ? "meta.h5" : kept);
    free(kept);
    return name;
}

const char *
replicas_path(int node, const char *name)
{
    return path_of("%s/node%d/%s", replicas.base, node, name);
}

bool
replicas_is_version(int node, const char *name, int version)
{
    size_t   size = 0;
    uint8_t *data =
        exists(replicas_path(node, name)) ? read_file(replicas_path(node, name), &size) : NULL;
    bool same = data != NULL && size == SIZE && memcmp(data, content[version], SIZE) == 0;

    free(data);
    return same;
}

bool
replicas_keeps(int node, int version)
{
    char *back = rset_name_of(RSET_NAME_UNDO, replicas_prefix, replicas_generation(version));
    bool  is;

    assert_non_null(back);
    is = exists(replicas_path(node, replicas_name(version))) || exists(replicas_path(node, back));
    free(back);
    return is;
}

void
replicas_begin(int generations)
{
    replicas.keep = generations;
    replicas.base = scratch_make();
    snprintf(storage, sizeof storage, "%s/storage", replicas.base);
    fill_random(content[0], SIZE, 1);
    for (int v = 1; v < VERSIONS; v++) {
        memcpy(content[v], content[0], SIZE);
        content[v][v * STEP] ^= 1;
    }
    for (int r = 0; r < RANKS; r++)
        mkdir(path_of("%s/node%d", replicas.base, r), 0777);
    mapped_use(&rset_sys_posix, storage);
}

void
replicas_end(void)
{
    rset_sys_use(NULL);
    remove_tree(replicas.base);
    free(replicas.base);
}

void
replicas_lose(int node)
{
    remove_tree(path_of("%s/node%d", replicas.base, node));
    mkdir(path_of("%s/node%d", replicas.base, node), 0777);
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
    rset_status   st = rset_change_begin(local, &j->ranks[rank].evidence, true, &journal, &err);

    if (st == RSET_OK)
        st = rset_journal_save(journal, 0, (VERSIONS + 1) * STEP, &err);
    if (st == RSET_OK)
        write_file(path_of("%s/meta.h5", j->ranks[0].dir), j->arg, SIZE);
    rset_journal_leave(journal);
    return st;
}

void
replicas_write(int node, int version, const char *label, bool in_place)
{
    rset_stamp_text stamp = {.time = (uint64_t)(1000 + version)};
    job             j;
    job_rank       *k = &j.ranks[0];

    job_init(&j, replicas.base, 1, &rset_scheme_single, 0, 1);
    free(k->dir);
    free(k->names[0]);
    free(k->prefix);
    k->dir = strdup(path_of("%s/node%d", replicas.base, node));
    k->names[0] = strdup("meta.h5");
    k->prefix = strdup(replicas_prefix);
    k->shadow = in_place ? NULL : strdup("new");
    k->desc.generation = replicas_generation(version);
    snprintf(stamp.label, sizeof stamp.label, "%s", label);
    k->stamp = &stamp;
    j.keep = replicas.keep;
    j.update = in_place;
    j.arg = content[version];
    j.change = in_place ? write_in_place : write_beside;
    job_run(&j, job_body_protect);
    if (k->st != RSET_OK)
        fail_msg("version %d: %s", version, k->err.text);
    job_free(&j);
}

/* ---- what all ranks do ---- */

void
replicas_run(void (*body)(rset_comm *comm, void *arg))
{
    rset_err err = RSET_ERR_NONE;

    memset(&replicas.seen, 0, sizeof replicas.seen);
    for (int r = 0; r < RANKS; r++)
        replicas.seen.err[r] = (rset_err)RSET_ERR_NONE;
    assert_int_equal(rset_local_run(RANKS, 60, body, NULL, &err), RSET_OK);
    for (int r = 1; r < RANKS; r++)
        if (replicas.seen.st[r] != replicas.seen.st[0])
            fail_msg("rank 0: %d %s; rank %d: %d %s", replicas.seen.st[0],
                     replicas.seen.err[0].text, r, replicas.seen.st[r], replicas.seen.err[r].text);
}

static void
send_body(rset_comm *comm, void *arg)
{
    const int     r = comm->rank;
    char          dir[4096];
    rset_replicas args = {
        .set = comm, .host = "host", .mine = &replicas.seen.sent, .may = mapped_may};

    (void)arg;
    snprintf(dir, sizeof dir, "%s/node%d", replicas.base, r);
    mapped_to(dir);
    args.n = r == 0;
    replicas.seen.st[r] = rset_replicas_send(&args, &replicas.seen.err[r]);
    mapped_to(NULL);
}

/* What node 0 has written, and how many others shall have it. */
static uint64_t sent_generation;
static int      sent_copies;

static void
send_prepared(rset_comm *comm, void *arg)
{
    if (comm->rank == 0) {
        replicas.seen.sent = (rset_replica){.generation = sent_generation,
                                            .copies = sent_copies,
                                            .keep = replicas.keep,
                                            .why = RSET_ERR_NONE};
        snprintf(replicas.seen.sent.path, sizeof replicas.seen.sent.path, "%s/meta.h5", storage);
    }
    send_body(comm, arg);
}

void
replicas_send_to(int version, int to)
{
    sent_generation = replicas_generation(version);
    sent_copies = to;
    replicas_run(send_prepared);
    if (replicas.seen.st[0] != RSET_OK || replicas.seen.sent.done == 0)
        fail_msg("version %d is not sent: %s %s", version, replicas.seen.err[0].text,
                 replicas.seen.sent.why.text);
}

int
replicas_node(int rank)
{
    return replicas.shared && rank == 1 ? 0 : rank;
}

/* As whoever opens an older one does before. */
static rset_status
make_ready(rset_dir *dir, rset_err *err)
{
    const char *names[] = {"meta.h5"};
    rset_local  local = {
         .dir = dir, .prefix = replicas_prefix, .nfiles = 1, .names = names, .paths = names};

    return rset_kept_make_ready(&local, rset_name_kept(replicas.opened), false, err);
}

static void
open_body(rset_comm *comm, void *arg)
{
    const int            r = comm->rank;
    const char          *names[] = {replicas.opened};
    char                 dir[4096], of[300], host[32];
    rset_local           local = {.prefix = of, .nfiles = 1, .names = names, .paths = names};
    rset_evidence        ev = {0};
    rset_replica_args    args = {.world = comm,
                                 .local = &local,
                                 .evidence = &ev,
                                 .host = host,
                                 .content = RSET_CONTENT_ALL,
                                 .tidy = true,
                                 .keep = rset_name_kept(replicas.opened) != 0 ? 0 : replicas.keep};
    rset_replica_outcome out;

    (void)arg;
    snprintf(dir, sizeof dir, "%s/node%d", replicas.base, replicas_node(r));
    snprintf(of, sizeof of, "%s.", replicas.opened);
    snprintf(host, sizeof host, "host%d", replicas_node(r));
    args.before = rset_dir_open(dir, false, &local.dir, &replicas.seen.err[r]);
    if (args.before == RSET_OK && args.keep == 0)
        args.before = make_ready(local.dir, &replicas.seen.err[r]);
    if (args.before == RSET_OK)
        args.before = rset_survey_local(&local, &ev, &replicas.seen.err[r]);
    replicas.seen.st[r] = rset_replica_open(&args, &out, &replicas.seen.err[r]);
    replicas.seen.gone[r] = out.gone;
    rset_evidence_free(&ev);
    rset_dir_close(local.dir);
}

void
replicas_open(const char *name)
{
    replicas.opened = name;
    replicas_run(open_body);
}

void
replicas_expect_all(const char *name, int version)
{
    char own[256];

    snprintf(own, sizeof own, "%s", name);
    replicas_open(own);
    if (replicas.seen.st[0] != RSET_OK)
        fail_msg("%s: %s", own, replicas.seen.err[0].text);
    for (int r = 0; r < RANKS; r++)
        if (!replicas_is_version(replicas_node(r), own, version))
            fail_msg("%s on rank %d is not version %d", own, r, version);
}
