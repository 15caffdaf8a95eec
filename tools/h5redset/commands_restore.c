/* commands_restore.c: h5redset restore: an older generation of the files of all ranks becomes the newest. What is the newest until
 * then stays as an older one, where it is whole; else what there is of it is put aside. */
#include "commands.h"
#include "exits.h"
#include "hosted.h"
#include "parallel.h"
#include "wait.h"

#include <stdio.h>
#include <stdlib.h>

/* What all ranks of one kind of file are to do. */
typedef struct restoring {
    hosting       p; /* of the generation that is kept */
    const listed *from;
    uint64_t      aside; /* the newest, which is not whole; 0: it is, and stays as an older one */
} restoring;

/* ---- one rank ---- */

/* The path of its data file itself, of which the generation is kept. */
static char *
data_path(const member *m)
{
    return path_of_file(member_path(m));
}

static rset_status
open_named(const hosting *p, const char *path, const char *name, files *out, rset_err *err)
{
    char             *dir = dir_of(path);
    const files_place at = {.dir = dir, .name = name, .create = true, .within = &p->o->paths};
    const rset_status st = files_open(&at, out, err);

    free(dir);
    return st;
}

/* What has the name may not hold more than what was protected last. */
static rset_status
check_newest(const files *to, rset_err *err)
{
    const rset_evidence *ev = &to->evidence;

    if (ev->is_void || ev->undo.there)
        return rset_fail(err, RSET_USAGE,
                         "%s: has changed since it was protected last; open it with all ranks and "
                         "close it first",
                         rset_local_name(&to->local));
    return RSET_OK;
}

/* The generation of which nothing has the name under which others have put it aside: what is there of it under the files' own name gets that
 * as well. */
static rset_status
put_aside_too(const files *to, const char *name, bool lost, rset_err *err)
{
    const uint64_t generation = rset_name_kept(name);
    uint64_t       put = 0;
    bool           there;

    if (rset_evidence_generation(&to->evidence) != generation)
        return RSET_OK;
    if (rset_dir_find_file(to->dir, name, NULL, &there, err) != RSET_OK || there)
        return err->status;
    return lost ? rset_lost_put(&to->local, &put, err)
                : rset_newer_put(&to->local, generation, err);
}

/* What a generation of these files has as its name. */
static char *
name_of(const restoring *r, const files *to)
{
    const uint64_t generation = r->p.f->generation;

    if (!r->from->aside)
        return rset_name_of(RSET_NAME_DATA, to->prefix, generation);
    return listed_is_lost(r->from) ? rset_name_of(RSET_NAME_LOST, to->prefix, generation)
                                   : rset_name_of(RSET_NAME_NEWER, to->prefix, generation);
}

/* The newest, that no program may change it from now on. */
static rset_status
open_newest(const hosting *p, const member *m, files *to, rset_err *err)
{
    char       *path = data_path(m);
    rset_status st = hosted_may_make(m, err);

    if (st == RSET_OK)
        st = open_named(p, path, rset_path_base(path), to, err);
    if (st == RSET_OK)
        st = files_hold(to, HOLD_FROM_WRITERS, p->j, err);
    if (st == RSET_OK)
        st = check_newest(to, err);
    free(path);
    return st;
}

/* The generation that is kept of it, or was put aside, made whole. */
static rset_status
open_kept(const restoring *r, const member *m, const files *to, files *kept, rset_err *err)
{
    char       *path = data_path(m), *name = NULL;
    rset_status st = RSET_OK;

    if (!r->from->aside)
        st = rset_kept_make_ready(&to->local, r->p.f->generation, false, err);
    if (st == RSET_OK && (name = name_of(r, to)) == NULL)
        st = rset_fail(err, RSET_NOMEM, "%s: no memory to restore it", path);
    if (st == RSET_OK && r->from->aside)
        st = put_aside_too(to, name, listed_is_lost(r->from), err);
    if (st == RSET_OK)
        st = open_named(&r->p, path, name, kept, err);
    if (st == RSET_OK)
        st = files_hold(kept, HOLD_FROM_WRITERS, r->p.j, err);
    free(name);
    free(path);
    return st;
}

/* All have what they need: `to` is held on all ranks. */
static rset_status
restore_held(rset_comm *world, const restoring *r, files *to, rset_err *err)
{
    const hosting *p = &r->p;
    files          kept = {0};
    rset_status    st = open_kept(r, p->hosted[world->rank].member, to, &kept, err);

    st = recover_whole(world, p, &kept, st, "not restored");
    if (st == RSET_OK)
        st = name_parallel(world, p,
                           &(naming){.from = &kept,
                                     .to = &to->local,
                                     .there = &to->evidence,
                                     .restored = true,
                                     .aside = r->aside},
                           err);
    files_close(&kept);
    return st;
}

/* Nothing is changed before it is known on all ranks that it may be. */
static void
restore_hosted(rset_comm *world, void *arg)
{
    const restoring *r = arg;
    hosted          *at = &r->p.hosted[world->rank];
    files            to = {0};

    at->err = RSET_ERR_NONE;
    at->st = open_newest(&r->p, at->member, &to, &at->err);
    at->st = rset_agree(world, at->st, r->p.j->host, &at->err);
    if (at->st == RSET_OK)
        at->st = restore_held(world, r, &to, &at->err);
    files_close(&to);
}

/* ---- all of them ---- */

static void
tell(const hosting *p, int r)
{
    char *path = data_path(p->hosted[r].member);

    print_line(stdout, "%s: generation %u %s the newest", path, generation_number(p->f->generation),
               p->dry ? "would become" : "has become");
    free(path);
}

/* The same on all processes. */
static rset_status
choose(const options *o, const file_list *l, const rset_generations *all, const listed **out,
       rset_err *err)
{
    const uint64_t generation = rset_generations_find(all, &o->which);
    char          *name = list_name(l);
    rset_status    st = RSET_OK;

    *out = list_find(l, generation);
    if (*out == NULL)
        *out = list_find_aside(l, &o->which);
    if (*out == NULL)
        st = rset_generations_none(all, o->generation, name, err);
    else if ((*out)->newest)
        st = rset_fail(err, RSET_USAGE, "%s: generation %u is the newest already", name,
                       generation_number(generation));
    else if (!family_is_recorded((*out)->f))
        st = rset_fail(err, RSET_LOST,
                       "%s: nothing that can be reached records how generation %u was protected",
                       name, generation_number(generation));
    free(name);
    return st;
}

/* What is put aside; 0: the newest is whole. */
static uint64_t
lost_newest(const file_list *l, const rset_generations *all)
{
    const listed *first = &l->at[0];

    if (l->n == 0)
        return 0;
    return first->newest && exit_status_of(&first->f->decision) == 0 ? 0 : all->at[0];
}

static int
restore_list(job *j, const options *o, const file_list *l)
{
    restoring        r = {.p = {.j = j, .o = o, .dry = o->dry_run, .not_done = "not restored"}};
    rset_generations all;
    const listed    *which;
    rset_err         err = RSET_ERR_NONE;
    rset_status      st;

    list_generations(l, &o->which, &all);
    st = choose(o, l, &all, &which, &err);
    if (st == RSET_OK) {
        int status;

        r.aside = lost_newest(l, &all);
        r.p.f = which->f;
        r.from = which;
        status = exits_of(hosted_do(&r.p, r.p.dry ? NULL : restore_hosted, &r, tell));
        free(r.p.hosted);
        return job_most(j, status);
    }
    if (j->rank == 0)
        print_error("%s", err.text);
    return exits_of(st);
}

int
command_restore(job *j, const options *o, const picture *p)
{
    const lists *all = &p->all;
    int          worst = EXITS_WELL;

    for (size_t i = 0; worst == 0 && i < all->n; i++) {
        const int before = wait_refused(j);
        char     *key = list_key(&all->at[i]);

        if (!wait_is_done(j, key)) {
            const int status = restore_list(j, o, &all->at[i]);

            worst = wait_settles(j, key, before) ? status : EXITS_WELL;
        }
        free(key);
    }
    return all->n == 0 ? EXITS_NOTHING : worst;
}
