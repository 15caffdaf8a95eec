/* engine.h: the engine called as the driver calls it (vfd/session_parallel.c), without HDF5 around it. */
#ifndef BENCH_ENGINE_H
#define BENCH_ENGINE_H

#include "files.h"

/* A communicator of the engine's own for the ranks of the run. Collective; freed by MPI_Finalize, but
 * bench_engine_end must be called before. */
bool bench_engine_begin(bench *b);
void bench_engine_end(bench *b);

/* Protects the files of all ranks, which nothing protects yet, as one set: BENCH_ENCODE, BENCH_SENT and
 * BENCH_MESSAGES. Collective. */
bool bench_encode(bench *b, const bench_scheme *s, const bench_file *file);

/* All are there: BENCH_VERIFY. Collective. */
bool bench_verify(bench *b, const bench_scheme *s, const bench_file *file);

/* Removes the files of as many ranks as the scheme survives, and brings them back: BENCH_REBUILD.
 * Collective. */
bool bench_rebuild(bench *b, const bench_scheme *s, const bench_file *file);

#endif
