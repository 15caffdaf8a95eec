/* bench.h: what the parts of h5redset-bench share: the run, its options, and how a thing is timed.
 *
 * Each repetition does every measurement once, so that a machine that slows down slows all of them, and
 * what is compared lies seconds apart. Repetition 0 warms up and is where memory is measured; it is not
 * timed. All measuring functions are collective over the run; they return the same on every rank: false
 * when any rank has failed, which that rank has then said on standard error. */
#ifndef BENCH_H
#define BENCH_H

#include "lines.h"
#include "protect/protect.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    BENCH_PIECE = 256 * 1024, /* what is read, sent and written at a time */
    BENCH_SCHEMES_MAX = 8,
    BENCH_PATH_MAX = 4096,
    BENCH_RANKS_MAX = 4096, /* that are threads */
    BENCH_EXIT_USAGE = 64   /* EX_USAGE of sysexits.h */
};

/* One scheme with its number of copies or parities. */
typedef struct bench_scheme {
    const rset_scheme *scheme;
    int                parity;
    char               name[BENCH_NAME]; /* "RS(2)" */
} bench_scheme;

typedef struct bench_options {
    bench_scheme schemes[BENCH_SCHEMES_MAX];
    int          nschemes;
    uint64_t     size;    /* bytes of each rank's file */
    uint64_t     io_size; /* bytes of each dataset that is written and read in requests */
    const char  *dir;
    int          repetitions;
    int          ranks; /* of --scaling, at most */
    const char  *json;  /* NULL: standard output */
    bool         brief, scaling;
} bench_options;

typedef struct bench {
    MPI_Comm       comm;
    int            rank, size;
    bench_options  options;
    bench_results *results;
    int            repetition;          /* 0: warming up */
    char           dir[BENCH_PATH_MAX]; /* this rank's own, below options.dir */
    rset_comm     *world;               /* the engine's */
    rset_comm      set;                 /* the same ranks, as one set */
    uint64_t       generation; /* of the last encode by the engine; the same on all ranks */
    bool           can_drop;   /* the page cache of a file could be emptied every time so far */
    uint8_t       *buffer;     /* BENCH_BUFFER bytes that do not repeat, to be written */
    /* of the measurement under way */
    double           began;
    int64_t          memory_began;
    rset_phase_scope scope;                     /* of the engine that is called */
    double           phases_began[RSET_PHASES]; /* what the driver had spent before */
} bench;

enum { BENCH_BUFFER = 16 * 1024 * 1024 };

/* Says on standard error what went wrong on this rank; returns false. Local. */
bool bench_fail(const bench *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Is `ok` true on all ranks? Collective. */
bool bench_all(const bench *b, bool ok);

/* Waits for all ranks as MPI_Barrier does, but sleeps, so that the rank that is working has the
 * processors for itself. Collective. */
void bench_wait_quietly(const bench *b);

/* All ranks begin at the same time; bench_stop takes the time of the slowest as a sample of `what` about
 * `subject`, unless one has failed (`ok` false). `bytes`: of the application's data, per rank, for GB/s;
 * 0: none. Collective. */
void bench_start(bench *b);
bool bench_stop(bench *b, const char *subject, bench_what what, double bytes, bool ok);

/* The same for a value that was taken in another way: the largest of all ranks counts. */
bool bench_note(bench *b, const char *subject, bench_what what, double bytes, double value,
                bool ok);

/* Tells on a terminal what is being done; overwritten by the next call, NULL removes it. Local. */
void bench_progress(const bench *b, const char *subject, const char *doing);

/* ---- the measurements ---- */

/* Everything about one scheme, once. */
bool bench_case(bench *b, const bench_scheme *s);

/* Its closes with keep=1 and keep=2, created over and changed in place, and the space of what is kept, once. */
bool bench_keep(bench *b, const bench_scheme *s);

/* H5Dwrite and H5Dread in requests of several sizes, through the driver and through sec2. */
bool bench_requests(bench *b);

/* Opening and closing a protected file without changing it. */
bool bench_open_close(bench *b);

/* Creating and opening a small file in a directory with 10 others, and with 100,000 (--short: 10,000). */
bool bench_crowd(bench *b);

/* What grows with the number of ranks, and its JSON (scaling.h): from 2 ranks on, which are threads of this
 * process; in a run of more than one rank that run's. Collective. */
bool bench_scaling(bench *b);

#endif
