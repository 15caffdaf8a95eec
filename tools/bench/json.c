/* json.c: the results for programs; docs/performance.md describes the form. See report.h. */
#include "report.h"

#include <errno.h>
#include <string.h>

static const char *const units[] = {
    [BENCH_SECONDS] = "s", [BENCH_BYTES] = "B", [BENCH_COUNT] = "1"};

/* All texts are our own, or come from libraries' version strings. */
static void
put_text(FILE *to, const char *text)
{
    fputc('"', to);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', to);
        if ((unsigned char)*text >= ' ')
            fputc(*text, to);
    }
    fputc('"', to);
}

/* 0 stands for "none". */
static void
put_number(FILE *to, const char *name, double value)
{
    if (value > 0)
        fprintf(to, ", \"%s\": %.9g", name, value);
    else
        fprintf(to, ", \"%s\": null", name);
}

static void
put_head(const bench *b, FILE *to)
{
    char hdf5[32], mpi[64];

    bench_report_versions(hdf5, sizeof hdf5, mpi, sizeof mpi);
    fprintf(to, "{\n  \"version\": 1,\n  \"ranks\": %d,\n  \"processors\": %d,\n", b->size,
            bench_report_processors());
    fprintf(to, "  \"size\": %.0f,\n  \"io_size\": %.0f,\n  \"repetitions\": %d,\n",
            (double)b->options.size, (double)b->options.io_size, b->options.repetitions);
    fprintf(to, "  \"filesystem\": ");
    put_text(to, bench_report_filesystem(b));
    fprintf(to, ",\n  \"hdf5\": ");
    put_text(to, hdf5);
    fprintf(to, ",\n  \"mpi\": ");
    put_text(to, mpi);
    fprintf(to, ",\n  \"lines\": [");
}

static void
put_phases(const bench_line *line, FILE *to)
{
    if (!bench_report_has_phases(line))
        return;
    fprintf(to, ", \"phases\": {");
    for (int p = 0; p < RSET_PHASES; p++)
        fprintf(to, "%s\"%s\": %.9g", p > 0 ? ", " : "", bench_phases[p],
                line->phases[p] / line->n);
    fprintf(to, "}");
}

static void
put_line(const bench *b, const bench_line *line, FILE *to)
{
    const bench_kind *kind = &bench_kinds[line->what];
    double            goal = bench_line_goal(line), score = bench_line_score(b->results, line);
    bool              judged = goal > 0 && score > 0;

    fprintf(to, "{\"subject\": ");
    put_text(to, line->subject);
    fprintf(to, ", \"what\": \"%s\", \"unit\": \"%s\"", kind->id, units[kind->unit]);
    fprintf(to, ", \"median\": %.9g, \"samples\": [", bench_line_median(line));
    for (int i = 0; i < line->n; i++)
        fprintf(to, "%s%.9g", i > 0 ? ", " : "", line->samples[i]);
    fprintf(to, "]");
    put_number(to, "bytes", line->bytes);
    put_number(to, "memory", line->memory);
    put_phases(line, to);
    if (kind->over >= 0)
        fprintf(to, ", \"over\": \"%s\"", bench_kinds[kind->over].id);
    else
        fprintf(to, ", \"over\": null");
    put_number(to, "ratio", bench_line_ratio(b->results, line));
    put_number(to, "goal", goal);
    fprintf(to, ", \"met\": %s, \"checked\": %s}",
            !judged         ? "null"
            : score <= goal ? "true"
                            : "false",
            kind->checked && judged ? "true" : "false");
}

bool
bench_report_json(const bench *b, const char *path)
{
    FILE       *to = fopen(path, "w");
    const char *between = "\n    ";

    if (to == NULL)
        return bench_fail(b, "%s: cannot be written: %s", path, strerror(errno));
    put_head(b, to);
    for (int i = 0; i < b->results->n; i++) {
        if (b->results->lines[i].n == 0)
            continue;
        fputs(between, to);
        put_line(b, &b->results->lines[i], to);
        between = ",\n    ";
    }
    fprintf(to, "\n  ]\n}\n");
    return fclose(to) == 0 || bench_fail(b, "%s: cannot be written: %s", path, strerror(errno));
}
