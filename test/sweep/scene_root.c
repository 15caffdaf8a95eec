/* scene_root.c: files of one rank are written and copied. See scene_root.h. */
#include "scene_root.h"

#include "change.h"
#include "comm/comm_alone.h"
#include "mapped.h"
#include "replicas/replicas.h"
#include "scene_past.h"
#include "tap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COPIES = 2 }; /* one that is passed on, and one rank without */

static const char name[] = "ckpt.h5", prefix[] = "ckpt.h5.", host[] = "host";

static job  writer;      /* of one rank, which is alone */
static char place[2048]; /* where the file lies, as each rank sees it */

/* ---- how they begin ---- */

static char *
copy_of(const char *text)
{
    char *copy = strdup(text);

    assert_non_null(copy);
    return copy;
}

/* The writer is the rank of this node. */
static void
writer_on(const scene *s, int node)
{
    job_rank *k = &writer.ranks[0];

    free(k->dir);
    k->dir = copy_of(s->job.ranks[node].dir);
}

static bool
begin(scene *s)
{
    if (s->kind->scheme != &rset_scheme_partner)
        return false;
    scene_one_name(s);
    change_little(false);
    job_free(&writer);
    job_init(&writer, s->base, 1, &rset_scheme_single, 0, 1);
    free(writer.ranks[0].names[0]);
    free(writer.ranks[0].prefix);
    writer.ranks[0].names[0] = copy_of(name);
    writer.ranks[0].prefix = copy_of(prefix);
    writer.ranks[0].attrs = &s->attrs[0];
    s->attrs[0] = (rset_attrs){.mode = 0100000 | image_mode_of(job_data(&s->job, 0)),
                               .mtime_secs = 1000000000,
                               .size = s->size->bytes[0]};
    snprintf(place, sizeof place, "%s/storage", s->base);
    s->reopen = scene_root_open;
    return true;
}

static void
protect_on(const scene *s, int node, int version)
{
    writer_on(s, node);
    writer.ranks[0].desc.generation = (uint64_t)version << 40 | 1;
    job_run(&writer, job_body_protect);
    if (writer.ranks[0].st != RSET_OK)
        fail_msg("%s", writer.ranks[0].err.text);
    rset_evidence_free(&writer.ranks[0].evidence);
}

/* Versions are generations. */
static void
put(const scene *s, int node, int version)
{
    uint8_t *data = malloc(s->size->bytes[0]);

    assert_non_null(data);
    fill_random(data, s->size->bytes[0], (uint64_t)(7000 + version));
    write_file(path_of("%s/%s", s->job.ranks[node].dir, name), data, s->size->bytes[0]);
    free(data);
    protect_on(s, node, version);
}

/* All ranks shall have that. */
static contents
same_for_all(const uint8_t *data, size_t size)
{
    contents c = {0};

    for (int r = 0; r < SCENE_RANKS; r++) {
        c.size[r] = size;
        c.data[r] = malloc(size);
        assert_non_null(c.data[r]);
        memcpy(c.data[r], data, size);
    }
    return c;
}

static contents
as_on(const scene *s, int node)
{
    size_t   size;
    uint8_t *data = read_file(job_data(&s->job, node), &size);
    contents c = same_for_all(data, size);

    free(data);
    return c;
}

/* `data` is borrowed no longer than this takes. */
static void
will_write(scene         *s, rset_status (*change)(job *j, int rank, rset_local *local),
           const uint8_t *data, size_t size)
{
    s->new = same_for_all(data, size);
    s->attrs[0].size = size;
    change_from(0, s->old.size[0], s->new.data[0], size);
    writer_on(s, 0);
    writer.change = change;
    writer.settle = change_settle;
    s->job.change = change;
}

/* All nodes have the first version. */
static bool
written(scene *s, int keep)
{
    if (!begin(s))
        return false;
    s->job.keep = writer.keep = keep;
    for (int r = 0; r < SCENE_RANKS; r++)
        put(s, r, 1);
    s->old = as_on(s, 0);
    return true;
}

/* The writer is going to change what there is. */
static void
will_change(scene *s, bool rewrite)
{
    size_t   size;
    uint8_t *data = rewrite ? change_rewritten(0, s->old.size[0], &size)
                            : change_updated(0, s->old.data[0], s->old.size[0], &size);

    will_write(s, rewrite ? change_rewrite : change_update, data, size);
    free(data);
}

static bool
about_to_write(scene *s, bool rewrite)
{
    if (!written(s, 0))
        return false;
    will_change(s, rewrite);
    return true;
}

bool
scene_root_about_to_rewrite(scene *s)
{
    return about_to_write(s, true);
}

bool
scene_root_about_to_update(scene *s)
{
    return about_to_write(s, false);
}

bool
scene_root_about_to_write_anew(scene *s)
{
    const bool there = about_to_write(s, true);

    if (there)
        scene_lose_node(s, 0);
    return there;
}

/* A commit of its writer, and its replicas; what was protected before is an older generation from now on. */
static void
commit_kept(scene *s)
{
    size_t   size;
    uint8_t *data = change_rewritten(0, s->old.size[0], &size);

    s->attrs[0].size = size;
    writer.settle = change_settle;
    for (int r = 0; r < SCENE_RANKS; r++) {
        change_from(0, s->old.size[0], data, size);
        writer.change = change_rewrite;
        protect_on(s, r, 2);
    }
    free(data);
    s->older[s->nolder++] = s->old;
    s->old = as_on(s, 0);
}

static bool
written_and_kept(scene *s)
{
    if (!written(s, SCENE_OLDER + 1))
        return false;
    commit_kept(s);
    return true;
}

static bool
about_to_write_kept(scene *s, bool rewrite)
{
    if (!written_and_kept(s))
        return false;
    writer.update = true;
    change_little(!rewrite);
    will_change(s, rewrite);
    return true;
}

bool
scene_root_about_to_rewrite_kept(scene *s)
{
    return about_to_write_kept(s, true);
}

bool
scene_root_about_to_update_kept(scene *s)
{
    return about_to_write_kept(s, false);
}

/* Version 2 is damaged everywhere. */
bool
scene_root_about_to_fall_back(scene *s)
{
    if (!written_and_kept(s))
        return false;
    s->new = s->older[0];
    s->older[0] = (contents){0};
    s->nolder = 0;
    for (int r = 0; r < SCENE_RANKS; r++)
        flip_bit(job_data(&s->job, r), 4321);
    s->reopen = scene_root_fall_back;
    return true;
}

bool
scene_root_about_to_write_first(scene *s)
{
    size_t   size;
    uint8_t *data;

    if (!begin(s))
        return false;
    data = change_rewritten(0, s->size->bytes[0], &size);
    will_write(s, change_rewrite, data, size);
    free(data);
    return true;
}

bool
scene_root_newest_on_two(scene *s)
{
    if (!begin(s))
        return false;
    put(s, 0, 1);
    put(s, 1, 2);
    put(s, 2, 2);
    s->new = as_on(s, 1);
    return true;
}

bool
scene_root_newest_on_one(scene *s)
{
    if (!begin(s))
        return false;
    put(s, 0, 1);
    put(s, 1, 2);
    put(s, 3, 2);
    s->new = as_on(s, 1);
    flip_bit(job_data(&s->job, 3), 4321);
    return true;
}

/* ---- what they do ---- */

static void
write_alone(const rset_comm *world, job_rank *k)
{
    rset_comm alone;

    rset_comm_alone(&alone, world->timeout);
    job_body_protect(&alone, &writer);
    rset_comm_free(&alone);
    k->st = writer.ranks[0].st;
    k->err = writer.ranks[0].err;
}

/* What this rank has protected, or nothing, and what others have. *k: what came of it here. */
static void
send(rset_comm *world, job_rank *k)
{
    rset_replica  mine = {.copies = COPIES, .keep = writer.keep, .why = RSET_ERR_NONE};
    rset_replicas args = {.set = world, .host = host, .mine = &mine, .may = mapped_may};
    rset_err      why = RSET_ERR_NONE;
    rset_status   st;

    args.n = world->rank == 0 && k->st == RSET_OK;
    mine.generation = writer.ranks[0].desc.generation;
    snprintf(mine.path, sizeof mine.path, "%s/%s", place, name);
    st = rset_replicas_send(&args, &why);
    if (st == RSET_OK && args.n > 0 && mine.done == 0) {
        why = mine.why;
        st = why.status;
    }
    if (k->st == RSET_OK && st != RSET_OK) {
        k->st = st;
        k->err = why;
    }
}

static void
close_body(rset_comm *world, void *arg)
{
    job      *j = arg;
    job_rank *k = &j->ranks[world->rank];

    tap_transport(world);
    k->st = RSET_OK;
    k->err = RSET_ERR_NONE;
    if (j->before != NULL)
        j->before(world->rank, j->arg);
    mapped_to(k->dir);
    if (world->rank == 0)
        write_alone(world, k);
    send(world, k);
    k->st = rset_agree(world, k->st, host, &k->err);
    k->out = (rset_outcome){.protected_ = k->st == RSET_OK};
    mapped_to(NULL);
    if (j->after != NULL)
        j->after(world->rank, j->arg);
}

void
scene_root_close(job *j)
{
    mapped_use(tap_calls(), place);
    job_next_generation(j);
    writer.ranks[0].desc.generation = j->ranks[0].desc.generation;
    job_run(j, close_body);
    rset_evidence_free(&writer.ranks[0].evidence);
    rset_sys_use(tap_calls());
}
