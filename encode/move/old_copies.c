/* old_copies.c: see old_copies.h. */
#include "old_copies.h"

#include "member/newer.h"
#include "move_internal.h"

#include <stdlib.h>
#include <string.h>

struct rset_old_copies {
    rset_dir         *dirs[RSET_MOVE_DIRS + 1]; /* owned; the first is the rank's own */
    int               ndirs;
    rset_located_list located;
    uint64_t         *asked; /* of each: the generation that a rank has replaced, 0: none; owned */
};

/* A rank has replaced this file of its own. Sent as it is. */
typedef struct replaced {
    uint64_t name, dir, generation; /* as they were offered */
} replaced;

/* ---- what is here ---- */

static rset_status
look_in(rset_old_copies *all, const char *path, const char *like, rset_err *err)
{
    rset_dir *dir = NULL;

    if (all->ndirs > RSET_MOVE_DIRS || rset_dir_open(path, false, &dir, NULL) != RSET_OK)
        return RSET_OK;
    all->dirs[all->ndirs++] = dir;
    if (all->ndirs > 1 && rset_dir_number(dir) == rset_dir_number(all->dirs[0]))
        return RSET_OK;
    return rset_locate(dir, like, &all->located, err);
}

rset_status
rset_old_copies_find(const char *path, const char *like, const char *const *search,
                     rset_old_copies **out, rset_err *err)
{
    rset_old_copies *all = calloc(1, sizeof *all);
    rset_status      st;

    *out = NULL;
    if (all == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: no memory for the names in it", path);
    st = look_in(all, path, like, err);
    for (int i = 0; st == RSET_OK && search != NULL && search[i] != NULL; i++)
        st = look_in(all, search[i], like, err);
    if (st == RSET_OK && (all->asked = calloc(all->located.n + 1, sizeof *all->asked)) == NULL)
        st = rset_fail(err, RSET_NOMEM, "%s: no memory for the names in it", path);
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
    rset_located_list_free(&all->located);
    for (int i = 0; i < all->ndirs; i++)
        rset_dir_close(all->dirs[i]);
    free(all->asked);
    free(all);
}

bool
rset_old_copies_any(const rset_old_copies *all, const char *name)
{
    for (size_t i = 0; all != NULL && i < all->located.n; i++) {
        const rset_located *l = &all->located.at[i];

        if (l->dir != all->dirs[0] || strcmp(l->base, name) != 0)
            return true;
    }
    return false;
}

/* ---- all ranks ---- */

/* Takes from what this rank is told the newest generation, and who has a copy. */
static void
take_tips(const rset_old_copies_args *args, const rset_records *tips, rset_records *mail,
          uint64_t *newest)
{
    const rset_local *local = args->local;
    const rset_comm  *world = args->world;

    for (size_t i = 0; i < tips->n; i++) {
        rset_move_tip          tip;
        const rset_move_offer *o = &tip.offer;

        (void)rset_records_get(tips, i, &tip);
        if (tip.by < 0 || tip.by >= world->size ||
            !rset_where_fits(&o->where, rset_dir_path(local->dir), local->paths[0]))
            continue;
        if (rset_generation_newer(o->generation, *newest))
            *newest = o->generation;
        if (o->recorded == 0 && o->rank == world->rank && o->ranks == world->size)
            rset_records_add(
                mail, tip.by,
                &(replaced){.name = o->name, .dir = o->dir, .generation = o->generation});
    }
}

/* Which of the files here have ranks replaced? */
static void
take_replaced(rset_old_copies *all, const rset_records *mail)
{
    for (size_t i = 0; i < mail->n; i++) {
        replaced  r;
        const int from = rset_records_get(mail, i, &r);

        for (size_t k = 0; all != NULL && k < all->located.n; k++) {
            const rset_located *l = &all->located.at[k];

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

    for (size_t i = 0; st == RSET_OK && all != NULL && i < all->located.n; i++) {
        const rset_located *l = &all->located.at[i];
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
say_places(rset_old_copies *all, const char *host)
{
    for (size_t i = 0; all != NULL && i < all->located.n; i++) {
        all->located.at[i].place = rset_move_dir(all->located.at[i].dir, host);
        all->asked[i] = 0;
    }
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
    static const rset_located_list none = {0};
    const rset_move_args           move = {
                  .world = args->world, .local = args->local, .evidence = args->evidence, .host = args->host};
    rset_move_question q = {
        .args = &move, .located = all != NULL ? &all->located : &none, .wants = args->anew};
    const rset_reduction what = {newest_out, sizeof *newest_out, merge_newest};
    rset_records         tips, mail = {.size = sizeof(replaced)};
    rset_status          st;

    *newest_out = 0;
    say_places(all, args->host);
    if (before == RSET_OK)
        q.own = rset_move_own_offer(&move);
    st = rset_move_ask(&q, before, &tips, err);
    if (st == RSET_OK && args->anew)
        take_tips(args, &tips, &mail, newest_out);
    rset_records_free(&tips);
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

    for (size_t i = 0; all != NULL && i < all->located.n; i++) {
        const rset_located *l = &all->located.at[i];
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
