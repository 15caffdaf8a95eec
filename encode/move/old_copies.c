/* old_copies.c: see old_copies.h. */
#include "old_copies.h"

#include "commit/newer.h"
#include "move_internal.h"

#include <stdlib.h>
#include <string.h>

struct rset_old_copies {
    rset_look look;
    uint64_t *
        asked; /* of each that was found: the generation that a rank has replaced, 0: none; owned */
};

/* A rank has replaced this file of its own. Sent as it is. */
typedef struct replaced {
    uint64_t name, dir, generation; /* as it was told of them */
} replaced;

/* ---- what is here ---- */

rset_status
rset_old_copies_find(const rset_look_at *at, rset_old_copies **out, rset_err *err)
{
    rset_old_copies *all = calloc(1, sizeof *all);
    rset_status      st;

    *out = NULL;
    if (all == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: no memory for the names in it", at->path);
    st = rset_look_around(at, &all->look, err);
    if (st == RSET_OK && (all->asked = calloc(all->look.found.n + 1, sizeof *all->asked)) == NULL)
        st = rset_fail(err, RSET_NOMEM, "%s: no memory for the names in it", at->path);
    if (st != RSET_OK)
        rset_old_copies_free(all);
    else
        *out = all;
    return st;
}

void
rset_old_copies_free(rset_old_copies *all)
{
    if (all == NULL)
        return;
    rset_look_free(&all->look);
    free(all->asked);
    free(all);
}

bool
rset_old_copies_any(const rset_old_copies *all, const char *name)
{
    for (size_t i = 0; all != NULL && i < all->look.found.n; i++) {
        const rset_located *l = &all->look.found.at[i];

        if (l->dir != all->look.own || strcmp(l->base, name) != 0)
            return true;
    }
    return false;
}

/* ---- all ranks ---- */

/* Takes from what this rank is told the newest generation, and who has a copy. */
static void
take_told(const rset_old_copies_args *args, const rset_records *told, rset_records *mail,
          uint64_t *newest)
{
    const rset_comm *world = args->world;

    for (size_t i = 0; i < told->n; i++) {
        rset_saying         it;
        const rset_holding *o = &it.holding;

        (void)rset_records_get(told, i, &it);
        if (o->by < 0 || o->by >= world->size || !rset_holding_fits(o, args->local))
            continue;
        if (rset_generation_newer(o->newest, *newest))
            *newest = o->newest;
        if ((o->facts & RSET_HOLDING_HERE) != 0 && o->rank == world->rank &&
            o->ranks == world->size)
            rset_records_add(mail, o->by,
                             &(replaced){.name = o->name, .dir = o->dir, .generation = o->newest});
    }
}

/* Which of the files here have ranks replaced? */
static void
take_replaced(rset_old_copies *all, const rset_records *mail)
{
    for (size_t i = 0; i < mail->n; i++) {
        replaced  r;
        const int from = rset_records_get(mail, i, &r);

        for (size_t k = 0; all != NULL && k < all->look.found.n; k++) {
            const rset_located *l = &all->look.found.at[k];

            if (l->place == r.dir && rset_name_hash(l->name) == r.name &&
                !rset_located_is_displaced(l) && l->evidence.header.infos[0].desc.rank == from &&
                rset_evidence_newest(&l->evidence) == r.generation)
                all->asked[k] = rset_evidence_generation(&l->evidence);
        }
    }
}

static rset_local
local_of(const rset_located *l)
{
    return (rset_local){.dir = l->dir,
                        .prefix = l->prefix,
                        .nfiles = l->n,
                        .names = (const char *const *)l->names,
                        .paths = (const char *const *)l->names};
}

/* Is what lies here still what was located? Another rank may have written in this directory, where two nodes see one. */
static bool
is_as_located(const rset_located *l, uint64_t generation)
{
    const rset_local local = local_of(l);
    rset_evidence    ev = {0};
    rset_err         ignored = RSET_ERR_NONE;
    const bool       is = rset_survey_local(&local, &ev, &ignored) == RSET_OK &&
                    rset_evidence_generation(&ev) == generation && ev.next == 0 && !ev.undo.busy &&
                    ev.data.inode == l->inodes[0];

    rset_evidence_free(&ev);
    return is;
}

/* Gives what ranks have replaced second names, before any of it can be published. */
static rset_status
name_aside(rset_old_copies *all, rset_err *err)
{
    rset_status st = RSET_OK;

    for (size_t i = 0; st == RSET_OK && all != NULL && i < all->look.found.n; i++) {
        const rset_located *l = &all->look.found.at[i];
        const rset_local    local = local_of(l);
        uint64_t            generation = 0;

        if (all->asked[i] == 0)
            continue;
        if (is_as_located(l, all->asked[i]) && l->n == 1)
            st = rset_lost_put(&local, &generation, err);
        if (st == RSET_OK && generation != 0)
            st = rset_dir_sync(l->dir, err);
        all->asked[i] = generation;
    }
    return st;
}

static void
merge_newest(void *into, const void *other)
{
    uint64_t newest, another;

    memcpy(&newest, into, sizeof newest);
    memcpy(&another, other, sizeof another);
    if (rset_generation_newer(another, newest))
        memcpy(into, &another, sizeof another);
}

rset_status
rset_old_copies_ask(rset_old_copies *all, const rset_old_copies_args *args, rset_status before,
                    uint64_t *newest_out, rset_err *err)
{
    static const rset_look none = {0};
    const rset_move_args   move = {
          .world = args->world, .local = args->local, .evidence = args->evidence, .host = args->host};
    rset_move_question q = {
        .args = &move, .look = all != NULL ? &all->look : &none, .wants = args->anew};
    const rset_reduction what = {newest_out, sizeof *newest_out, merge_newest};
    rset_records         told, mail = {.size = sizeof(replaced)};
    rset_status          st;

    *newest_out = 0;
    for (size_t i = 0; all != NULL && i < all->look.found.n; i++)
        all->asked[i] = 0;
    if (before == RSET_OK)
        q.own = rset_move_own_holding(&move);
    st = rset_move_ask(&q, before, &told, err);
    if (st == RSET_OK && args->anew)
        take_told(args, &told, &mail, newest_out);
    rset_records_free(&told);
    if (st == RSET_OK)
        st = rset_route(args->world, RSET_OK, args->host, &mail, err);
    if (st == RSET_OK)
        take_replaced(all, &mail);
    rset_records_free(&mail);
    if (st != RSET_OK)
        return st;
    return rset_reduce(args->world, name_aside(all, err), args->host, &what, err);
}

/* ---- afterwards ---- */

void
rset_old_copies_settle(rset_old_copies *all, rset_old_copies_end end)
{
    rset_err ignored = RSET_ERR_NONE;

    for (size_t i = 0; all != NULL && i < all->look.found.n; i++) {
        const rset_located *l = &all->look.found.at[i];
        const rset_local    local = local_of(l);
        uint64_t            generation = all->asked[i];

        all->asked[i] = 0;
        if (generation == 0)
            continue;
        if (end == RSET_OLD_COPIES_STAY)
            (void)rset_lost_drop(&local, generation, &ignored);
        else if (end == RSET_OLD_COPIES_REPLACED && is_as_located(l, generation))
            (void)rset_lost_move(&local, &generation, &ignored);
    }
}
