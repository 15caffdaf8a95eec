/* report_map.c: sets over nodes as a grid (map.h), and in a terminal. See report.h. */
#include "map.h"
#include "report.h"

#include "files.h"

#include <stdlib.h>
#include <string.h>

/* ---- the grid ---- */

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

/* ---- in a terminal ---- */

enum { LEFT = 10, LEAST = 8, MOST = 18 };

static int
column_width(const map *m)
{
    size_t width = LEAST;

    for (size_t i = 0; i < m->columns.n; i++)
        width = strlen(m->columns.at[i]) > width ? strlen(m->columns.at[i]) : width;
    return width > MOST ? MOST : (int)width;
}

static void
draw_tile(const member *m, bool colour, FILE *to)
{
    const state_look *look = &state_looks[m->state];

    if (colour)
        fprintf(to, "\033[97;48;5;%dm", look->ansi);
    fprintf(to, "%4d%c%s ", m->rank, look->letter, colour ? "\033[0m" : "");
}

/* The files of a set that are in this column; more than fit go into further lines. */
static int
files_in(const map *m, const cat_set *s, int column, const member **out)
{
    int n = 0;

    for (int i = 0; i < s->desc.members; i++)
        if (map_column(m, &s->members[i]) == column)
            out[n++] = &s->members[i];
    return n;
}

static void
draw_set(const map *m, const cat_set *s, int width, bool colour, FILE *to)
{
    const member **in = must_alloc((size_t)s->desc.members * sizeof *in);
    int            fit = width / 6 > 0 ? width / 6 : 1;
    bool           more = true;

    for (int line = 0; more; line++) {
        char name[32];

        snprintf(name, sizeof name, "set %d %s", s->desc.set, verdict_looks[s->verdict].mark);
        fprintf(to, "%-*s", LEFT, line == 0 ? name : "");
        more = false;
        for (int c = 0; c < (int)m->columns.n; c++) {
            int n = files_in(m, s, c, in), drawn = 0;

            for (int i = line * fit; i < n && drawn < fit; i++, drawn++)
                draw_tile(in[i], colour, to);
            fprintf(to, "%*s", width - 6 * drawn + 1, "");
            more = more || n > (line + 1) * fit;
        }
        fputc('\n', to);
    }
    free(in);
}

static void
draw_headings(const map *m, const family *f, int width, FILE *to)
{
    char *what = describe_family(f);

    print_line(to, "%s", what);
    fprintf(to, "%-*s", LEFT, "");
    for (size_t i = 0; i < m->columns.n; i++) {
        char *heading = map_heading(m, (int)i, width);

        fprintf(to, "%-*s ", width, heading);
        free(heading);
    }
    fputc('\n', to);
    free(what);
}

static void
draw_legend(const catalog *c, bool colour, FILE *to)
{
    bool used[STATE_COUNT] = {false};

    for (size_t i = 0; i < c->n; i++)
        for (int m = 0; c->sets[i]->asked && m < c->sets[i]->desc.members; m++)
            used[c->sets[i]->members[m].state] = true;
    fputs("ranks:", to);
    for (int s = 0; s < STATE_COUNT; s++) {
        if (!used[s])
            continue;
        if (colour)
            fprintf(to, "  \033[97;48;5;%dm %c \033[0m %s", state_looks[s].ansi,
                    state_looks[s].letter, state_looks[s].word);
        else
            fprintf(to, "  [%c] %s", state_looks[s].letter, state_looks[s].word);
    }
    fputs("    sets: ! repairable  X unrecoverable\n", to);
}

void
report_map(const catalog *c, bool problems, bool colour, FILE *to)
{
    int last = -1, width;
    map m;

    map_make(c, &m);
    width = column_width(&m);
    for (size_t i = 0; i < c->n; i++) {
        const cat_set *s = c->sets[i];

        if (!s->asked || (problems && !is_problem(s)))
            continue;
        if (last != s->family)
            draw_headings(&m, &c->families[s->family], width, to);
        draw_set(&m, s, width, colour, to);
        last = s->family;
    }
    if (last >= 0)
        draw_legend(c, colour, to);
    map_free(&m);
}
