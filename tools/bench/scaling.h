/* scaling.h: what grows with the number of ranks: messages, bytes and memory of each rank for what a job does with its files.
 *
 *   scaling.c       the run: 2, 4, 8 ... ranks     scaling_rank.c    what one rank does
 *   scaling_json.c  the result
 *
 * The ranks are threads of this process (comm/comm_local.h), or with mpiexec real ones. They call the engine itself:
 * rendezvous, layout, protect and recover, as the driver does (vfd/session_parallel.c). */
#ifndef BENCH_SCALING_H
#define BENCH_SCALING_H

#include "files.h"
#include "heap.h"

enum { BENCH_POINTS_MAX = 12 };

/* What a job does with its files. */
typedef enum bench_phase {
    BENCH_PHASE_CREATE, /* H5Fcreate over a file that is protected */
    BENCH_PHASE_CLOSE_FIRST, /* its H5Fclose, the first of the job: ranks are divided into sets as well */
    BENCH_PHASE_CLOSE,       /* a later H5Fclose, of a file that was written anew */
    BENCH_PHASE_ENCODE,      /* of that: the engine alone, after the rendezvous */
    BENCH_PHASE_OPEN,        /* H5Fopen by another job; all files are there */
    BENCH_PHASE_REBUILD_ONE, /* the same; one rank has lost its files */
    BENCH_PHASE_REBUILD,     /* the same; as many members of one set as the scheme covers have */
    BENCH_PHASE_READ, /* H5Fopen for reading; one rank has lost its files, and all say what they see */
    BENCH_PHASE_END, /* MPI_Finalize */
    BENCH_PHASES
} bench_phase;

typedef enum bench_count {
    BENCH_COUNT_SENT,
    BENCH_COUNT_RECEIVED,
    BENCH_COUNT_SENT_BYTES,
    BENCH_COUNT_RECEIVED_BYTES,
    BENCH_COUNT_HEAP, /* bytes allocated by this rank at once, at most */
    BENCH_COUNTS
} bench_count;

/* Those of one rank. */
typedef struct bench_figures {
    double count[BENCH_PHASES][BENCH_COUNTS];
    double seconds[BENCH_PHASES];
    bool   ok;
} bench_figures;

/* The same of all ranks, and how many they were. */
typedef enum bench_view { BENCH_WORST, BENCH_MEAN, BENCH_ROOT, BENCH_VIEWS } bench_view;
typedef struct bench_point {
    int    ranks;
    double value[BENCH_PHASES][BENCH_COUNTS][BENCH_VIEWS];
    double seconds[BENCH_PHASES]; /* the slowest rank */
} bench_point;

typedef struct bench_curves {
    int         n;
    bench_point points[BENCH_POINTS_MAX];
} bench_curves;

/* ---- scaling_rank.c ---- */

/* Everything that one rank does. `self` is its own (dir, rank), `out` and `heap` too. The same scheme on all ranks.
 * Collective over world. */
typedef struct bench_play {
    bench              *self;
    const bench_scheme *scheme;
    bench_heap         *heap;
    bench_figures      *out;
} bench_play;
void bench_scaling_play(rset_comm *world, const bench_play *play);

/* ---- scaling_json.c: as those of json.h ---- */

bool bench_scaling_json(const bench *b, const bench_curves *curves);

#endif
