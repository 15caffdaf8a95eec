/* lines.c: see lines.h. */
#include "lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1024.0 * 1024.0)

/* Not checked: times as such; and what small files cannot show, an open costs a rendezvous of the ranks then. */
const bench_kind bench_kinds[BENCH_WHATS] = {
    [BENCH_WRITE_SEC2] = {"write_sec2", "write + close, sec2", BENCH_SECONDS, -1},
    [BENCH_CLOSE_SEC2] = {"close_sec2", "- of it H5Fclose", BENCH_SECONDS, -1},
    [BENCH_WRITE] = {"write", "write + close, redset", BENCH_SECONDS, BENCH_WRITE_SEC2},
    [BENCH_CLOSE] = {"close", "- of it H5Fclose", BENCH_SECONDS, BENCH_CLOSE_SEC2},
    [BENCH_WRITE_ASYNC] = {"write_async", "write + close, async=yes", BENCH_SECONDS,
                           BENCH_WRITE_SEC2},
    [BENCH_CLOSE_ASYNC] = {"close_async", "- of it H5Fclose", BENCH_SECONDS, BENCH_CLOSE_SEC2,
                           1.05},
    [BENCH_FLOOR_ENCODE] = {"floor_encode", "floor of encode", BENCH_SECONDS, -1},
    [BENCH_ENCODE] = {"encode", "encode", BENCH_SECONDS, BENCH_FLOOR_ENCODE, 1.0, false, true},
    [BENCH_FLOOR_REBUILD] = {"floor_rebuild", "floor of rebuild", BENCH_SECONDS, -1},
    [BENCH_REBUILD] = {"rebuild", "rebuild", BENCH_SECONDS, BENCH_FLOOR_REBUILD, 1.1, true, true},
    [BENCH_READ_WARM] = {"read_warm", "read the file, cached", BENCH_SECONDS, -1},
    [BENCH_VERIFY] = {"verify", "verify, cached", BENCH_SECONDS, BENCH_READ_WARM},
    [BENCH_OPEN_WARM] = {"open_warm", "H5Fopen, cached", BENCH_SECONDS, BENCH_READ_WARM, 1.15},
    [BENCH_READ_COLD] = {"read_cold", "read the file, cold", BENCH_SECONDS, -1},
    [BENCH_OPEN_COLD] = {"open_cold", "H5Fopen, cold", BENCH_SECONDS, BENCH_READ_COLD, 1.15},
    [BENCH_CHANGE] = {"change", "H5Fclose after a change of 1 %", BENCH_SECONDS, BENCH_ENCODE,
                      0.05},
    [BENCH_COMMIT] = {"commit", "commit while open, 1 % changed", BENCH_SECONDS, BENCH_ENCODE,
                      0.05},
    [BENCH_OVER] = {"over", "H5Fclose, created over", BENCH_SECONDS, -1},
    [BENCH_KEEP_OVER] = {"keep_over", "- with keep=2", BENCH_SECONDS, BENCH_OVER, 1.02},
    [BENCH_CHANGE_AGAIN] = {"change_again", "H5Fclose, 1 % changed again", BENCH_SECONDS, -1},
    [BENCH_KEEP_CHANGE] = {"keep_change", "- with keep=2", BENCH_SECONDS, BENCH_CHANGE_AGAIN, 1.10},
    [BENCH_CHANGED] = {"changed", "bytes that have changed", BENCH_BYTES, -1},
    [BENCH_KEEP_SPACE] = {"keep_space", "space that keep=2 takes then", BENCH_BYTES, BENCH_CHANGED,
                          2.5, true, true, true},
    [BENCH_SENT_FLOOR] = {"sent_floor", "bytes sent by the floor", BENCH_BYTES, -1},
    [BENCH_SENT] = {"sent", "bytes sent by encode", BENCH_BYTES, BENCH_SENT_FLOOR, 1.01, false,
                    true},
    [BENCH_MESSAGES] = {"messages", "messages sent by encode", BENCH_COUNT, -1},
    [BENCH_MEMORY] = {"memory", "memory, at most", BENCH_BYTES, -1, 16 * MIB, false, true},
    [BENCH_IO_WRITE_SEC2] = {"io_write_sec2", "H5Dwrite, sec2", BENCH_SECONDS, -1},
    [BENCH_IO_WRITE] = {"io_write", "H5Dwrite, redset", BENCH_SECONDS, BENCH_IO_WRITE_SEC2, 1.02,
                        false, true},
    [BENCH_IO_READ_SEC2] = {"io_read_sec2", "H5Dread, sec2", BENCH_SECONDS, -1},
    [BENCH_IO_READ] = {"io_read", "H5Dread, redset", BENCH_SECONDS, BENCH_IO_READ_SEC2, 1.02, false,
                       true},
    [BENCH_OPEN_CLOSE_RW] = {"open_close_rw", "open + close, read-write", BENCH_SECONDS, -1, 1e-3},
    [BENCH_OPEN_CLOSE_RO] = {"open_close_ro", "open + close, read-only", BENCH_SECONDS, -1, 1e-3},
    [BENCH_CREATE_FEW] = {"create_few", "create + close beside 10 files", BENCH_SECONDS, -1, 2e-3},
    [BENCH_CREATE_MANY] = {"create_many", "create + close beside 100,000", BENCH_SECONDS,
                           BENCH_CREATE_FEW, 1.2},
    [BENCH_REOPEN_FEW] = {"reopen_few", "open + close beside 10 files", BENCH_SECONDS, -1, 1e-3},
    [BENCH_REOPEN_MANY] = {"reopen_many", "open + close beside 100,000", BENCH_SECONDS,
                           BENCH_REOPEN_FEW, 1.2},
};

static bench_line *
find(const bench_results *results, const char *subject, bench_what what)
{
    for (int i = 0; i < results->n; i++)
        if (results->lines[i].what == what && strcmp(results->lines[i].subject, subject) == 0)
            return (bench_line *)&results->lines[i];
    return NULL;
}

bench_line *
bench_line_get(bench_results *results, const char *subject, bench_what what)
{
    bench_line *line = find(results, subject, what);

    if (line != NULL || results->n == BENCH_LINES_MAX)
        return line;
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

double
bench_line_median(const bench_line *line)
{
    double sorted[BENCH_REPETITIONS_MAX];

    memcpy(sorted, line->samples, sizeof sorted);
    return bench_median(sorted, line->n);
}

double
bench_line_ratio(const bench_results *results, const bench_line *line)
{
    int               over = bench_kinds[line->what].over, n = 0;
    const bench_line *by = over < 0 ? NULL : find(results, line->subject, over);
    double            ratios[BENCH_REPETITIONS_MAX];

    for (int i = 0; by != NULL && i < line->n && i < by->n; i++)
        if (by->samples[i] > 0)
            ratios[n++] = line->samples[i] / by->samples[i];
    return bench_median(ratios, n);
}

double
bench_line_goal(const bench_line *line)
{
    const bench_kind *kind = &bench_kinds[line->what];

    if ((kind->striped && strncmp(line->subject, "PARTNER", 7) == 0) ||
        (kind->one && strcmp(line->subject, "XOR") != 0))
        return 0;
    return kind->goal;
}

double
bench_line_score(const bench_results *results, const bench_line *line)
{
    return bench_kinds[line->what].over < 0 ? bench_line_median(line)
                                            : bench_line_ratio(results, line);
}

bool
bench_line_absurd(const bench_results *results, const bench_line *line)
{
    double goal = bench_line_goal(line);

    return bench_kinds[line->what].checked && goal > 0 &&
           bench_line_score(results, line) > 3 * goal;
}
