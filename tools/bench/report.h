/* report.h: the results for people, programs and eyes. Called on one rank; local. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "bench.h"

#include <stdio.h>

/* A table of all lines, with a verdict where there is a goal. */
void bench_report_table(const bench *b, FILE *to);

/* The phases of encode, rebuild and close of each scheme: means of the ranks and repetitions. */
void bench_report_phases(const bench *b, FILE *to);

/* Is this a line of that? And the names of the phases, as in H5FD_redset_stats_t. */
bool                     bench_report_has_phases(const bench_line *line);
extern const char *const bench_phases[RSET_PHASES];

/* All samples, in the form described in docs/performance.md; false when the file cannot be written,
 * which was said then. */
bool bench_report_json(const bench *b, const char *path);

/* A picture of all ratios that have a goal; false as above. */
bool bench_report_svg(const bench *b, const char *path);

/* How many lines are absurd; names them on standard error. */
int bench_report_absurd(const bench *b);

/* The kind of the file system of the run, "tmpfs"; what processors and libraries it ran on. */
const char *bench_report_filesystem(const bench *b);
int         bench_report_processors(void);
void        bench_report_versions(char *hdf5, size_t hdf5_size, char *mpi, size_t mpi_size);

/* 4194304 as "4 MiB". */
const char *bench_report_size(double bytes, char buf[32]);

#endif
