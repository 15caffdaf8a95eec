/* scaling_svg.c: the figures of scaling.h as pictures: one for each count, a line for each thing that a job does, ranks to the
 * right and the worst rank's count upwards, both logarithmic; dashed: what the model says up to 100,000 ranks. */
#include "scaling.h"

#include "report.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum {
    PANEL = 370,
    HIGH = 260,
    LEFT = 54,
    PLOT = 296,
    TOP = 44,
    DEEP = 180,
    ROWS = 3,
    HEAD = 30,
    MARGIN = 8
};

static const char *const colours[BENCH_PHASES] = {
    [BENCH_PHASE_CREATE] = "#999999",  [BENCH_PHASE_CLOSE_FIRST] = "#d9a441",
    [BENCH_PHASE_CLOSE] = "#b5473c",   [BENCH_PHASE_ENCODE] = "#7a4fa3",
    [BENCH_PHASE_OPEN] = "#4a8f5c",    [BENCH_PHASE_REBUILD_ONE] = "#3c7fb5",
    [BENCH_PHASE_REBUILD] = "#1d4566", [BENCH_PHASE_READ] = "#3aa6a0",
    [BENCH_PHASE_END] = "#c774a8"};

/* One picture: where it is, and the powers of ten that it goes from and to. */
typedef struct panel {
    int x, y;
    int from, to;
} panel;

static double
x_of(const panel *p, double ranks)
{
    return p->x + LEFT + PLOT * log2(ranks / 2) / log2(BENCH_FAR / 2.0);
}

static double
y_of(const panel *p, double value)
{
    const double decades = log10(fmax(value, pow(10, p->from))) - p->from;

    return p->y + TOP + DEEP * (1 - decades / (p->to - p->from));
}

static panel
panel_of(const bench_curves *curves, bench_count count)
{
    panel  p = {.x = (int)count % 2 * PANEL, .y = HEAD + (int)count / 2 * HIGH};
    double least = INFINITY, most = 1;

    for (int phase = 0; phase < BENCH_PHASES; phase++) {
        const bench_model m = bench_model_of(curves, (bench_phase)phase, count, BENCH_WORST);

        most = fmax(most, bench_model_at(&m, BENCH_FAR));
        for (int i = 0; i < curves->n; i++) {
            const double value = curves->points[i].value[phase][count][BENCH_WORST];

            most = fmax(most, value);
            least = value > 0 ? fmin(least, value) : least;
        }
    }
    p.from = isfinite(least) ? (int)floor(log10(least)) : 0;
    p.to = (int)ceil(log10(most));
    p.to += p.to <= p.from;
    return p;
}

/* ---- parts ---- */

static void
put_grid_line(const panel *p, double y, const char *label, FILE *to)
{
    fprintf(to, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>\n",
            p->x + LEFT, y, p->x + LEFT + PLOT, y);
    fprintf(to, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" fill=\"#555\">%s</text>\n",
            p->x + LEFT - 6, y + 4, label);
}

static void
put_axes(const panel *p, const char *title, FILE *to)
{
    static const double at[] = {2, 16, 128, 1024, 8192, BENCH_FAR};
    const int           floor_y = p->y + TOP + DEEP;

    fprintf(to, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">%s per rank, worst rank</text>\n",
            p->x + LEFT, p->y + TOP - 14, title);
    for (int decade = p->from; decade <= p->to; decade++) {
        char label[16];

        snprintf(label, sizeof label, decade < 4 ? "%.0f" : "%.0e", pow(10, decade));
        put_grid_line(p, y_of(p, pow(10, decade)), label, to);
    }
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++)
        fprintf(to, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"#555\">%.0f</text>\n",
                x_of(p, at[i]), floor_y + 16, at[i]);
}

/* What is measured is a line with points, what is not is dashed. */
static void
put_curve(const bench_curves *curves, const panel *p, bench_phase phase, bench_count count,
          FILE *to)
{
    const bench_model m = bench_model_of(curves, phase, count, BENCH_WORST);
    const double      last = curves->points[curves->n - 1].ranks;

    fprintf(to, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"",
            colours[phase]);
    for (int i = 0; i < curves->n; i++)
        fprintf(to, "%.1f,%.1f ", x_of(p, curves->points[i].ranks),
                y_of(p, curves->points[i].value[phase][count][BENCH_WORST]));
    fprintf(to, "\"/>\n");
    for (int i = 0; i < curves->n; i++)
        fprintf(to, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2\" fill=\"%s\"/>\n",
                x_of(p, curves->points[i].ranks),
                y_of(p, curves->points[i].value[phase][count][BENCH_WORST]), colours[phase]);
    fprintf(to, "<polyline fill=\"none\" stroke=\"%s\" stroke-dasharray=\"4 3\" points=\"",
            colours[phase]);
    for (double n = last; n < BENCH_FAR; n *= 1.25)
        fprintf(to, "%.1f,%.1f ", x_of(p, n), y_of(p, bench_model_at(&m, n)));
    fprintf(to, "%.1f,%.1f\"/>\n", x_of(p, BENCH_FAR), y_of(p, bench_model_at(&m, BENCH_FAR)));
}

/* In the place of a sixth picture. */
static void
put_legend(FILE *to)
{
    int y = HEAD + (ROWS - 1) * HIGH + TOP;

    for (int phase = 0; phase < BENCH_PHASES; phase++, y += 20)
        fprintf(to,
                "<rect x=\"%d\" y=\"%d\" width=\"18\" height=\"4\" fill=\"%s\"/>\n"
                "<text x=\"%d\" y=\"%d\">%s</text>\n",
                PANEL + LEFT, y - 6, colours[phase], PANEL + LEFT + 26, y,
                bench_phase_names[phase].title);
    fprintf(to, "<text x=\"%d\" y=\"%d\" fill=\"#555\">dashed: what the model says</text>\n",
            PANEL + LEFT, y + 4);
}

static bool
has_curve(const bench_curves *curves, bench_phase phase, bench_count count)
{
    return curves->points[curves->n - 1].value[phase][count][BENCH_WORST] > 0;
}

bool
bench_scaling_svg(const bench *b, const bench_curves *curves, const char *path)
{
    FILE *to = fopen(path, "w");

    if (to == NULL)
        return bench_fail(b, "%s: cannot be written: %s", path, strerror(errno));
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            2 * PANEL + MARGIN, HEAD + ROWS * HIGH);
    fprintf(to,
            "<text x=\"8\" y=\"24\" font-size=\"14\" font-weight=\"bold\">What grows with the "
            "number of ranks: %d to %d ranks, RS(2) in sets of 8</text>\n",
            curves->points[0].ranks, curves->points[curves->n - 1].ranks);
    for (int count = 0; count < BENCH_COUNTS; count++) {
        const panel p = panel_of(curves, (bench_count)count);

        put_axes(&p, bench_count_names[count].title, to);
        for (int phase = 0; phase < BENCH_PHASES; phase++)
            if (has_curve(curves, (bench_phase)phase, (bench_count)count))
                put_curve(curves, &p, (bench_phase)phase, (bench_count)count, to);
    }
    put_legend(to);
    fprintf(to, "</svg>\n");
    return fclose(to) == 0 || bench_fail(b, "%s: cannot be written: %s", path, strerror(errno));
}
