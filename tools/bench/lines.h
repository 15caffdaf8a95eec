/* lines.h: the lines of the result, and their samples. A new measurement is one value in bench_what, one row in lines.c, and one
 * in h5redset-bench-report.py, where its title is, what it is compared with, and the goal. */
#ifndef BENCH_LINES_H
#define BENCH_LINES_H

#include "common/phases.h"

#include <stdbool.h>
#include <stdint.h>

enum { BENCH_NAME = 32, BENCH_LINES_MAX = 256, BENCH_REPETITIONS_MAX = 99 };

typedef enum bench_what {
    BENCH_WRITE_SEC2,
    BENCH_CLOSE_SEC2,
    BENCH_WRITE,
    BENCH_CLOSE,
    BENCH_WRITE_ASYNC,
    BENCH_CLOSE_ASYNC,
    BENCH_FLOOR_ENCODE,
    BENCH_ENCODE,
    BENCH_FLOOR_REBUILD,
    BENCH_REBUILD,
    BENCH_READ_WARM,
    BENCH_VERIFY,
    BENCH_OPEN_WARM,
    BENCH_READ_COLD,
    BENCH_OPEN_COLD,
    BENCH_CHANGE,
    BENCH_COMMIT,
    BENCH_OVER,
    BENCH_KEEP_OVER,
    BENCH_CHANGE_AGAIN,
    BENCH_KEEP_CHANGE,
    BENCH_CHANGED,
    BENCH_KEEP_SPACE,
    BENCH_SENT_FLOOR,
    BENCH_SENT,
    BENCH_MESSAGES,
    BENCH_MEMORY,
    BENCH_IO_WRITE_SEC2,
    BENCH_IO_WRITE,
    BENCH_IO_READ_SEC2,
    BENCH_IO_READ,
    BENCH_OPEN_CLOSE_RW,
    BENCH_OPEN_CLOSE_RO,
    BENCH_CREATE_FEW,
    BENCH_CREATE_MANY,
    BENCH_REOPEN_FEW,
    BENCH_REOPEN_MANY,
    BENCH_WHATS
} bench_what;

/* One kind of line; the unit as in JSON. */
typedef struct bench_kind {
    const char *id, *unit;
} bench_kind;

extern const bench_kind bench_kinds[BENCH_WHATS];

typedef struct bench_line {
    char       subject[BENCH_NAME]; /* a scheme, or "contiguous 4 KiB" */
    bench_what what;
    int        n;
    double     samples[BENCH_REPETITIONS_MAX];
    double     bytes;               /* per rank, for GB/s; 0: none */
    double     memory;              /* taken by the engine at most, per rank; 0: not measured */
    double     phases[RSET_PHASES]; /* seconds, the mean of the ranks, added up over the samples */
} bench_line;

typedef struct bench_results {
    int        n;
    bench_line lines[BENCH_LINES_MAX];
} bench_results;

/* The line of `what` about `subject`, made when it is not there yet; NULL when there is no room. Local,
 * as all of these. */
bench_line *bench_line_get(bench_results *results, const char *subject, bench_what what);

/* Drops the samples of `what` about every subject: such a line is not reported. */
void bench_lines_forget(bench_results *results, bench_what what);

/* Sorts `n` values and gives their median; 0 when there is none. */
double bench_median(double *values, int n);

#endif
