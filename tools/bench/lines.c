/* lines.c: see lines.h. */
#include "lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const bench_kind bench_kinds[BENCH_WHATS] = {
    [BENCH_WRITE_SEC2] = {"write_sec2", "s"},
    [BENCH_CLOSE_SEC2] = {"close_sec2", "s"},
    [BENCH_WRITE] = {"write", "s"},
    [BENCH_CLOSE] = {"close", "s"},
    [BENCH_WRITE_ASYNC] = {"write_async", "s"},
    [BENCH_CLOSE_ASYNC] = {"close_async", "s"},
    [BENCH_FLOOR_ENCODE] = {"floor_encode", "s"},
    [BENCH_ENCODE] = {"encode", "s"},
    [BENCH_FLOOR_REBUILD] = {"floor_rebuild", "s"},
    [BENCH_REBUILD] = {"rebuild", "s"},
    [BENCH_READ_WARM] = {"read_warm", "s"},
    [BENCH_VERIFY] = {"verify", "s"},
    [BENCH_OPEN_WARM] = {"open_warm", "s"},
    [BENCH_READ_COLD] = {"read_cold", "s"},
    [BENCH_OPEN_COLD] = {"open_cold", "s"},
    [BENCH_CHANGE] = {"change", "s"},
    [BENCH_COMMIT] = {"commit", "s"},
    [BENCH_OVER] = {"over", "s"},
    [BENCH_KEEP_OVER] = {"keep_over", "s"},
    [BENCH_CHANGE_AGAIN] = {"change_again", "s"},
    [BENCH_KEEP_CHANGE] = {"keep_change", "s"},
    [BENCH_CHANGED] = {"changed", "B"},
    [BENCH_KEEP_SPACE] = {"keep_space", "B"},
    [BENCH_SENT_FLOOR] = {"sent_floor", "B"},
    [BENCH_SENT] = {"sent", "B"},
    [BENCH_MESSAGES] = {"messages", "1"},
    [BENCH_MEMORY] = {"memory", "B"},
    [BENCH_IO_WRITE_SEC2] = {"io_write_sec2", "s"},
    [BENCH_IO_WRITE] = {"io_write", "s"},
    [BENCH_IO_READ_SEC2] = {"io_read_sec2", "s"},
    [BENCH_IO_READ] = {"io_read", "s"},
    [BENCH_OPEN_CLOSE_RW] = {"open_close_rw", "s"},
    [BENCH_OPEN_CLOSE_RO] = {"open_close_ro", "s"},
    [BENCH_CREATE_FEW] = {"create_few", "s"},
    [BENCH_CREATE_MANY] = {"create_many", "s"},
    [BENCH_REOPEN_FEW] = {"reopen_few", "s"},
    [BENCH_REOPEN_MANY] = {"reopen_many", "s"},
};

bench_line *
bench_line_get(bench_results *results, const char *subject, bench_what what)
{
    bench_line *line;

    for (int i = 0; i < results->n; i++)
        if (results->lines[i].what == what && strcmp(results->lines[i].subject, subject) == 0)
            return &results->lines[i];
    if (results->n == BENCH_LINES_MAX)
        return NULL;
    line = &results->lines[results->n++];
    snprintf(line->subject, sizeof line->subject, "%s", subject);
    line->what = what;
    return line;
}

void
bench_lines_forget(bench_results *results, bench_what what)
{
    for (int i = 0; i < results->n; i++)
        if (results->lines[i].what == what)
            results->lines[i].n = 0;
}

static int
ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double
bench_median(double *values, int n)
{
    if (n == 0)
        return 0;
    qsort(values, (size_t)n, sizeof *values, ascending);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}
