/* report_svg.c: the map as a picture. See report.h. */
#include "map.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

enum { LEFT = 84, TOP = 46, TILE = 44, ROW = 28, GAP = 8, TITLE = 26, LEGEND = 40, LETTER = 7 };

/* For XML; what `shown` leaves is UTF-8 without control characters. */
static void
put_xml(const char *text, FILE *to)
{
    for (; *text != '\0'; text++) {
        if (*text == '<')
            fputs("&lt;", to);
        else if (*text == '&')
            fputs("&amp;", to);
        else if (*text == '"')
            fputs("&quot;", to);
        else
            fputc(*text, to);
    }
}

/* Tiles that stand side by side in a column: as many as any set has there. */
static int *
column_tiles(const catalog *c, const map *m)
{
    int *most = must_alloc(m->columns.n * sizeof *most);
    int *here = must_alloc(m->columns.n * sizeof *here);

    for (size_t i = 0; i < c->n; i++) {
        if (!c->sets[i]->asked)
            continue;
        memset(here, 0, m->columns.n * sizeof *here);
        for (int k = 0; k < c->sets[i]->desc.members; k++) {
            int column = map_column(m, &c->sets[i]->members[k]);

            if (++here[column] > most[column])
                most[column] = here[column];
        }
    }
    free(here);
    return most;
}

/* Left edge of each column, and behind the last. A heading has to fit as well. */
static int *
column_edges(const map *m, const int *tiles)
{
    int *edge = must_alloc((m->columns.n + 1) * sizeof *edge);

    edge[0] = LEFT;
    for (size_t i = 0; i < m->columns.n; i++) {
        char *heading = map_heading(m, (int)i, 24);
        int   text = LETTER * (int)strlen(heading), row = TILE * tiles[i];

        edge[i + 1] = edge[i] + (text > row ? text : row) + GAP;
        free(heading);
    }
    return edge;
}

static void
put_tile(const member *m, int x, int y, FILE *to)
{
    const state_look *look = &state_looks[m->state];
    char             *path = member_path(m), *safe = shown(path), *words = describe_state(m);
    char             *state = shown(words);

    fprintf(to, "<g><title>");
    put_xml(safe, to);
    fputs(": ", to);
    put_xml(state, to);
    fprintf(to,
            "</title><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\" fill=\"%s\"/>"
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"white\">%d%s%c</text></g>\n",
            x, y, TILE - 4, ROW - 6, look->rgb, x + TILE / 2 - 2, y + 15, m->rank,
            look->letter == ' ' ? "" : " ", look->letter);
    free(path);
    free(safe);
    free(words);
    free(state);
}

static void
put_set(const map *m, const cat_set *s, const int *edge, int y, FILE *to)
{
    int *used = must_alloc(m->columns.n * sizeof *used);

    fprintf(to, "<text x=\"8\" y=\"%d\">set %d%s</text>\n", y + 15, s->desc.set,
            s->verdict == VERDICT_UNRECOVERABLE ? " ✗"
            : s->verdict == VERDICT_HEALTHY     ? ""
                                                : " !");
    for (int i = 0; i < s->desc.members; i++) {
        int column = map_column(m, &s->members[i]);

        put_tile(&s->members[i], edge[column] + TILE * used[column]++, y, to);
    }
    free(used);
}

static void
put_headings(const map *m, const int *edge, FILE *to)
{
    for (size_t i = 0; i < m->columns.n; i++) {
        char *heading = map_heading(m, (int)i, 24);

        fprintf(to, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">", edge[i], TOP - 12);
        put_xml(heading, to);
        fputs("</text>\n", to);
        free(heading);
    }
}

static void
put_legend(int y, FILE *to)
{
    int x = 8;

    for (int s = 0; s < STATE_COUNT; s++) {
        fprintf(to,
                "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/>"
                "<text x=\"%d\" y=\"%d\">%s</text>\n",
                x, y, state_looks[s].rgb, x + 16, y + 10, state_looks[s].word);
        x += 30 + LETTER * (int)strlen(state_looks[s].word);
    }
}

static int
count_rows(const catalog *c, int *titles)
{
    int last = -1, rows = 0;

    *titles = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (!c->sets[i]->asked)
            continue;
        *titles += last != c->sets[i]->family;
        last = c->sets[i]->family;
        rows++;
    }
    return rows;
}

void
report_svg(const catalog *c, FILE *to)
{
    int  last = -1, titles, rows = count_rows(c, &titles), y = TOP, width;
    int *tiles, *edge;
    map  m;

    map_make(c, &m);
    tiles = column_tiles(c, &m);
    edge = column_edges(&m, tiles);
    width = edge[m.columns.n] > 620 ? edge[m.columns.n] : 620;
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            width, TOP + ROW * rows + TITLE * titles + LEGEND);
    put_headings(&m, edge, to);
    for (size_t i = 0; i < c->n; i++) {
        const cat_set *s = c->sets[i];

        if (!s->asked)
            continue;
        if (last != s->family) {
            char *what = describe_family(&c->families[s->family]);

            fprintf(to, "<text x=\"8\" y=\"%d\" fill=\"#555\">", y + 15);
            put_xml(what, to);
            fputs("</text>\n", to);
            free(what);
            y += TITLE;
        }
        put_set(&m, s, edge, y, to);
        last = s->family;
        y += ROW;
    }
    put_legend(y + 14, to);
    fputs("</svg>\n", to);
    free(tiles);
    free(edge);
    map_free(&m);
}
