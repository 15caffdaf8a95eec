/* job.c: see job.h. */
#include "job.h"

#include "comm/comm_local.h"
#include "layout/group.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { WHY = 1024 };

/* ---- making ---- */

static void
place_ranks(job *j, const rset_scheme *scheme, int min_size)
{
    rset_place places[JOB_RANKS];
    uint64_t   groups[JOB_RANKS];
    rset_err   err = RSET_ERR_NONE;
    int        sets = 0;

    for (int r = 0; r < j->n; r++)
        groups[r] = (uint64_t)r;
    if (scheme == &rset_scheme_single)
        rset_group_single(j->n, places, &sets);
    else
        assert_int_equal(rset_group_form(&(rset_ranks){j->n, groups, NULL},
                                         &(rset_set_size){min_size, 1}, places, &sets, &err),
                         RSET_OK);
    for (int r = 0; r < j->n; r++) {
        rset_desc *d = &j->ranks[r].desc;

        d->set = places[r].set;
        d->sets = sets;
        d->member = places[r].member;
        d->members = places[r].members;
        d->rank = r;
        d->ranks = j->n;
        j->ranks[r].members = calloc((size_t)d->members, sizeof(int));
        for (int p = 0; p < j->n; p++)
            if (places[p].set == d->set)
                j->ranks[r].members[places[p].member] = p;
    }
}

void
job_init(job *j, const char *base, int n, const rset_scheme *scheme, int parity, int min_size)
{
    *j = (job){.n = n, .extra = true, .content = RSET_CONTENT_ALL, .timeout = 60};
    place_ranks(j, scheme, min_size);
    for (int r = 0; r < n; r++) {
        job_rank *k = &j->ranks[r];

        k->desc.scheme = scheme;
        k->desc.parity = parity;
        k->nfiles = 1;
        assert_true(asprintf(&k->dir, "%s/node%d", base, r) > 0);
        assert_true(asprintf(&k->names[0], "ckpt_%d.h5", r) > 0);
        assert_true(asprintf(&k->prefix, "ckpt_%d.h5.", r) > 0);
        mkdir(k->dir, 0777);
    }
}

void
job_free(job *j)
{
    for (int r = 0; r < j->n; r++) {
        job_rank *k = &j->ranks[r];

        free(k->dir);
        free(k->prefix);
        free(k->other_name);
        free(k->other_prefix);
        free(k->members);
        free(k->shadow);
        for (int i = 0; i < k->nfiles; i++)
            free(k->names[i]);
        rset_evidence_free(&k->evidence);
    }
    *j = (job){0};
}

/* ---- running ---- */

static rset_local
local_of(const job_rank *k, rset_dir *dir)
{
    return (rset_local){.dir = dir,
                        .prefix = k->prefix,
                        .nfiles = k->nfiles,
                        .names = (const char *const *)k->names,
                        .paths = k->path != NULL ? &k->path : (const char *const *)k->names,
                        .attrs = k->attrs};
}

static const char *
host_of(const job_rank *k)
{
    return k->host != NULL ? k->host : "host";
}

static rset_status
look_first(job_rank *k, rset_dir **dir_out)
{
    rset_status st = rset_dir_open(k->dir, true, dir_out, &k->err);

    rset_evidence_free(&k->evidence);
    if (st == RSET_OK)
        st = rset_survey(*dir_out, k->prefix, k->nfiles > 0 ? k->names[0] : "none", &k->evidence,
                         &k->err);
    return st;
}

static rset_status
finish_older(const job *j, rset_comm *world, job_rank *k, const rset_local *local,
             rset_status before)
{
    const rset_recover_args args = {.world = world,
                                    .local = local,
                                    .evidence = &k->evidence,
                                    .content = j->content,
                                    .host = host_of(k),
                                    .before = before};

    return rset_finish_commit(&args, &k->err);
}

/* The files of one job in a protect. */
typedef struct part {
    job       *j;
    job_rank  *k;
    rset_dir  *dir;
    rset_comm  set;
    rset_local local;
} part;

/* Up to what the engine does. */
static rset_protect_args
begin_part(part *p, job *j, rset_comm *world)
{
    job_rank         *k = &j->ranks[world->rank];
    rset_protect_args args = {.world = world,
                              .set = &p->set,
                              .ranks = k->members,
                              .local = &p->local,
                              .shadow = &k->shadow,
                              .desc = k->desc,
                              .extra = j->extra,
                              .keep = j->keep,
                              .aside = j->aside,
                              .unkept = &k->unkept,
                              .host = host_of(k),
                              .stamp = k->stamp};

    *p = (part){.j = j, .k = k};
    k->err = k->unkept = RSET_ERR_NONE;
    args.before = look_first(k, &p->dir);
    p->local = local_of(k, p->dir);
    p->local.shadow = k->shadow;
    args.evidence = j->update ? &k->evidence : NULL;
    args.verified = !j->unverified;
    k->opened = args.before == RSET_OK;
    if (args.before == RSET_OK && j->change != NULL)
        args.before = j->change(j, world->rank, &p->local);
    if (j->finish)
        args.before = finish_older(j, world, k, &p->local, args.before);
    if (args.before == RSET_OK)
        args.before = rset_comm_subset(world, k->members, k->desc.members, &p->set, &k->err);
    return args;
}

static void
end_part(part *p, int rank, rset_status st, const rset_err *err)
{
    job_rank *k = p->k;

    k->st = st;
    k->err = st != RSET_OK ? *err : k->err;
    p->local.shadow = k->shadow;
    rset_comm_free(&p->set);
    k->out = (rset_outcome){.protected_ = k->st == RSET_OK};
    snprintf(k->out.note, sizeof k->out.note, "%s", k->unkept.text);
    if (p->dir != NULL && p->j->settle != NULL)
        p->j->settle(p->j, rank, &p->local, k->st);
    rset_dir_close(p->dir);
}

void
job_body_protect(rset_comm *world, void *arg)
{
    job              *j = arg;
    job              *of[] = {j, j->with};
    const int         n = j->with != NULL ? 2 : 1;
    part              parts[2];
    rset_protect_args args[2];
    rset_err          err = RSET_ERR_NONE;
    rset_status       st;

    if (j->before != NULL)
        j->before(world->rank, j->arg);
    for (int i = 0; i < n; i++) {
        args[i] = begin_part(&parts[i], of[i], world);
        err = args[i].before != RSET_OK && err.status == RSET_OK ? parts[i].k->err : err;
    }
    if (err.status != RSET_OK) /* not together with the set when one has failed before */
        args[0].before = err.status;
    st = rset_protect_together(args, n, &err);
    parts[0].k->messages = world->sent_messages;
    for (int i = 0; i < n; i++)
        end_part(&parts[i], world->rank, st, &err);
    if (j->after != NULL)
        j->after(world->rank, j->arg);
}

typedef struct user {
    job     *j;
    int      rank;
    uint64_t used; /* by so many */
} user;

static rset_status
begin_use(void *arg, const rset_outcome *out, rset_err *err)
{
    user *u = arg;

    (void)out;
    u->used = 1;
    return u->j->use(u->j, u->rank, err);
}

static void
add_used(void *into, const void *other)
{
    *(uint64_t *)into += *(const uint64_t *)other;
}

void
job_recover_rank(rset_comm *world, job *j)
{
    job_rank              *k = &j->ranks[world->rank];
    user                   one = {j, world->rank, 0};
    const rset_recover_use use = {begin_use, &one, {&one.used, sizeof one.used, add_used}};
    rset_dir              *dir = NULL;
    rset_local             local;
    rset_recover_args      args = {.world = world,
                                   .local = &local,
                                   .evidence = &k->evidence,
                                   .content = (j->by_size >> world->rank & 1) == 0 ? j->content
                                                                                   : RSET_CONTENT_NONE,
                                   .own_run = j->own_run,
                                   .keep_changed = j->keep_changed,
                                   .undelete = j->undelete,
                                   .reads = j->reads,
                                   .readonly = j->readonly,
                                   .stays = j->stays,
                                   .copies = j->copies,
                                   .search = j->search,
                                   .tidy = !j->leave_orphans,
                                   .required = j->required,
                                   .watch = j->watch,
                                   .use = j->use != NULL ? &use : NULL,
                                   .host = host_of(k)};

    k->err = RSET_ERR_NONE;
    args.before = look_first(k, &dir);
    local = local_of(k, dir);
    k->any = k->evidence.any;
    k->asks = args.before != RSET_OK || rset_evidence_asks(&k->evidence) ||
              (k->nfiles > 0 && !rset_dir_has_file(dir, k->names[0]));
    k->st = rset_recover(&args, &k->out, &k->err);
    k->used = k->out.in_use ? one.used : 0;
    k->sent = world->sent_bytes;
    k->messages = world->sent_messages;
    rset_dir_close(dir);
}

void
job_body_recover(rset_comm *world, void *arg)
{
    job *j = arg;

    if (j->before != NULL)
        j->before(world->rank, j->arg);
    job_recover_rank(world, j);
    if (j->after != NULL)
        j->after(world->rank, j->arg);
}

void
job_body_void(rset_comm *world, void *arg)
{
    job      *j = arg;
    job_rank *k = &j->ranks[world->rank];
    rset_dir *dir = NULL;

    k->err = RSET_ERR_NONE;
    if (j->before != NULL)
        j->before(world->rank, j->arg);
    k->st = look_first(k, &dir);
    if (k->st == RSET_OK)
        k->st = rset_set_void(dir, &k->evidence, true, &k->err);
    k->out = (rset_outcome){0};
    rset_dir_close(dir);
    if (j->after != NULL)
        j->after(world->rank, j->arg);
}

void
job_run(job *j, void (*body)(rset_comm *comm, void *arg))
{
    rset_err err = RSET_ERR_NONE;

    if (rset_local_run(j->n, j->timeout, body, j, &err) != RSET_OK)
        fail_msg("%s", err.text);
}

static rset_status
run(job *j, void (*body)(rset_comm *comm, void *arg), char *why)
{
    why[0] = '\0';
    job_run(j, body);
    for (int r = 1; r < j->n && why[0] == '\0'; r++)
        if (j->ranks[r].st != j->ranks[0].st)
            snprintf(why, WHY, "P4: rank 0 came to %s (%.400s), rank %d to %s (%.400s)",
                     rset_status_name(j->ranks[0].st), j->ranks[0].err.text, r,
                     rset_status_name(j->ranks[r].st), j->ranks[r].err.text);
    return j->ranks[0].st;
}

/* The newest generation that a rank's disk shows any sign of. */
static uint64_t
last_generation(job_rank *k)
{
    rset_dir *dir = NULL;
    uint64_t  last = look_first(k, &dir) == RSET_OK ? rset_evidence_newest(&k->evidence) : 0;

    rset_dir_close(dir);
    return last;
}

void
job_next_generation(job *j)
{
    static uint64_t nonce = 12345;
    uint64_t        last = 0;

    for (job *one = j; one != NULL; one = one->with)
        for (int r = 0; r < j->n; r++) {
            uint64_t seen = last_generation(&one->ranks[r]);

            last = rset_generation_newer(seen, last) ? seen : last;
        }
    nonce = (nonce + j->salt) * UINT64_C(6364136223846793005) + 1442695040888963407;
    for (job *one = j; one != NULL; one = one->with)
        for (int r = 0; r < j->n; r++)
            one->ranks[r].desc.generation = j->extra ? rset_generation_next(last, nonce >> 20) : 0;
}

/* N1. What is there beside a file is found by its names file, without a listing: the first that is not; "": all. */
static void
find_unlisted(const job_rank *k, char *why)
{
    rset_dir  *dir = NULL;
    rset_names all = {0}, found = {0};
    size_t     n = 0;

    if (rset_dir_open(k->dir, false, &dir, NULL) != RSET_OK)
        return;
    if (rset_names_find_all(dir, k->prefix, NULL, &found, NULL) == RSET_OK &&
        rset_names_list(dir, k->prefix, &all, NULL) == RSET_OK)
        for (size_t i = 0; i < all.n && why[0] == '\0'; i++) {
            while (n < found.n && strcmp(found.at[n], all.at[i]) < 0)
                n++;
            if (n == found.n || strcmp(found.at[n], all.at[i]) != 0)
                snprintf(why, WHY, "N1: %s/%s is there, and the names file does not list it",
                         k->dir, all.at[i]);
        }
    rset_names_free(&found);
    rset_names_free(&all);
    rset_dir_close(dir);
}

rset_status
job_protect(job *j)
{
    char        why[WHY];
    rset_status st;

    job_next_generation(j);
    st = run(j, job_body_protect, why);
    for (int r = 0; st == RSET_OK && !j->counted && r < j->n && why[0] == '\0'; r++)
        find_unlisted(&j->ranks[r], why);
    if (why[0] != '\0')
        fail_msg("%s", why);
    return st;
}

rset_status
job_recover_watched(job *j, char *why)
{
    rset_status st = run(j, job_body_recover, why);

    for (int r = 0; r < j->n && why[0] == '\0'; r++) {
        const job_rank *k = &j->ranks[r];

        if (st == RSET_OK && (k->out.protected_ != j->ranks[0].out.protected_ ||
                              k->out.reprotect != j->ranks[0].out.reprotect))
            snprintf(why, WHY, "P4: ranks 0 and %d do not agree on whether the files are protected",
                     r);
        if (st != RSET_OK && (k->err.text[0] == '\0' || k->err.status != st))
            snprintf(why, WHY, "P6: rank %d says %s without a message", r, rset_status_name(st));
    }
    return st;
}

rset_status
job_recover(job *j)
{
    char        why[WHY];
    rset_status st = job_recover_watched(j, why);

    if (why[0] != '\0')
        fail_msg("%s", why);
    return st;
}

rset_status
job_recover_serial(job *j, int rank)
{
    job_rank   *k = &j->ranks[rank];
    const char *search[JOB_RANKS + 1] = {NULL};
    rset_dir   *dir = NULL;
    rset_local  local;

    for (int r = 0, i = 0; r < j->n; r++)
        if (r != rank)
            search[i++] = j->ranks[r].dir;
    k->err = RSET_ERR_NONE;
    k->st = look_first(k, &dir);
    local = local_of(k, dir);
    if (k->st == RSET_OK)
        k->st = rset_recover_serial(&(rset_serial_args){.local = &local,
                                                        .evidence = &k->evidence,
                                                        .search = search,
                                                        .rank = j->tell_rank ? k->desc.rank : -1,
                                                        .content = j->content,
                                                        .required = j->required,
                                                        .watch = j->watch,
                                                        .readonly = j->readonly},
                                    &k->out, &k->err);
    rset_dir_close(dir);
    return k->st;
}

const char *
job_text(const job *j)
{
    return j->ranks[0].err.text;
}
