/* options.h: what the user asks for. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "bench.h"

typedef enum bench_asked { BENCH_RUN, BENCH_HELP, BENCH_WRONG } bench_asked;

/* Fills *out from the command line. `tell`: this rank prints the help that was asked for, or what is
 * wrong. Local, the same on all ranks. */
bench_asked bench_options_read(int argc, char **argv, int ranks, bool tell, bench_options *out);

#endif
