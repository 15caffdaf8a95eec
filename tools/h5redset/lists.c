/* lists.c: see lists.h. */
#include "lists.h"
#include "exits.h"
#include "groups.h"
#include "judge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- which generations are of one file ---- */

/* What a generation goes by: where one of its files is, or is recorded, under the name that the newest has. */
typedef struct key {
    char  *text; /* owned */
    size_t of;   /* which generation */
} key;

/* All generations, before they are put together. */
typedef struct heap {
    size_t  n, room, nkeys, keys_room;
    listed *at;
    key    *keys;
    size_t *parent; /* of each generation: one of the same file, or itself */
} heap;

/* Files of two owners are never one. `path` is owned from now on. */
static void
add_key(heap *h, uint64_t owner, char *path, size_t of)
{
    char *text = must_print("%" PRIu64 " %s", owner, path);

    free(path);
    text[rset_name_recorded(text)] = '\0';
    h->keys = must_have_room(h->keys, h->nkeys, &h->keys_room, sizeof *h->keys);
    h->keys[h->nkeys++] = (key){text, of};
}

static void
add_place(heap *h, const sighting *s, size_t of)
{
    add_key(h, s->owner,
            must_print("%s:%" PRIu64 ":%" PRIu64 "/%s", s->host, s->device, s->inode, s->name), of);
}

static void
add_member(heap *h, listed *g, const member *m, uint64_t owner)
{
    if (m->known != NULL) {
        g->size += rset_info_length(m->known);
        add_key(h, owner, must_copy(recorded_path(m->known)), h->n - 1);
    } else if (m->seen != NULL) {
        g->size += m->seen->size;
    }
    if (m->seen != NULL) {
        g->aside = g->aside || m->seen->aside;
        g->bytes += m->seen->bytes;
        add_place(h, m->seen, h->n - 1);
    }
}

/* What is left of a generation of which nothing is recorded, each rank's alone, becomes one when all is put together. */
static void
add_family(heap *h, const family *f, bool newest)
{
    listed *g;

    h->at = must_have_room(h->at, h->n, &h->room, sizeof *h->at);
    g = &h->at[h->n++];
    *g = (listed){.generation = f->generation, .newest = newest, .f = f};
    for (const member *m = NULL; (m = family_next(f, m)) != NULL;)
        add_member(h, g, m, f->owner);
}

static int
by_text(const void *a, const void *b)
{
    return strcmp(((const key *)a)->text, ((const key *)b)->text);
}

static void
put_together(heap *h)
{
    h->parent = must_alloc((h->n + 1) * sizeof *h->parent);
    for (size_t i = 0; i < h->n; i++)
        h->parent[i] = i;
    if (h->nkeys > 1)
        qsort(h->keys, h->nkeys, sizeof *h->keys, by_text);
    for (size_t i = 1; i < h->nkeys; i++)
        if (strcmp(h->keys[i].text, h->keys[i - 1].text) == 0)
            h->parent[group_root(h->parent, h->keys[i].of)] =
                group_root(h->parent, h->keys[i - 1].of);
    for (size_t i = 0; i < h->nkeys; i++)
        free(h->keys[i].text);
    free(h->keys);
}

/* ---- lists of them ---- */

static int
newest_first(const void *a, const void *b)
{
    const listed *x = a, *y = b;

    if (x->newest != y->newest)
        return y->newest - x->newest;
    if (x->generation != y->generation)
        return rset_generation_newer(x->generation, y->generation) ? -1 : 1;
    return family_is_recorded(y->f) - family_is_recorded(x->f);
}

static void
add_to(file_list *l, const listed *g)
{
    if (g->aside) {
        l->aside = must_have_room(l->aside, l->naside, &l->aside_room, sizeof *l->aside);
        l->aside[l->naside++] = *g;
    } else {
        l->at = must_have_room(l->at, l->n, &l->room, sizeof *l->at);
        l->at[l->n++] = *g;
    }
}

/* Newest first; what is left of a generation here and there is one. How many they are then. */
static size_t
put_in_order(listed *at, size_t all)
{
    size_t n = 0;

    if (all > 1)
        qsort(at, all, sizeof *at, newest_first);
    for (size_t i = 0; i < all; i++) {
        listed *last = n > 0 ? &at[n - 1] : NULL;

        if (last != NULL && !family_is_recorded(at[i].f) && last->generation == at[i].generation) {
            last->size += at[i].size;
            last->bytes += at[i].bytes;
        } else {
            at[n++] = at[i];
        }
    }
    return n;
}

static void
free_list(file_list *l)
{
    free(l->at);
    free(l->aside);
    *l = (file_list){0};
}

/* All generations of the file that `top` is one of. */
static void
add_list(lists *out, const heap *h, size_t top)
{
    file_list *l = &out->at[out->n];

    for (size_t i = 0; i < h->n; i++)
        if (group_root(h->parent, i) == top)
            add_to(l, &h->at[i]);
    l->n = put_in_order(l->at, l->n);
    l->naside = put_in_order(l->aside, l->naside);
    if (l->n + l->naside > 0)
        out->n++;
}

static const family *
first_of(const file_list *l)
{
    return l->n > 0 ? l->at[0].f : l->aside[0].f;
}

char *
list_name(const file_list *l)
{
    return path_of_file(family_name(first_of(l)));
}

char *
list_key(const file_list *l)
{
    return family_key(first_of(l));
}

static int
by_name(const void *a, const void *b)
{
    char     *x = list_name(a), *y = list_name(b);
    const int order = strcmp(x, y);

    free(x);
    free(y);
    return order;
}

void
lists_make(const catalog *newest, const catalog *older, lists *out)
{
    heap h = {0};

    for (size_t i = 0; i < newest->nfamilies; i++)
        if (newest->families[i].asked)
            add_family(&h, &newest->families[i], true);
    for (size_t i = 0; i < older->nfamilies; i++)
        if (older->families[i].asked)
            add_family(&h, &older->families[i], false);
    for (size_t i = 0; i < older->nstrays; i++)
        add_family(&h, &older->strays[i], false);
    put_together(&h);
    *out = (lists){.at = must_alloc((h.n + 1) * sizeof *out->at)};
    for (size_t top = 0; top < h.n; top++)
        if (h.parent[top] == top)
            add_list(out, &h, top);
    qsort(out->at, out->n, sizeof *out->at, by_name);
    free(h.at);
    free(h.parent);
}

void
lists_free(lists *all)
{
    for (size_t i = 0; i < all->n; i++)
        free_list(&all->at[i]);
    free(all->at);
    *all = (lists){0};
}

const file_list *
lists_find(const lists *all, const family *f)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].n > 0 && all->at[i].at[0].f == f)
            return &all->at[i];
    return NULL;
}

bool
listed_is_lost(const listed *g)
{
    const member *m = NULL;

    while ((m = family_next(g->f, m)) != NULL && m->seen == NULL)
        ;
    return m != NULL && rset_name_kept_as(m->seen->name) == RSET_NAME_LOST;
}

static void
note_generations(const listed *at, size_t n, const rset_which *which, rset_generations *out)
{
    *out = (rset_generations){0};
    for (size_t i = 0; i < n; i++)
        if (at[i].generation != 0) {
            rset_generations_add(out, at[i].generation);
            rset_generations_note(out, which, at[i].generation, family_stamp(at[i].f).label);
        }
}

void
list_generations(const file_list *l, const rset_which *which, rset_generations *out)
{
    note_generations(l->at, l->n, which, out);
    out->published = l->n > 0 && l->at[0].newest ? l->at[0].generation : 0;
    rset_generations_add_lost(out);
}

static const listed *
find_in(const listed *at, size_t n, uint64_t generation)
{
    for (size_t i = 0; i < n && generation != 0; i++)
        if (at[i].generation == generation)
            return &at[i];
    return NULL;
}

const listed *
list_find(const file_list *l, uint64_t generation)
{
    return find_in(l->at, l->n, generation);
}

const listed *
list_find_aside(const file_list *l, const rset_which *which)
{
    rset_generations aside;

    if (which->back > 0) /* that is counted from the newest */
        return NULL;
    note_generations(l->aside, l->naside, which, &aside);
    return find_in(l->aside, l->naside, rset_generations_find(&aside, which));
}

/* What is older may rest on the newest, and has gone with it. */
static bool
is_list_deleted(const file_list *l)
{
    return l->n > 0 && l->at[0].newest && is_deleted(&l->at[0].f->decision);
}

int
lists_exit_status(const lists *all)
{
    int worst = all->n > 0 ? EXITS_WELL : EXITS_NOTHING;

    for (size_t i = 0; i < all->n; i++)
        for (size_t k = 0; k < all->at[i].n && !is_list_deleted(&all->at[i]); k++)
            worst = exits_worse(worst, family_exit_status(all->at[i].at[k].f));
    return worst;
}
