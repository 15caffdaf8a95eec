/* main.c: h5redset-bench: what protecting files costs, against what moving the bytes costs. Start here:
 * the order of a run. What is measured of a scheme is in case.c, what it is compared with in h5redset-bench-report.py. */
#include "bench.h"
#include "engine.h"
#include "files.h"
#include "json.h"
#include "options.h"

#include "../../include/H5FDredset.h"

#include <stdlib.h>

/* Bytes that neither repeat nor are equal on two ranks: nothing on the way may save work. */
static bool
make_buffer(bench *b)
{
    uint64_t x = 0x9e3779b97f4a7c15u * (uint64_t)(b->rank + 1);

    b->buffer = malloc(BENCH_BUFFER);
    for (size_t i = 0; b->buffer != NULL && i < BENCH_BUFFER; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        b->buffer[i] = (uint8_t)x;
    }
    return b->buffer != NULL || bench_fail(b, "no memory for a buffer");
}

static bool
repeat(bench *b)
{
    for (b->repetition = 0; b->repetition <= b->options.repetitions; b->repetition++) {
        for (int s = 0; s < b->options.nschemes; s++)
            if (!bench_case(b, &b->options.schemes[s]) || !bench_keep(b, &b->options.schemes[s]))
                return false;
        if (!bench_requests(b) || !bench_open_close(b) || !bench_crowd(b))
            return false;
    }
    return true;
}

static bool
run(bench *b)
{
    bool ok = make_buffer(b) && bench_files_make(b);

    ok = bench_all(b, ok);
    if (b->options.scaling)
        ok = ok && bench_scaling(b);
    else
        ok = ok && bench_engine_begin(b) && bench_all(b, H5FD_redset_init() >= 0) && repeat(b);
    bench_progress(b, NULL, NULL);
    bench_engine_end(b);
    bench_files_remove(b);
    free(b->buffer);
    return ok;
}

int
main(int argc, char **argv)
{
    static bench_results results; /* too large for a stack */
    bench                b = {.results = &results, .can_drop = true};
    bench_asked          asked;
    int                  status = 0, ok = 1, level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level); /* for async=yes */
    MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &b.size);
    asked = bench_options_read(argc, argv, b.size, b.rank == 0, &b.options);
    if (asked == BENCH_RUN) {
        MPI_Comm_dup(MPI_COMM_WORLD, &b.comm);
        ok = run(&b) && (b.rank != 0 || b.options.scaling ||
                         bench_json_lines(&b)); /* scaling.c writes its own */
        MPI_Bcast(&ok, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Comm_free(&b.comm);
        status = ok ? 0 : 1;
    } else if (asked == BENCH_WRONG)
        status = BENCH_EXIT_USAGE;
    MPI_Finalize();
    return status;
}
