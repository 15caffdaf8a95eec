/* generations.c: see generations.h. */
#include "generations.h"

#include "member/kept.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is meant ---- */

rset_status
rset_which_parse(const char *text, rset_which *out, rset_err *err)
{
    const bool     back = text[0] == '-';
    const char    *digits = back ? text + 1 : text;
    const size_t   n = strspn(digits, "0123456789");
    const uint64_t value = n > 0 && n < 9 ? strtoull(digits, NULL, 10) : 0;

    if (digits[n] != '\0' || value == 0)
        return rset_fail(err, RSET_USAGE,
                         "generation cannot be \"%s\"; possible: -1, -2, ... (so many before the "
                         "newest), or a number of commits, as \"h5redset status\" shows it",
                         text);
    *out = back ? (rset_which){.back = (unsigned)value} : (rset_which){.commits = value};
    return RSET_OK;
}

uint64_t
rset_generations_find(const rset_generations *all, const rset_which *which)
{
    if (which->back > 0)
        return which->back < all->n ? all->at[which->back] : 0;
    for (uint64_t i = 0; i < all->n; i++)
        if (rset_generation_commits(all->at[i]) == which->commits)
            return all->at[i];
    return 0;
}

rset_status
rset_generations_none(const rset_generations *all, const char *which, const char *path,
                      rset_err *err)
{
    char   list[RSET_GENERATIONS_MAX * 24] = "";
    size_t len = 0;

    for (uint64_t i = 0; i < all->n; i++)
        len += (size_t)snprintf(list + len, sizeof list - len, "%s%" PRIu64, i > 0 ? ", " : "",
                                rset_generation_commits(all->at[i]));
    return rset_fail(err, RSET_USAGE,
                     "%s: there is no generation %s; there are, newest first: %s; keep=N keeps so "
                     "many of those that are written from now on",
                     path, which, list);
}

/* ---- which there are ---- */

/* In its place, once. */
static void
insert(rset_generations *all, uint64_t generation)
{
    uint64_t at = 0;

    while (at < all->n && rset_generation_newer(all->at[at], generation))
        at++;
    if (at == RSET_GENERATIONS_MAX || (at < all->n && all->at[at] == generation))
        return;
    all->n += all->n < RSET_GENERATIONS_MAX;
    memmove(all->at + at + 1, all->at + at, (size_t)(all->n - at - 1) * sizeof all->at[0]);
    all->at[at] = generation;
}

void
rset_generations_of(const rset_evidence *ev, rset_generations *out)
{
    const uint64_t newest = rset_evidence_generation(ev);

    *out = (rset_generations){0};
    if (newest != 0)
        insert(out, newest);
    for (size_t i = 0; i < ev->nkept; i++)
        if (newest == 0 || rset_generation_newer(newest, ev->kept[i]))
            insert(out, ev->kept[i]);
}

static void
merge(void *into, const void *other)
{
    rset_generations       *a = into;
    const rset_generations *b = other;

    for (uint64_t i = 0; i < b->n && i < RSET_GENERATIONS_MAX; i++)
        insert(a, b->at[i]);
}

rset_status
rset_generations_of_all(rset_comm *world, const char *host, rset_generations *all, rset_err *err)
{
    const rset_reduction what = {all, sizeof *all, merge};

    return rset_reduce(world, RSET_OK, host, &what, err);
}
