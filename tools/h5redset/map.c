/* map.c: see map.h. */
#include "map.h"

#include <stdlib.h>
#include <string.h>

static const char gone[] = "nowhere";

/* The column of a file. A new string. */
static char *
column_of(bool hosts, const member *one)
{
    if (one->seen != NULL)
        return must_copy(hosts ? one->seen->host : one->seen->dir);
    if (!hosts || member_host(one) == NULL)
        return must_copy(gone);
    return must_print("was on %s", member_host(one));
}

static void
add_all(const strings *from, strings *to)
{
    for (size_t i = 0; i < from->n; i++)
        strings_add_once(to, from->at[i]);
}

void
map_make(const catalog *c, map *out)
{
    strings were = {0};
    bool    lost = false;

    *out = (map){.hosts = catalog_many_hosts(c)};
    for (size_t i = 0; i < c->n; i++)
        for (int m = 0; c->sets[i]->asked && m < c->sets[i]->desc.members; m++) {
            const member *one = &c->sets[i]->members[m];
            char         *column = column_of(out->hosts, one);

            if (strcmp(column, gone) == 0)
                lost = true;
            else
                strings_add_once(one->seen != NULL ? &out->columns : &were, column);
            free(column);
        }
    strings_sort(&out->columns);
    strings_sort(&were);
    add_all(&were, &out->columns);
    strings_free(&were);
    if (lost)
        strings_add(&out->columns, gone);
}

void
map_free(map *m)
{
    strings_free(&m->columns);
}

int
map_column(const map *m, const member *one)
{
    char     *column = column_of(m->hosts, one);
    const int at = strings_find(&m->columns, column);

    free(column);
    return at >= 0 ? at : (int)m->columns.n - 1;
}

char *
map_heading(const map *m, int column, int width)
{
    char  *safe = shown(m->columns.at[column]), *cut;
    size_t n = strlen(safe);

    if (n <= (size_t)width)
        return safe;
    cut = must_print("..%s", safe + n - (size_t)width + 2);
    free(safe);
    return cut;
}
