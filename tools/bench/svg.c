/* svg.c: every ratio that has a goal, as a bar from the goal to the ratio. See report.h.
 *
 * Ratios lie between a few hundredths and some tens, and goals differ, so the axis is the ratio over its goal, on a
 * logarithmic scale: one line for all goals, no bar is cut, and what is better than its goal goes to the left. Bars of
 * one measurement stand together below its name. */
#include "report.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { NAMES = 170, LEFT = 180, WIDTH = 460, VALUES = 720, RIGHT = 740 };
enum { TITLE = 24, LEGEND = 48, TOP = 92, ROW = 18, BAR = 11, HEAD = 26, BOTTOM = 12 };

static const char   good[] = "#4a8f5c", over[] = "#d9a441", absurd[] = "#b5473c";
static const double least = 0.125, most = 128; /* at the ends of the axis, ratio over goal */

static bool
has_bar(const bench *b, const bench_line *line)
{
    return line->n > 0 && bench_line_goal(line) > 0 && bench_kinds[line->what].over >= 0 &&
           bench_line_ratio(b->results, line) > 0;
}

/* The line that has the first bar of this measurement, or NULL. */
static const bench_line *
first_of(const bench *b, bench_what what)
{
    for (int i = 0; i < b->results->n; i++)
        if (b->results->lines[i].what == what && has_bar(b, &b->results->lines[i]))
            return &b->results->lines[i];
    return NULL;
}

static double
x_of(double over_goal)
{
    double within = over_goal < least ? least : over_goal > most ? most : over_goal;

    return LEFT + WIDTH * log(within / least) / log(most / least);
}

/* ---- parts ---- */

static void
put_axis(FILE *to, int bottom)
{
    for (double at = least; at <= most; at *= 2) {
        double x = x_of(at);

        fprintf(to,
                "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"%s\"/>\n"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"#555\">%g</text>\n",
                x, TOP - 6, x, bottom, at == 1 ? "black" : "#ddd", x, TOP - 12, at);
    }
    fprintf(to,
            "<text x=\"8\" y=\"%d\" fill=\"#555\">ratio / goal:</text>\n"
            "<text x=\"%d\" y=\"%d\" text-anchor=\"end\" fill=\"#555\">ratio</text>\n",
            TOP - 12, VALUES, TOP - 12);
}

static void
put_legend(FILE *to)
{
    const struct {
        int         x;
        const char *colour, *text;
    } entries[] = {{8, good, "goal reached"},
                   {128, over, "over the goal"},
                   {248, absurd, "more than 3 times the goal"}};

    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        fprintf(to,
                "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n"
                "<text x=\"%d\" y=\"%d\">%s</text>\n",
                entries[i].x, LEGEND - 10, BAR, BAR, entries[i].colour, entries[i].x + 18, LEGEND,
                entries[i].text);
    fprintf(to,
            "<line x1=\"440\" y1=\"%d\" x2=\"440\" y2=\"%d\" stroke=\"black\"/>\n"
            "<text x=\"450\" y=\"%d\">the goal; bars to its left are better</text>\n",
            LEGEND - 11, LEGEND + 2, LEGEND);
}

static void
put_head(const bench *b, int height, FILE *to)
{
    char size[32];

    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            RIGHT, height);
    fprintf(to,
            "<text x=\"8\" y=\"%d\" font-size=\"14\" font-weight=\"bold\">Ratios and their goals: "
            "%d ranks on "
            "%d processors, %s per rank, %s</text>\n",
            TITLE, b->size, bench_report_processors(),
            bench_report_size((double)b->options.size, size), bench_report_filesystem(b));
    put_legend(to);
    put_axis(to, height - BOTTOM);
}

/* "encode / floor of encode, goal 1.00" */
static void
put_name(const bench_line *line, int y, FILE *to)
{
    const bench_kind *kind = &bench_kinds[line->what];

    fprintf(to,
            "<text x=\"8\" y=\"%d\" font-weight=\"bold\" stroke=\"white\" stroke-width=\"4\" "
            "paint-order=\"stroke\">",
            y + BAR - 1);
    if (line->what ==
        BENCH_CLOSE_ASYNC) /* in the table it stands below the line that it is a part of */
        fprintf(to, "H5Fclose, async=yes / H5Fclose, sec2");
    else
        fprintf(to, "%s / %s", kind->title, bench_kinds[kind->over].title);
    fprintf(to, ", goal %.2f</text>\n", bench_line_goal(line));
}

static void
put_bar(const bench *b, const bench_line *line, int y, FILE *to)
{
    double      ratio = bench_line_ratio(b->results, line), goal = bench_line_goal(line);
    double      at = x_of(1), end = x_of(ratio / goal);
    double      from = fmin(at, end) - 1, until = fmax(at, end) + 1; /* seen where both are one */
    const char *colour = ratio <= goal ? good : ratio <= 3 * goal ? over : absurd;

    fprintf(to, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", NAMES, y + BAR - 1,
            line->subject);
    fprintf(to, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", from, y,
            until - from, BAR, colour);
    fprintf(to, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.*f</text>\n", VALUES, y + BAR - 1,
            ratio < 0.1 ? 3 : 2, ratio);
}

bool
bench_report_svg(const bench *b, const char *path)
{
    FILE *to = fopen(path, "w");
    int   height = TOP + BOTTOM, y = TOP;

    if (to == NULL)
        return bench_fail(b, "%s: cannot be written: %s", path, strerror(errno));
    for (int i = 0; i < b->results->n; i++)
        height += has_bar(b, &b->results->lines[i]) ? ROW : 0;
    for (int what = 0; what < BENCH_WHATS; what++)
        height += first_of(b, (bench_what)what) != NULL ? HEAD : 0;
    put_head(b, height, to);
    for (int what = 0; what < BENCH_WHATS; what++) {
        const bench_line *first = first_of(b, (bench_what)what);

        if (first == NULL)
            continue;
        put_name(first, y + HEAD - ROW, to);
        y += HEAD;
        for (int i = 0; i < b->results->n; i++)
            if (b->results->lines[i].what == (bench_what)what &&
                has_bar(b, &b->results->lines[i])) {
                put_bar(b, &b->results->lines[i], y, to);
                y += ROW;
            }
    }
    fprintf(to, "</svg>\n");
    return fclose(to) == 0 || bench_fail(b, "%s: cannot be written: %s", path, strerror(errno));
}
