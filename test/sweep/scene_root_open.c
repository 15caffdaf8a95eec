/* scene_root_open.c: files of one rank are opened by all. See scene_root.h. */
#include "scene_root.h"

#include "commit/kept.h"
#include "names/names.h"
#include "recover/recover.h"
#include "replicas/replicas.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>

static const char host[] = "host";

/* A file that this rank opens: the newest one, or one that is kept. */
typedef struct root_file {
    const char       *name[1];
    rset_local        local;
    rset_replica_args args;
} root_file;

static void
begin_file(root_file *f, rset_comm *world, job *j, const char *file, const char *file_prefix)
{
    job_rank *k = &j->ranks[world->rank];

    f->name[0] = file;
    f->local = (rset_local){.prefix = file_prefix, .nfiles = 1, .names = f->name, .paths = f->name};
    f->args = (rset_replica_args){.world = world,
                                  .local = &f->local,
                                  .evidence = &k->evidence,
                                  .host = host,
                                  .content = RSET_CONTENT_ALL,
                                  .tidy = true,
                                  .keep = rset_name_kept(file) != 0 ? 0 : j->keep};
    rset_evidence_free(&k->evidence);
    f->args.before = rset_dir_open(k->dir, true, &f->local.dir, &k->err);
}

static void
open_file(root_file *f, job_rank *k, rset_replica_outcome *out)
{
    if (f->args.before == RSET_OK)
        f->args.before = rset_survey_local(&f->local, &k->evidence, &k->err);
    k->st = rset_replica_open(&f->args, out, &k->err);
    k->out = (rset_outcome){.protected_ = k->st == RSET_OK, .replaced = out->replaced};
    snprintf(k->out.note, sizeof k->out.note, "%s", out->from);
}

/* What is opened, and what is done if the newest cannot be had. */
static void
run_rank(rset_comm *world, job *j, void (*act)(rset_comm *world, job *j, job_rank *k))
{
    job_rank *k = &j->ranks[world->rank];

    tap_transport(world);
    k->err = RSET_ERR_NONE;
    if (j->before != NULL)
        j->before(world->rank, j->arg);
    act(world, j, k);
    k->any = false;
    k->asks = true; /* all ranks come, whatever they have */
    if (j->after != NULL)
        j->after(world->rank, j->arg);
}

static void
open_newest(rset_comm *world, job *j, job_rank *k)
{
    rset_replica_outcome out;
    root_file            f;

    begin_file(&f, world, j, k->names[0], k->prefix);
    open_file(&f, k, &out);
    rset_dir_close(f.local.dir);
}

static void
open_body(rset_comm *world, void *arg)
{
    run_rank(world, arg, open_newest);
}

void
scene_root_open(job *j)
{
    job_run(j, open_body);
}

/* ---- fallback=yes, for change ---- */

/* The older one has come up on all ranks. */
static void
restore(root_file *newest, const root_file *older, job_rank *k, uint64_t lost)
{
    const rset_stamp_text stamp = {.time = 1};
    rset_replica_older    back = {
           .kept = &older->local, .newest = lost, .stamp = &stamp, .generation = k->desc.generation};

    newest->args.before = RSET_OK;
    k->st = rset_replica_restore(&newest->args, &back, &k->err);
    k->out.protected_ = k->st == RSET_OK;
    k->out.replaced = true;
}

static void
open_older(root_file *newest, rset_comm *world, job *j, job_rank *k)
{
    rset_generations     all;
    rset_replica_outcome out;
    root_file            f;
    char                *kept = NULL, *of = NULL;
    rset_status          st;

    rset_generations_of(&k->evidence, &all);
    st = rset_generations_of_all(world, host, &all, &k->err);
    if (st != RSET_OK || all.n < 2) {
        k->st = st != RSET_OK ? st : RSET_LOST;
        return;
    }
    k->err = RSET_ERR_NONE; /* what comes next has its own */
    kept = rset_name_of(RSET_NAME_DATA, k->prefix, all.at[1]);
    if (kept == NULL || (of = rset_join_names(kept, ".")) == NULL)
        st = rset_fail(&k->err, RSET_NOMEM, "no memory for a name");
    else
        st = rset_kept_make_ready(&newest->local, all.at[1], false, &k->err);
    k->st = rset_agree(world, st, host, &k->err);
    if (k->st == RSET_OK) {
        begin_file(&f, world, j, kept, of);
        open_file(&f, k, &out);
        if (k->st == RSET_OK)
            restore(newest, &f, k, all.at[0]);
        rset_dir_close(f.local.dir);
    }
    free(kept);
    free(of);
}

static void
fall_back(rset_comm *world, job *j, job_rank *k)
{
    rset_replica_outcome out;
    root_file            f;

    begin_file(&f, world, j, k->names[0], k->prefix);
    open_file(&f, k, &out);
    if (k->st == RSET_LOST && out.gone)
        open_older(&f, world, j, k);
    rset_dir_close(f.local.dir);
}

static void
fall_back_body(rset_comm *world, void *arg)
{
    run_rank(world, arg, fall_back);
}

void
scene_root_fall_back(job *j)
{
    job_next_generation(j);
    job_run(j, fall_back_body);
}
