/* map.c: see map.h. */
#include "map.h"

#include <stdlib.h>
#include <string.h>

static const char gone[] = "nowhere";

void
map_make(const catalog *c, map *out)
{
    bool hosts = catalog_many_hosts(c), lost = false;

    *out = (map){0};
    for (size_t i = 0; i < c->n; i++)
        for (int m = 0; c->sets[i]->asked && m < c->sets[i]->desc.members; m++) {
            const sighting *s = c->sets[i]->members[m].seen;

            if (s != NULL)
                strings_add_once(&out->columns, hosts ? s->host : s->dir);
            lost = lost || s == NULL;
        }
    strings_sort(&out->columns);
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
    int column = -1;

    if (one->seen != NULL) {
        column = strings_find(&m->columns, one->seen->host);
        if (column < 0)
            column = strings_find(&m->columns, one->seen->dir);
    }
    return column >= 0 ? column : (int)m->columns.n - 1;
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
