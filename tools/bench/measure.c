/* measure.c: time, memory and agreement of a run. See bench.h. */
#include "bench.h"

#include "../../include/H5FDredset.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

bool
bench_fail(const bench *b, const char *fmt, ...)
{
    char    line[2048];
    va_list args;

    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    fprintf(stderr, "h5redset-bench: rank %d: %s\n", b->rank, line);
    return false;
}

bool
bench_all(const bench *b, bool ok)
{
    int all = ok;

    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, b->comm);
    return all != 0;
}

void
bench_wait_quietly(const bench *b)
{
    const struct timespec nap = {.tv_nsec = 200000};
    MPI_Request           request;
    int                   done = 0;

    MPI_Ibarrier(b->comm, &request);
    for (;;) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (done)
            return;
        nanosleep(&nap, NULL);
    }
}

/* ---- memory ---- */

/* A line of /proc/self/status in bytes; -1 where there is none. */
static int64_t
status_of_process(const char *name)
{
    FILE   *file = fopen("/proc/self/status", "r");
    char    line[256];
    int64_t kib = -1;

    while (file != NULL && kib < 0 && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            kib = strtoll(line + strlen(name), NULL, 10);
    if (file != NULL)
        fclose(file);
    return kib < 0 ? -1 : kib * 1024;
}

/* From here on the kernel's high-water mark is this measurement's. */
static bool
reset_high_water(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    bool  ok = file != NULL && fputs("5", file) >= 0;

    if (file != NULL && fclose(file) != 0)
        ok = false;
    return ok;
}

static int64_t
high_water(void)
{
    struct rusage usage;
    int64_t       bytes = status_of_process("VmHWM:");

    if (bytes < 0 && getrusage(RUSAGE_SELF, &usage) == 0)
        bytes = (int64_t)usage.ru_maxrss * 1024;
    return bytes;
}

/* What is free, but still the process's, would hide what is allocated anew. */
static int64_t
begin_memory(void)
{
    malloc_trim(0);
    return reset_high_water() ? status_of_process("VmRSS:") : high_water();
}

static void
note_memory(bench *b, const char *subject, bench_what what)
{
    int64_t     taken = high_water() - b->memory_began;
    bench_line *line, *most;

    MPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_INT64_T, MPI_MAX, b->comm);
    line = bench_line_get(b->results, subject, what);
    if (line == NULL || (what != BENCH_ENCODE && what != BENCH_VERIFY && what != BENCH_REBUILD))
        return;
    line->memory = (double)taken;
    most = bench_line_get(b->results, subject, BENCH_MEMORY);
    if (most == NULL || (most->n > 0 && most->samples[0] >= line->memory))
        return;
    most->samples[0] = line->memory;
    most->n = 1;
}

/* ---- time ---- */

/* Of the driver, which has an engine of its own. */
static void
phases_of_driver(double seconds_out[RSET_PHASES])
{
    H5FD_redset_stats_t stats = {.size = sizeof stats};

    (void)H5FDredset_stats(NULL, &stats);
    seconds_out[RSET_PHASE_OTHER] = stats.other;
    seconds_out[RSET_PHASE_MEET] = stats.rendezvous;
    seconds_out[RSET_PHASE_READ] = stats.reading;
    seconds_out[RSET_PHASE_SUM] = stats.arithmetic;
    seconds_out[RSET_PHASE_SEND] = stats.sending;
    seconds_out[RSET_PHASE_WRITE] = stats.writing;
    seconds_out[RSET_PHASE_SYNC] = stats.syncing;
    seconds_out[RSET_PHASE_WAIT] = stats.waiting;
}

/* The phases of what was measured, of this engine or of the driver's: the other one has done nothing meanwhile. */
static void
note_phases(bench *b, const char *subject, bench_what what)
{
    bench_line *line = bench_line_get(b->results, subject, what);
    const bool  engine = what == BENCH_ENCODE || what == BENCH_VERIFY || what == BENCH_REBUILD;
    double      spent[RSET_PHASES];

    phases_of_driver(spent);
    for (int p = 0; p < RSET_PHASES; p++)
        spent[p] = engine ? 1e-9 * (double)b->scope.spent.ns[p] : spent[p] - b->phases_began[p];
    MPI_Allreduce(MPI_IN_PLACE, spent, RSET_PHASES, MPI_DOUBLE, MPI_SUM, b->comm);
    for (int p = 0; line != NULL && b->repetition > 0 && p < RSET_PHASES; p++)
        line->phases[p] += spent[p] / b->size;
}

void
bench_start(bench *b)
{
    if (b->repetition == 0)
        b->memory_began = begin_memory();
    phases_of_driver(b->phases_began);
    MPI_Barrier(b->comm);
    b->began = rset_clock();
    rset_phases_begin(&b->scope);
}

bool
bench_stop(bench *b, const char *subject, bench_what what, double bytes, bool ok)
{
    double seconds = rset_clock() - b->began;

    rset_phases_end(&b->scope);
    if (b->repetition == 0)
        note_memory(b, subject, what);
    note_phases(b, subject, what);
    return bench_note(b, subject, what, bytes, seconds, ok);
}

bool
bench_note(bench *b, const char *subject, bench_what what, double bytes, double value, bool ok)
{
    bench_line *line = bench_line_get(b->results, subject, what);

    ok = bench_all(b, ok);
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, b->comm);
    if (!ok || line == NULL)
        return ok;
    line->bytes = bytes;
    if (b->repetition > 0 && line->n < BENCH_REPETITIONS_MAX)
        line->samples[line->n++] = value;
    return true;
}

void
bench_progress(const bench *b, const char *subject, const char *doing)
{
    if (b->rank != 0 || !isatty(STDERR_FILENO))
        return;
    if (subject == NULL)
        fprintf(stderr, "\r\033[K");
    else if (b->repetition == 0)
        fprintf(stderr, "\r\033[Kwarming up: %s, %s", subject, doing);
    else
        fprintf(stderr, "\r\033[Krepetition %d of %d: %s, %s", b->repetition,
                b->options.repetitions, subject, doing);
    fflush(stderr);
}
