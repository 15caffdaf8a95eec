/* scaling_names.c: what phases and counts are called, in JSON and by people. See scaling.h. */
#include "scaling.h"

const bench_name bench_phase_names[BENCH_PHASES] = {
    [BENCH_PHASE_CREATE] = {"create", "H5Fcreate"},
    [BENCH_PHASE_CLOSE_FIRST] = {"close_first", "H5Fclose, the first of a job"},
    [BENCH_PHASE_CLOSE] = {"close", "H5Fclose"},
    [BENCH_PHASE_ENCODE] = {"encode", "of it the encode"},
    [BENCH_PHASE_OPEN] = {"open", "H5Fopen"},
    [BENCH_PHASE_REBUILD_ONE] = {"rebuild_one", "H5Fopen, 1 rank lost"},
    [BENCH_PHASE_REBUILD] = {"rebuild", "H5Fopen, 2 ranks lost"},
    [BENCH_PHASE_READ] = {"read_one", "H5Fopen, read-only, 1 rank lost"},
    [BENCH_PHASE_END] = {"end", "MPI_Finalize"}};

const bench_name bench_count_names[BENCH_COUNTS] = {
    [BENCH_COUNT_SENT] = {"sent", "messages sent"},
    [BENCH_COUNT_RECEIVED] = {"received", "messages received"},
    [BENCH_COUNT_SENT_BYTES] = {"sent_bytes", "bytes sent"},
    [BENCH_COUNT_RECEIVED_BYTES] = {"received_bytes", "bytes received"},
    [BENCH_COUNT_HEAP] = {"heap", "bytes allocated"}};
