/* scaling.c: the run: 2, 4, 8 ... ranks, which are threads of this process, or with mpiexec the ranks that there are. See
 * scaling.h. */
#include "scaling.h"

#include "comm/comm_local.h"
#include "engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const double patience = 300; /* seconds; a run that hangs ends with a message */

/* Two ranks carry one parity. */
static const bench_scheme *
scheme_for(int ranks)
{
    static const bench_scheme pair = {&rset_scheme_rs, 1, "RS(1)"};
    static const bench_scheme more = {&rset_scheme_rs, 2, "RS(2)"};

    return ranks > 2 ? &more : &pair;
}

static bench_point
point_of(const bench_figures *of, int ranks)
{
    bench_point p = {.ranks = ranks};

    for (int phase = 0; phase < BENCH_PHASES; phase++)
        for (int r = 0; r < ranks; r++) {
            double *slowest = &p.seconds[phase];

            *slowest = of[r].seconds[phase] > *slowest ? of[r].seconds[phase] : *slowest;
            for (int c = 0; c < BENCH_COUNTS; c++) {
                const double one = of[r].count[phase][c];
                double      *view = p.value[phase][c];

                view[BENCH_WORST] = one > view[BENCH_WORST] ? one : view[BENCH_WORST];
                view[BENCH_MEAN] += one / ranks;
                view[BENCH_ROOT] = r == 0 ? one : view[BENCH_ROOT];
            }
        }
    return p;
}

/* ---- ranks as threads ---- */

typedef struct cast {
    int            n;
    bench         *self;
    bench_figures *out;
} cast;

/* Of each rank. What outlives a run, such as a list that the process keeps, is counted for who has allocated it until it is
 * freed: these stay where they are. */
static bench_heap heaps[BENCH_RANKS_MAX];

static void
one_rank(rset_comm *world, void *arg)
{
    const cast      *all = arg;
    const int        me = world->rank;
    const bench_play play = {&all->self[me], scheme_for(world->size), &heaps[me], &all->out[me]};

    bench_scaling_play(world, &play);
}

static bool
make_cast(const bench *b, int ranks, cast *out)
{
    bool ok;

    *out = (cast){.n = ranks,
                  .self = calloc((size_t)ranks, sizeof *out->self),
                  .out = calloc((size_t)ranks, sizeof *out->out)};
    ok = out->self != NULL && out->out != NULL;
    if (!ok)
        return bench_fail(b, "no memory for %d ranks", ranks);
    for (int r = 0; ok && r < ranks; r++) {
        out->self[r] = *b;
        out->self[r].rank = r;
        ok = bench_files_make(&out->self[r]);
    }
    return ok;
}

static void
free_cast(cast *all)
{
    for (int r = 1; all->self != NULL && r < all->n; r++) /* that of rank 0 is the run's */
        bench_files_remove(&all->self[r]);
    free(all->self);
    free(all->out);
}

static bool
run_threads(bench *b, int ranks, bench_point *point_out)
{
    rset_err err = RSET_ERR_NONE;
    char     name[BENCH_NAME];
    cast     all;
    bool     ok = make_cast(b, ranks, &all);

    snprintf(name, sizeof name, "%d ranks", ranks);
    bench_progress(b, name, "create, close, open, rebuild");
    if (ok && rset_local_run(ranks, patience, one_rank, &all, &err) != RSET_OK)
        ok = bench_fail(b, "%s", err.text);
    for (int r = 0; ok && r < ranks; r++)
        ok = all.out[r].ok;
    if (ok)
        *point_out = point_of(all.out, ranks);
    free_cast(&all);
    return ok;
}

/* A rank holds its directory and up to four files open. */
static void
raise_limit_of_files(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* ---- real ranks ---- */

static bool
run_mpi(bench *b, bench_point *point_out)
{
    bench_figures    mine = {.ok = false}, *all = NULL;
    const bench_play play = {b, scheme_for(b->size), &heaps[0], &mine};
    bool             ok = bench_engine_begin(b);

    if (ok)
        bench_scaling_play(b->world, &play);
    if (b->rank == 0)
        all = calloc((size_t)b->size, sizeof *all);
    ok = bench_all(b, mine.ok && (b->rank != 0 || all != NULL));
    if (ok)
        MPI_Gather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, 0, b->comm);
    if (ok && b->rank == 0)
        *point_out = point_of(all, b->size);
    free(all);
    return ok;
}

/* ---- the run ---- */

bool
bench_scaling(bench *b)
{
    static bench_curves curves;
    bool                ok = true;

    if (b->size > 1) {
        curves.n = 1;
        ok = run_mpi(b, &curves.points[0]);
    } else {
        raise_limit_of_files();
        for (int n = 2; ok && n <= b->options.ranks && curves.n < BENCH_POINTS_MAX; n *= 2) {
            ok = run_threads(b, n, &curves.points[curves.n]);
            curves.n += ok;
        }
    }
    bench_progress(b, NULL, NULL);
    return ok && bench_all(b, b->rank != 0 || bench_scaling_json(b, &curves));
}
