/* stats.c: see stats.h. */
#include "stats.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Programs whose names differ in more than digits make a kind of each. */
enum { KINDS_MAX = 256, NUMBERS = sizeof(rset_stats) / sizeof(uint64_t) };

_Static_assert(sizeof(rset_stats) == NUMBERS * sizeof(uint64_t), "nothing but numbers");

typedef struct entry {
    struct entry        *next;
    const void          *place;
    char                 kind[RSET_KIND_MAX];
    atomic_uint_fast64_t numbers[NUMBERS];
} entry;

static _Atomic(entry *)     entries;
static entry                everything;
static atomic_uint_fast32_t nentries;

/* ---- filling ---- */

static void
add(entry *e, const rset_stats *more)
{
    uint64_t numbers[NUMBERS];

    memcpy(numbers, more, sizeof numbers);
    for (int i = 0; i < NUMBERS; i++)
        if (numbers[i] != 0)
            atomic_fetch_add_explicit(&e->numbers[i], numbers[i], memory_order_relaxed);
}

static entry *
find(const void *place, const char *kind)
{
    entry *e = atomic_load(&entries);

    while (e != NULL && (e->place != place || strcmp(e->kind, kind) != 0))
        e = e->next;
    return e;
}

/* NULL: there is no room. Two threads may make an entry of one kind at a time: readers add them up. */
static entry *
make(const void *place, const char *kind)
{
    entry *e = atomic_load(&nentries) < KINDS_MAX ? calloc(1, sizeof *e) : NULL;

    if (e == NULL)
        return NULL;
    e->place = place;
    snprintf(e->kind, sizeof e->kind, "%s", kind);
    e->next = atomic_load(&entries);
    while (!atomic_compare_exchange_weak(&entries, &e->next, e))
        continue;
    atomic_fetch_add(&nentries, 1);
    return e;
}

void
rset_stats_add(const void *place, const char *kind, const rset_stats *more)
{
    entry *e = find(place, kind);

    if (e == NULL)
        e = make(place, kind);
    if (e != NULL)
        add(e, more);
    add(&everything, more);
}

/* ---- reading ---- */

static void
add_to(rset_stats *sum, const entry *e)
{
    uint64_t numbers[NUMBERS];

    memcpy(numbers, sum, sizeof numbers);
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] += atomic_load_explicit(&e->numbers[i], memory_order_relaxed);
    memcpy(sum, numbers, sizeof numbers);
}

rset_stats
rset_stats_of(const char *kind)
{
    rset_stats sum = {0};

    if (kind == NULL) {
        add_to(&sum, &everything);
        return sum;
    }
    for (const entry *e = atomic_load(&entries); e != NULL; e = e->next)
        if (strcmp(e->kind, kind) == 0)
            add_to(&sum, e);
    return sum;
}

bool
rset_stats_next(const void *place, const char *after, char kind_out[RSET_KIND_MAX], rset_stats *out)
{
    const entry *first = NULL;

    for (const entry *e = atomic_load(&entries); e != NULL; e = e->next)
        if (e->place == place && strcmp(e->kind, after) > 0 &&
            (first == NULL || strcmp(e->kind, first->kind) < 0))
            first = e;
    if (first == NULL)
        return false;
    *out = (rset_stats){0};
    snprintf(kind_out, RSET_KIND_MAX, "%s", first->kind);
    for (const entry *e = atomic_load(&entries); e != NULL; e = e->next)
        if (e->place == place && strcmp(e->kind, first->kind) == 0)
            add_to(out, e);
    return true;
}
