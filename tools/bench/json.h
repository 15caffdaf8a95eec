/* json.h: the results as JSON; docs/performance.md describes the form. Called on one rank; local. What returns NULL had no memory,
 * or was given NULL. */
#ifndef BENCH_JSON_H
#define BENCH_JSON_H

#include "bench.h"

#include <jansson.h>

/* `json` if `ok`, else NULL, and `json` is freed. */
json_t *bench_json_sound(json_t *json, bool ok);

/* What both kinds of runs have: the version of the form, processors, size and file system. */
json_t *bench_json_head(const bench *b);

/* `n` values as a list. */
json_t *bench_json_list(const double *values, int n);

/* Writes `result`, and frees it, to the file that --json names, or to standard output; false when it cannot be written, which was
 * said then. */
bool bench_json_write(const bench *b, json_t *result);

/* All samples of a run without --scaling; false as above. */
bool bench_json_lines(const bench *b);

#endif
