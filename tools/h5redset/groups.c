/* groups.c: see groups.h. */
#include "groups.h"

#include "common/crc64.h"
#include "rendezvous/rendezvous.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

enum { CODES_MAX = 5 };

typedef struct naming {
    uint64_t owner, code, kind;
    bool     together;
    size_t   at; /* which sighting */
} naming;

/* Without a generation: whoever was protected in the same way. Below all generations. */
static uint64_t
foreign_code(const rset_desc *d)
{
    uint64_t h = (uint64_t)(unsigned char)d->scheme->name[0];

    h = (h * 257 + (uint64_t)d->parity) * 65537;
    h = (h + (uint64_t)d->sets) * 65537 + (uint64_t)d->ranks;
    return (h & ((UINT64_C(1) << RSET_GENERATION_RANDOM_BITS) - 1)) | 1;
}

static int
codes_of(const sighting *s, uint64_t *out)
{
    const rset_info *own = sighting_records(s)->infos;
    int              n = 0;

    if (own != NULL)
        out[n++] = own->desc.generation != 0 ? own->desc.generation : foreign_code(&own->desc);
    if (s->said.next != 0)
        out[n++] = s->said.next;
    if (s->said.mark != 0)
        out[n++] = s->said.mark;
    if (s->said.has_desc && s->said.desc.generation != 0)
        out[n++] = s->said.desc.generation;
    if (s->said.undo.there && s->said.undo.head.generation != 0)
        out[n++] = s->said.undo.head.generation;
    return n;
}

/* What the names of the file have in common on all ranks. */
static uint64_t
kind_of(const sighting *s)
{
    char     *name = path_of_file(sighting_old_name(s));
    rset_kind kind;

    rset_kind_of(name, &kind);
    free(name);
    return rset_crc64(0, kind.text, strlen(kind.text));
}

static int
by_code(const void *a, const void *b)
{
    const naming *x = a, *y = b;

    if (x->owner != y->owner)
        return (x->owner > y->owner) - (x->owner < y->owner);
    if (x->code != y->code)
        return (x->code > y->code) - (x->code < y->code);
    return (x->kind > y->kind) - (x->kind < y->kind);
}

static size_t
root(size_t *parent, size_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

/* All of one owner that name one code: files that were committed together have that in common, and are no family for it. */
static void
join(size_t *parent, const naming *all, size_t n)
{
    bool together = false;

    for (size_t i = 0; i < n; i++)
        together = together || all[i].together;
    for (size_t i = 1; i < n; i++)
        if (!together || all[i].kind == all[i - 1].kind)
            parent[root(parent, all[i].at)] = root(parent, all[i - 1].at);
}

size_t *
groups_find(const sightings *list)
{
    size_t *parent = must_alloc((list->n + 1) * sizeof *parent);
    naming *all = must_alloc((list->n * CODES_MAX + 1) * sizeof *all);
    size_t  n = 0;

    for (size_t i = 0; i < list->n; i++) {
        const sighting  *s = &list->at[i];
        const rset_info *own = sighting_records(s)->infos;
        const uint64_t   kind = kind_of(s);
        uint64_t         codes[CODES_MAX];
        const int        count = codes_of(s, codes);

        parent[i] = i;
        for (int k = 0; k < count; k++)
            all[n++] = (naming){s->owner, codes[k], kind, own != NULL && own->together != NULL, i};
    }
    qsort(all, n, sizeof *all, by_code);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1;
             end < n && all[end].code == all[i].code && all[end].owner == all[i].owner;)
            end++;
        join(parent, all + i, end - i);
    }
    for (size_t i = 0; i < list->n; i++)
        parent[i] = root(parent, i);
    free(all);
    return parent;
}
