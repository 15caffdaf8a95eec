/* sights.c: what the ranks that have come see of the files that they open. See sights_internal.h. */
#include "sights_internal.h"

#include "common/crc64.h"
#include "rendezvous/rendezvous.h"

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
    if (st == RSET_OK && s->ndirs == 0 && s->r->one_dir) /* its share would be told by nobody */
        st = rset_fail(s->r->err, RSET_IO, "%s: cannot be looked into; check its permissions",
                       rset_dir_path(local->dir));
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

    return local->nfiles > 0 && one->name == s->own.name &&
           rset_where_fits(&one->where, local->dir != NULL ? rset_dir_path(local->dir) : NULL,
                           local->paths[0]);
}

bool
rset_sight_is_of(const rset_sight *one, const rset_sight_family *of)
{
    return one->generation == of->generation || one->next == of->generation ||
           (of->next != 0 && (one->generation == of->next || one->next == of->next));
}

/* The number in a name (a bit) that is the number of the rank which wrote the file; none, where several are. */
static uint64_t
equal_to_rank(const rset_kind *own, const rset_desc *desc)
{
    uint64_t equal = 0;

    for (uint64_t n = 0; desc->ranks > 1 && n < own->nruns; n++)
        equal |= (uint64_t)(own->runs[n] == (uint64_t)desc->rank) << n;
    return (equal & (equal - 1)) == 0 ? equal : 0;
}

/* The numbers in these names (bits) that tell ranks apart: those that differ between the files that a header records. Where it
 * records no others (SINGLE), the one that is the number of the file's own rank. */
static uint64_t
rank_numbers(const rset_header *h, const rset_kind *own)
{
    uint64_t differ = h->ninfos == 1 ? equal_to_rank(own, &h->infos[0].desc) : 0;

    for (int i = 1; i < h->ninfos; i++) {
        rset_kind other;

        if (h->infos[i].nfiles < 1)
            continue;
        rset_kind_of(h->infos[i].files[0].path, &other);
        for (uint64_t n = 0; n < own->nruns && n < other.nruns; n++)
            differ |= (uint64_t)(own->runs[n] != other.runs[n]) << n;
    }
    return differ;
}

/* All of the name, and of where it is recorded, but what tells ranks apart. */
static uint64_t
step_of(const rset_header *h, const char *own, const char *base, const rset_where *where)
{
    rset_kind kind, first;
    uint64_t  numbers, hash;

    rset_kind_of(own, &first);
    rset_kind_of(base, &kind);
    numbers = rank_numbers(h, &first);
    hash = rset_crc64(rset_name_hash(kind.text), &numbers, sizeof numbers);
    for (uint64_t n = 0; n < kind.nruns; n++)
        if ((numbers >> n & 1) == 0)
            hash = rset_crc64(hash, &kind.runs[n], sizeof kind.runs[n]);
    return where->n > 0 ? rset_crc64(hash, &where->form[0].hash, sizeof where->form[0].hash) : hash;
}

rset_sight
rset_sight_of(const rset_sights *s, const rset_located *l, const char *dir, int k)
{
    const rset_info *info = &l->evidence.header.infos[k];
    const char      *base = k == 0 ? l->base : rset_path_base(info->files[0].path);
    const rset_where where = rset_where_of(&l->evidence.header, k, dir);
    const uint64_t   generation = rset_evidence_generation(&l->evidence);
    const bool       prepared = l->evidence.next_ranks == info->desc.ranks;

    return (rset_sight){.generation = generation,
                        .newest = k == 0 ? rset_evidence_newest(&l->evidence) : generation,
                        .next = prepared ? l->evidence.next : 0,
                        .name = rset_name_hash(base),
                        .step = step_of(&l->evidence.header, l->base, base, &where),
                        .rank = info->desc.rank,
                        .ranks = info->desc.ranks,
                        .there = k == 0,
                        .by = s->r->args->world->rank,
                        .named = rset_evidence_names_differ(&l->evidence),
                        .where = where};
}

/* The first directory is the rank's own. */
static bool
tells(const rset_sights *s, int d, const rset_located *l, int k)
{
    const rset_comm *world = s->r->args->world;
    const rset_info *info = &l->evidence.header.infos[k];
    const char      *base = k == 0 ? l->base : rset_path_base(info->files[0].path);

    return d > 0 || !s->r->one_dir || info->desc.rank % world->size == world->rank ||
           rset_name_hash(base) == s->own.name;
}

static bool
each(const rset_sights *s, bool told, rset_sight_fn take, void *arg)
{
    for (int d = 0; d < s->ndirs; d++)
        for (size_t i = 0; i < s->in[d].n; i++) {
            const rset_located *l = &s->in[d].at[i];

            for (int k = 0; k < l->evidence.header.ninfos; k++)
                if (l->evidence.header.infos[k].nfiles == 1 && (!told || tells(s, d, l, k)) &&
                    !take(s, l, s->dirs[d], k, arg))
                    return false;
        }
    return true;
}

bool
rset_sights_each(const rset_sights *s, rset_sight_fn take, void *arg)
{
    return each(s, false, take, arg);
}

bool
rset_sights_each_told(const rset_sights *s, rset_sight_fn take, void *arg)
{
    return each(s, true, take, arg);
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
        if (s->openings[i].name == name)
            return i;
    return -1;
}

int
rset_sights_finder(const rset_sights *s, uint64_t name)
{
    for (int i = 0; i < s->r->args->world->size; i++)
        if (s->openings[i].name == name && s->openings[i].found != 0)
            return i;
    return rset_sights_asker(s, name);
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

    if (!rset_sights_each_told(s, tell, &t))
        st = rset_fail(s->r->err, RSET_NOMEM, "no memory for what there is of other ranks' files");
    st = rset_gather_all(a->world, st, a->host,
                         &(rset_share){t.at, t.n * sizeof *t.at, (size_t)1 << 31}, &all, s->r->err);
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

static rset_sight_opening
own_opening(const rset_recovery *r)
{
    const rset_local  *local = r->args->local;
    rset_sight_opening own = {0};

    if (local->nfiles > 0 && !r->unprotected) {
        own.name = rset_name_hash(local->names[0]);
        own.found = local->dir != NULL && rset_dir_has_file(local->dir, local->names[0]);
    }
    return own;
}

rset_status
rset_sights_open(rset_sights *s, rset_status own)
{
    const rset_recover_args *a = s->r->args;
    rset_status              st = own;

    s->openings = calloc((size_t)a->world->size, sizeof *s->openings);
    if (s->openings == NULL)
        st = rset_fail(s->r->err, RSET_NOMEM, "no memory for the names of all ranks' files");
    return rset_gather_fixed(a->world, st, a->host,
                             &(rset_share){.bytes = &s->own, .len = sizeof s->own}, s->openings,
                             s->r->err);
}

/* Hashes of names are odd. */
static uint32_t
bit_of(uint64_t name)
{
    return (uint32_t)(name >> 1) % RSET_SIGHT_BITS;
}

static void
merge_names(void *into, const void *other)
{
    rset_sight_names       *a = into;
    const rset_sight_names *b = other;

    for (size_t i = 0; i < sizeof a->bits; i++)
        a->bits[i] |= b->bits[i];
}

_Static_assert(sizeof(rset_sight_names) <= sizeof(rset_err),
               "fits into one message of a reduction");

bool
rset_sights_may_open(const rset_sights *s, uint64_t name)
{
    return (s->opened.bits[bit_of(name) / 8] >> bit_of(name) % 8 & 1) != 0;
}

rset_status
rset_sights_begin(rset_sights *s)
{
    const rset_recover_args *a = s->r->args;
    const rset_reduction     what = {&s->opened, sizeof s->opened, merge_names};

    s->own = own_opening(s->r);
    s->opened.bits[bit_of(s->own.name) / 8] |= (uint8_t)(1 << bit_of(s->own.name) % 8);
    return rset_reduce(a->world, look_around(s), a->host, &what, s->r->err);
}

void
rset_sights_free(rset_sights *s)
{
    for (int d = 0; d < s->ndirs; d++) {
        rset_located_list_free(&s->in[d]);
        free(s->dirs[d]);
    }
    free(s->openings);
    free(s->heard);
    *s = (rset_sights){0};
}
