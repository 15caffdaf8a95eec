/* sights.c: what the ranks that have come see of the files that they open. See sights_internal.h. */
#include "sights_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- what this process sees ---- */

static rset_status
look_into(rset_sights *s, const char *path)
{
    rset_recovery *r = s->r;
    rset_dir      *dir = NULL;
    rset_status    st;

    for (int i = 0; i < s->ndirs; i++)
        if (strcmp(s->dirs[i], path) == 0)
            return RSET_OK;
    if (s->ndirs == RSET_SIGHT_DIRS || rset_dir_open(path, false, &dir, NULL) != RSET_OK)
        return RSET_OK;
    s->dirs[s->ndirs] = strdup(path);
    st = s->dirs[s->ndirs] != NULL
             ? rset_locate(dir, r->args->local->names[0], &s->in[s->ndirs], r->err)
             : rset_fail(r->err, RSET_NOMEM, "no memory for a directory's name");
    s->ndirs += s->dirs[s->ndirs] != NULL;
    rset_dir_close(dir);
    return st;
}

/* The directory of a file that a header names. */
static rset_status
look_beside(rset_sights *s, const char *path)
{
    char       *dir = NULL, *base = NULL;
    rset_status st = rset_path_split(path, &dir, &base, s->r->err);

    if (st == RSET_OK && dir[0] == '/')
        st = look_into(s, dir);
    free(dir);
    free(base);
    return st == RSET_USAGE ? RSET_OK : st;
}

static rset_status
look_around(rset_sights *s)
{
    const rset_recover_args *a = s->r->args;
    const rset_local        *local = a->local;
    rset_status              st = RSET_OK;

    if (local->nfiles == 0)
        return RSET_OK;
    if (local->dir != NULL)
        st = look_into(s, rset_dir_path(local->dir));
    for (int i = 0; st == RSET_OK && a->search != NULL && a->search[i] != NULL; i++)
        st = look_into(s, a->search[i]);
    for (int d = 0; d < s->ndirs; d++)
        for (size_t i = 0; st == RSET_OK && i < s->in[d].n; i++) {
            const rset_header *h = &s->in[d].at[i].evidence.header;

            for (int k = 0; st == RSET_OK && k < h->ninfos; k++)
                if (h->infos[k].nfiles == 1)
                    st = look_beside(s, h->infos[k].files[0].path);
        }
    return st;
}

bool
rset_sight_is_meant(const rset_sights *s, const rset_sight *one)
{
    const rset_local *local = s->r->args->local;

    return local->nfiles > 0 && one->name == s->asked[s->r->args->world->rank] &&
           rset_where_fits(&one->where, local->dir != NULL ? rset_dir_path(local->dir) : NULL,
                           local->paths[0]);
}

bool
rset_sight_is_of(const rset_sight *one, const rset_sight_family *of)
{
    return one->generation == of->generation || one->next == of->generation ||
           (of->next != 0 && (one->generation == of->next || one->next == of->next));
}

rset_sight
rset_sight_of(const rset_sights *s, const rset_located *l, const char *dir, int k)
{
    const rset_info *info = &l->evidence.header.infos[k];
    const uint64_t   generation = rset_evidence_generation(&l->evidence);
    const bool       prepared = l->evidence.next_ranks == info->desc.ranks;

    return (rset_sight){.generation = generation,
                        .newest = k == 0 ? rset_evidence_newest(&l->evidence) : generation,
                        .next = prepared ? l->evidence.next : 0,
                        .name =
                            rset_name_hash(k == 0 ? l->base : rset_path_base(info->files[0].path)),
                        .rank = info->desc.rank,
                        .ranks = info->desc.ranks,
                        .there = k == 0,
                        .by = s->r->args->world->rank,
                        .where = rset_where_of(&l->evidence.header, k, dir)};
}

bool
rset_sights_each(const rset_sights *s, rset_sight_fn take, void *arg)
{
    for (int d = 0; d < s->ndirs; d++)
        for (size_t i = 0; i < s->in[d].n; i++) {
            const rset_located *l = &s->in[d].at[i];

            for (int k = 0; k < l->evidence.header.ninfos; k++)
                if (l->evidence.header.infos[k].nfiles == 1 && !take(s, l, s->dirs[d], k, arg))
                    return false;
        }
    return true;
}

/* ---- what all see ---- */

/* The sights to be told: of a family, or where that is NULL, those that bear a name that is asked for. */
typedef struct telling {
    const rset_sight_family *of;
    rset_sight              *at; /* owned */
    size_t                   n, room;
} telling;

int
rset_sights_asker(const rset_sights *s, uint64_t name)
{
    for (int i = 0; i < s->r->args->world->size; i++)
        if (s->asked[i] == name)
            return i;
    return -1;
}

static bool
tell(const rset_sights *s, const rset_located *l, const char *dir, int k, void *arg)
{
    telling         *t = arg;
    const rset_sight one = rset_sight_of(s, l, dir, k);

    if (one.generation == 0 ||
        (t->of != NULL ? !rset_sight_is_of(&one, t->of) : rset_sights_asker(s, one.name) < 0))
        return true;
    if (t->n == t->room) {
        rset_sight *grown = realloc(t->at, (2 * t->room + 16) * sizeof *grown);

        if (grown == NULL)
            return false;
        t->at = grown;
        t->room = 2 * t->room + 16;
    }
    t->at[t->n++] = one;
    return true;
}

rset_status
rset_sights_hear(rset_sights *s, const rset_sight_family *of)
{
    const rset_recover_args *a = s->r->args;
    telling                  t = {.of = of};
    rset_gathered            all = {0};
    rset_status              st = RSET_OK;

    if (!rset_sights_each(s, tell, &t))
        st = rset_fail(s->r->err, RSET_NOMEM, "no memory for what there is of other ranks' files");
    st = rset_agree(a->world, st, a->host, s->r->err);
    if (st == RSET_OK)
        st = rset_gather_all(a->world, t.at, t.n * sizeof *t.at, (size_t)1 << 31, &all, s->r->err);
    free(t.at);
    free(s->heard);
    s->heard = NULL;
    s->nheard = 0;
    if (st != RSET_OK)
        return st;
    s->nheard = all.offs[a->world->size] / sizeof *s->heard;
    s->heard = (rset_sight *)(void *)all.bytes;
    all.bytes = NULL;
    rset_gathered_free(&all);
    return RSET_OK;
}

/* ---- the beginning and the end ---- */

rset_status
rset_sights_begin(rset_sights *s)
{
    const rset_recover_args *a = s->r->args;
    const bool               named = a->local->nfiles > 0 && !s->r->unprotected;
    const uint64_t           own = named ? rset_name_hash(a->local->names[0]) : 0;
    rset_status              st = RSET_OK;

    s->asked = calloc((size_t)a->world->size, sizeof *s->asked);
    if (s->asked == NULL)
        st = rset_fail(s->r->err, RSET_NOMEM, "no memory for the names of all ranks' files");
    if (st == RSET_OK)
        st = look_around(s);
    st = rset_agree(a->world, st, a->host, s->r->err);
    return st == RSET_OK ? rset_gather_fixed(a->world, &own, sizeof own, s->asked, s->r->err) : st;
}

void
rset_sights_free(rset_sights *s)
{
    for (int d = 0; d < s->ndirs; d++) {
        rset_located_list_free(&s->in[d]);
        free(s->dirs[d]);
    }
    free(s->heard);
    free(s->asked);
    *s = (rset_sights){0};
}
