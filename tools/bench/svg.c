/* svg.c: a bar for every ratio that has a goal, and where the goal is. See report.h. */
#include "report.h"

#include <errno.h>
#include <string.h>

enum { LEFT = 330, WIDTH = 480, RIGHT = 110, TOP = 44, ROW = 18, BAR = 11 };

static const double most = 3; /* the ratio at the right end; longer bars are cut and say so */

static bool
has_bar(const bench *b, const bench_line *line)
{
    return line->n > 0 && bench_line_goal(line) > 0 && bench_kinds[line->what].over >= 0 &&
           bench_line_ratio(b->results, line) > 0;
}

static double
x_of(double ratio)
{
    return LEFT + WIDTH * (ratio < most ? ratio : most) / most;
}

static void
put_axis(FILE *to, int height)
{
    for (int i = 0; i <= 6; i++) {
        double x = x_of(i * most / 6);

        fprintf(to,
                "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#ddd\"/>\n"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.1f</text>\n",
                x, TOP - 6, x, height - 10, x, TOP - 10, i * most / 6);
    }
}

static void
put_bar(const bench *b, const bench_line *line, int y, FILE *to)
{
    double      ratio = bench_line_ratio(b->results, line), goal = bench_line_goal(line);
    const char *colour = ratio <= goal ? "#4a8f5c" : ratio <= 3 * goal ? "#d9a441" : "#b5473c";

    fprintf(to, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s: %s</text>\n", LEFT - 8,
            y + BAR - 1, line->subject, bench_kinds[line->what].title);
    fprintf(to, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", LEFT, y,
            x_of(ratio) - LEFT, BAR, colour);
    fprintf(to,
            "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"black\" "
            "stroke-width=\"2\"/>\n",
            x_of(goal), y - 2, x_of(goal), y + BAR + 2);
    fprintf(to, "<text x=\"%.1f\" y=\"%d\">%s%.2f</text>\n", x_of(ratio) + 6, y + BAR - 1,
            ratio > most ? "&#8230; " : "", ratio);
}

static void
put_head(const bench *b, int height, FILE *to)
{
    char size[32];

    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"11\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            LEFT + WIDTH + RIGHT, height);
    fprintf(to,
            "<text x=\"8\" y=\"16\" font-size=\"13\">Ratios, and their goals (black): %d ranks on "
            "%d processors, %s per rank, %s</text>\n",
            b->size, bench_report_processors(), bench_report_size((double)b->options.size, size),
            bench_report_filesystem(b));
    put_axis(to, height);
}

bool
bench_report_svg(const bench *b, const char *path)
{
    FILE *to = fopen(path, "w");
    int   bars = 0, y = TOP;

    if (to == NULL)
        return bench_fail(b, "%s: cannot be written: %s", path, strerror(errno));
    for (int i = 0; i < b->results->n; i++)
        bars += has_bar(b, &b->results->lines[i]);
    put_head(b, TOP + bars * ROW + 14, to);
    for (int i = 0; i < b->results->n; i++)
        if (has_bar(b, &b->results->lines[i])) {
            put_bar(b, &b->results->lines[i], y, to);
            y += ROW;
        }
    fprintf(to, "</svg>\n");
    return fclose(to) == 0 || bench_fail(b, "%s: cannot be written: %s", path, strerror(errno));
}
