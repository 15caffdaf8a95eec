/* scaling_report.c: the figures of scaling.h as a table, and as JSON (docs/performance.md). A count that grows with the number of
 * ranks is seen in the row of ratios: each is to half as many ranks, and 2.00 is as fast as n. */
#include "report.h"
#include "scaling.h"

#include <errno.h>
#include <string.h>

enum { FORM_TEXT = 64 };

static const char *const view_names[BENCH_VIEWS] = {
    [BENCH_WORST] = "worst", [BENCH_MEAN] = "mean", [BENCH_ROOT] = "rank0"};
static const char *const form_names[BENCH_FORMS] = {[BENCH_CONSTANT] = "constant",
                                                    [BENCH_LOGARITHMIC] = "log2",
                                                    [BENCH_LINEAR] = "linear",
                                                    [BENCH_LINEAR_LOGARITHMIC] = "n log2",
                                                    [BENCH_LARGER] = "max"};

static bool
is_bytes(bench_count count)
{
    return count >= BENCH_COUNT_SENT_BYTES;
}

/* Nothing to say: no rank has any. */
static bool
is_empty(const bench_curves *curves, bench_phase phase, bench_count count)
{
    for (int i = 0; i < curves->n; i++)
        if (curves->points[i].value[phase][count][BENCH_WORST] > 0)
            return false;
    return true;
}

/* ---- the table ---- */

/* Bytes as KiB, in a column of 8. */
static void
print_value(double value, bench_count count, FILE *to)
{
    if (is_bytes(count))
        fprintf(to, " %7.*f", value < 10240 ? 1 : 0, value / 1024);
    else
        fprintf(to, " %7.*f", value < 100 && value != (int)value ? 1 : 0, value);
}

static void
print_view(const bench_curves *curves, bench_phase phase, bench_count count, bench_view view,
           FILE *to)
{
    const bench_model model = bench_model_of(curves, phase, count, view);
    char              text[FORM_TEXT];

    fprintf(to, "  %-18s %-6s", view == BENCH_WORST ? bench_count_names[count].title : "",
            view_names[view]);
    for (int i = 0; i < curves->n; i++)
        print_value(curves->points[i].value[phase][count][view], count, to);
    if (curves->n > 1) {
        fprintf(to, "  %-26s", bench_model_text(&model, text, sizeof text));
        print_value(bench_model_at(&model, BENCH_FAR), count, to);
    }
    fprintf(to, "\n");
}

static void
print_ratios(const bench_curves *curves, bench_phase phase, bench_count count, FILE *to)
{
    fprintf(to, "  %-18s %-6s %7s", is_bytes(count) ? "(in KiB)" : "", "ratio", "");
    for (int i = 1; i < curves->n; i++) {
        const double before = curves->points[i - 1].value[phase][count][BENCH_WORST];

        if (before > 0)
            fprintf(to, " %7.2f", curves->points[i].value[phase][count][BENCH_WORST] / before);
        else
            fprintf(to, " %7s", "-");
    }
    fprintf(to, "\n");
}

static void
print_phase(const bench_curves *curves, bench_phase phase, FILE *to)
{
    fprintf(to, "\n%-27s", bench_phase_names[phase].title);
    for (int i = 0; i < curves->n; i++)
        fprintf(to, " %7d", curves->points[i].ranks);
    if (curves->n > 1)
        fprintf(to, "  %-26s %7d", "model", BENCH_FAR);
    fprintf(to, "\n  %-25s", "seconds, slowest rank");
    for (int i = 0; i < curves->n; i++)
        fprintf(to, " %7.3f", curves->points[i].seconds[phase]);
    fprintf(to, "\n");
    for (int count = 0; count < BENCH_COUNTS; count++) {
        if (is_empty(curves, phase, (bench_count)count))
            continue;
        for (int view = 0; view < BENCH_VIEWS; view++)
            print_view(curves, phase, (bench_count)count, (bench_view)view, to);
        if (curves->n > 1)
            print_ratios(curves, phase, (bench_count)count, to);
    }
}

void
bench_scaling_table(const bench *b, const bench_curves *curves, FILE *to)
{
    char size[32];

    fprintf(to, "%s as ranks on %d processors, %s per rank on %s, RS(2) in sets of 8\n",
            b->size > 1 ? "processes" : "threads of one process", bench_report_processors(),
            bench_report_size((double)b->options.size, size), bench_report_filesystem(b));
    for (int phase = 0; phase < BENCH_PHASES; phase++)
        print_phase(curves, (bench_phase)phase, to);
}

/* ---- JSON ---- */

static void
put_view(const bench_curves *curves, bench_phase phase, bench_count count, bench_view view,
         FILE *to)
{
    const bench_model model = bench_model_of(curves, phase, count, view);

    fprintf(to, ",\n     \"%s\": {\"values\": [", view_names[view]);
    for (int i = 0; i < curves->n; i++)
        fprintf(to, "%s%.9g", i > 0 ? ", " : "", curves->points[i].value[phase][count][view]);
    fprintf(to, "], \"model\": \"%s\", \"a\": %.9g, \"b\": %.9g, \"off\": %.4g, \"far\": %.9g}",
            form_names[model.form], model.a, model.b, model.off, bench_model_at(&model, BENCH_FAR));
}

static void
put_phase(const bench_curves *curves, bench_phase phase, FILE *to)
{
    for (int count = 0; count < BENCH_COUNTS; count++) {
        fprintf(to, "%s\n    {\"phase\": \"%s\", \"count\": \"%s\"", phase + count > 0 ? "," : "",
                bench_phase_names[phase].id, bench_count_names[count].id);
        for (int view = 0; view < BENCH_VIEWS; view++)
            put_view(curves, phase, (bench_count)count, (bench_view)view, to);
        fprintf(to, "}");
    }
}

static void
put_seconds(const bench_curves *curves, FILE *to)
{
    fprintf(to, "  \"seconds\": {");
    for (int phase = 0; phase < BENCH_PHASES; phase++) {
        fprintf(to, "%s\n    \"%s\": [", phase > 0 ? "," : "", bench_phase_names[phase].id);
        for (int i = 0; i < curves->n; i++)
            fprintf(to, "%s%.6g", i > 0 ? ", " : "", curves->points[i].seconds[phase]);
        fprintf(to, "]");
    }
    fprintf(to, "},\n");
}

bool
bench_scaling_json(const bench *b, const bench_curves *curves, const char *path)
{
    FILE *to = fopen(path, "w");

    if (to == NULL)
        return bench_fail(b, "%s: cannot be written: %s", path, strerror(errno));
    fprintf(to, "{\n  \"version\": 1,\n  \"scaling\": true,\n  \"processors\": %d,\n",
            bench_report_processors());
    fprintf(to, "  \"size\": %.0f,\n  \"filesystem\": \"%s\",\n  \"heap\": %s,\n",
            (double)b->options.size, bench_report_filesystem(b),
            bench_heap_counts() ? "true" : "false");
    fprintf(to, "  \"far\": %d,\n  \"ranks\": [", BENCH_FAR);
    for (int i = 0; i < curves->n; i++)
        fprintf(to, "%s%d", i > 0 ? ", " : "", curves->points[i].ranks);
    fprintf(to, "],\n");
    put_seconds(curves, to);
    fprintf(to, "  \"counts\": [");
    for (int phase = 0; phase < BENCH_PHASES; phase++)
        put_phase(curves, (bench_phase)phase, to);
    fprintf(to, "\n  ]\n}\n");
    return fclose(to) == 0 || bench_fail(b, "%s: cannot be written: %s", path, strerror(errno));
}
