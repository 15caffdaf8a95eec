/* report_svg.c: the map as a picture. See report.h. Nodes are columns, ranks are tiles in the colour of their set; a tile
 * that is not healthy has the colour and the letter of its state. Text is monospaced, so its width is known. */
#include "map.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

enum {
    EDGE = 16,
    LETTER = 8,
    LINE = 20,
    TILE_WIDTH = 54,
    TILE_HEIGHT = 26,
    GAP = 6,
    HEADING = 14, /* letters */
    ACROSS = 16,  /* columns, or tiles where there are fewer columns */
    NARROW = 640
};

/* One rank of a family. */
typedef struct tile {
    const member    *m;
    const rset_desc *desc; /* of its set */
    int              column;
} tile;

/* One family, and where it is drawn. */
typedef struct panel {
    const map *map;
    cat_set  **sets;
    size_t     nsets, ntiles;
    tile      *tiles;          /* by rank */
    int        across;         /* tiles side by side in a column */
    int        columns, width; /* side by side; of each */
    int        right;          /* the rightmost of all that was drawn */
} panel;

/* For XML; what `shown` leaves is UTF-8 without control characters. */
static void
put_xml(const char *raw, FILE *to)
{
    char *safe = shown(raw);

    for (const char *text = safe; *text != '\0'; text++) {
        if (*text == '<')
            fputs("&lt;", to);
        else if (*text == '&')
            fputs("&amp;", to);
        else if (*text == '"')
            fputs("&quot;", to);
        else
            fputc(*text, to);
    }
    free(safe);
}

static void
put_text(panel *p, int x, int y, const char *attributes, const char *text, FILE *to)
{
    int end = x + LETTER * (int)strlen(text);

    fprintf(to, "<text x=\"%d\" y=\"%d\"%s>", x, y, attributes);
    put_xml(text, to);
    fputs("</text>\n", to);
    p->right = end > p->right ? end : p->right;
}

/* Neighbouring numbers have hues far apart. */
static void
put_box(int set, int x, int y, int width, int height, const char *more, FILE *to)
{
    fprintf(to,
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\" "
            "fill=\"hsl(%d,%d%%,80%%)\" %s/>",
            x, y, width, height, (200 + set * 137) % 360, set < 0 ? 0 : 60, more);
}

/* ---- tiles ---- */

static void
put_mark(const state_look *look, int x, int y, FILE *to)
{
    fprintf(to,
            "<rect x=\"%d\" y=\"%d\" width=\"16\" height=\"16\" rx=\"3\" fill=\"%s\"/>"
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"white\" "
            "font-weight=\"bold\">%c</text>",
            x, y, look->rgb, x + 8, y + 13, look->letter);
}

static void
put_tile(const tile *t, int x, int y, FILE *to)
{
    const state_look *look = &state_looks[t->m->state];
    const bool        healthy = t->m->state == STATE_HEALTHY;
    char             *words = describe_state(t->m);
    char             *title = must_print("%s: %s (set %d)", member_path(t->m), words, t->desc->set);
    char *frame = must_print("stroke=\"%s\" stroke-width=\"%d\"%s", look->rgb, healthy ? 1 : 3,
                             t->m->state == STATE_LOST ? " stroke-dasharray=\"5 3\"" : "");

    fputs("<g class=\"tile\"><title>", to);
    put_xml(title, to);
    fputs("</title>", to);
    put_box(t->desc->set, x, y, TILE_WIDTH, TILE_HEIGHT, frame, to);
    fprintf(to, "<text x=\"%d\" y=\"%d\">%d</text>", x + 6, y + 18, t->m->rank);
    if (!healthy)
        put_mark(look, x + TILE_WIDTH - 20, y + 5, to);
    fputs("</g>\n", to);
    free(words);
    free(title);
    free(frame);
}

static int
by_rank(const void *a, const void *b)
{
    const member *x = ((const tile *)a)->m, *y = ((const tile *)b)->m;

    return (x->rank > y->rank) - (x->rank < y->rank);
}

static void
gather_tiles(panel *p)
{
    size_t room = 0;

    for (size_t i = 0; i < p->nsets; i++)
        for (int k = 0; k < p->sets[i]->desc.members; k++) {
            const member *m = &p->sets[i]->members[k];

            p->tiles = must_have_room(p->tiles, p->ntiles, &room, sizeof *p->tiles);
            p->tiles[p->ntiles++] = (tile){m, &p->sets[i]->desc, map_column(p->map, m)};
        }
    if (p->ntiles > 0)
        qsort(p->tiles, p->ntiles, sizeof *p->tiles, by_rank);
}

/* ---- columns ---- */

/* As many tiles side by side as a column has on average, in the family with most ranks, if there is room for that. */
static void
measure(panel *p, const catalog *c)
{
    const int n = (int)p->map->columns.n;
    int       letters = 0, most = 1;

    for (size_t i = 0; i < c->nfamilies; i++)
        most = c->families[i].desc.ranks > most ? c->families[i].desc.ranks : most;
    p->columns = n < ACROSS ? n : ACROSS;
    p->across = ACROSS / p->columns;
    if (p->across > (most + n - 1) / n)
        p->across = (most + n - 1) / n;
    for (int i = 0; i < n; i++) {
        char *heading = map_heading(p->map, i, HEADING);

        letters = (int)strlen(heading) > letters ? (int)strlen(heading) : letters;
        free(heading);
    }
    p->width = p->across * (TILE_WIDTH + GAP);
    if (p->width < letters * LETTER)
        p->width = letters * LETTER;
    p->width += 2 * GAP;
}

/* What is in one column, below its heading. Returns the lower edge. */
static int
put_column(panel *p, int column, int x, int y, FILE *to)
{
    char *heading = map_heading(p->map, column, HEADING);
    int   n = 0;

    put_text(p, x, y + 14, " class=\"node\" font-weight=\"bold\"", heading, to);
    free(heading);
    y += LINE;
    for (size_t i = 0; i < p->ntiles; i++) {
        if (p->tiles[i].column != column)
            continue;
        put_tile(&p->tiles[i], x + n % p->across * (TILE_WIDTH + GAP),
                 y + n / p->across * (TILE_HEIGHT + GAP), to);
        n++;
    }
    return y + (n + p->across - 1) / p->across * (TILE_HEIGHT + GAP);
}

static bool
is_used(const panel *p, int column)
{
    size_t i = 0;

    while (i < p->ntiles && p->tiles[i].column != column)
        i++;
    return i < p->ntiles;
}

/* Those with files of the family, in lines of so many. */
static int
put_columns(panel *p, int y, FILE *to)
{
    int lowest = y, n = 0;

    for (int i = 0; i < (int)p->map->columns.n; i++) {
        int end, place = n % p->columns;

        if (!is_used(p, i))
            continue;
        if (place == 0)
            y = lowest;
        end = put_column(p, i, EDGE + place * p->width, y, to) + GAP;
        lowest = end > lowest ? end : lowest;
        n++;
    }
    if (p->right < EDGE + p->columns * p->width)
        p->right = EDGE + p->columns * p->width;
    return lowest;
}

/* ---- legends ---- */

/* Room for one more entry in a line of the legend: goes on to the next line where it is full. */
static void
advance(const panel *p, int *x, int *y, const char *text)
{
    const int width = 24 + LETTER * (int)strlen(text),
              right = p->right < NARROW ? NARROW : p->right;

    if (*x > EDGE && *x + width > right) {
        *x = EDGE;
        *y += LINE;
    }
}

static int
put_sets(panel *p, int y, FILE *to)
{
    int x = EDGE;

    for (size_t i = 0; i < p->nsets; i++) {
        const cat_set *s = p->sets[i];
        char          *text =
            must_print("set %d%s%s", s->desc.set, s->verdict == VERDICT_HEALTHY ? "" : ": ",
                       s->verdict == VERDICT_HEALTHY ? "" : verdict_looks[s->verdict].word);

        advance(p, &x, &y, text);
        put_box(s->desc.set, x, y, 14, 14, "stroke=\"#888\"", to);
        put_text(p, x + 20, y + 12, "", text, to);
        x += 24 + LETTER * ((int)strlen(text) + 1);
        free(text);
    }
    return y + 2 * LINE;
}

static int
put_states(panel *p, int y, FILE *to)
{
    int x = EDGE;

    for (int s = 0; s < STATE_COUNT; s++) {
        advance(p, &x, &y, state_looks[s].word);
        if (s == STATE_HEALTHY)
            put_box(-1, x, y, 14, 14, "stroke=\"#4a8f5c\"", to);
        else
            put_mark(&state_looks[s], x, y - 1, to);
        put_text(p, x + 20, y + 12, "", state_looks[s].word, to);
        x += 24 + LETTER * ((int)strlen(state_looks[s].word) + 1);
    }
    return y + LINE;
}

/* ---- the picture ---- */

/* A family: its sets begin at c->sets[first]. Returns how many there are. */
static size_t
put_family(const catalog *c, size_t first, panel *p, int *y, FILE *to)
{
    char  *what = describe_family(&c->families[c->sets[first]->family]);
    size_t n = 0;

    p->sets = must_alloc((c->n - first) * sizeof *p->sets);
    p->nsets = p->ntiles = 0;
    for (; first + n < c->n && c->sets[first + n]->family == c->sets[first]->family; n++)
        if (c->sets[first + n]->asked)
            p->sets[p->nsets++] = c->sets[first + n];
    gather_tiles(p);
    put_text(p, EDGE, *y + 14, " font-weight=\"bold\"", what, to);
    *y = put_columns(p, *y + LINE + GAP, to);
    *y = put_sets(p, *y, to);
    free(what);
    free(p->tiles);
    free(p->sets);
    p->tiles = NULL;
    return n;
}

void
report_svg(const catalog *c, FILE *to)
{
    char  *text = NULL;
    size_t size = 0;
    int    y = EDGE;
    FILE  *body = open_memstream(&text, &size);
    map    m;
    panel  p = {.map = &m};

    if (body == NULL)
        no_memory();
    map_make(c, &m);
    if (m.columns.n > 0)
        measure(&p, c);
    for (size_t i = 0; i < c->n;)
        i += c->sets[i]->asked ? put_family(c, i, &p, &y, body) : 1;
    y = put_states(&p, y, body);
    if (fclose(body) != 0)
        no_memory();
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"monospace\" font-size=\"13\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n%s</svg>\n",
            (p.right < NARROW ? NARROW : p.right) + EDGE, y + EDGE, text);
    free(text);
    map_free(&m);
}
