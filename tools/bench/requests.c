/* requests.c: H5Dwrite and H5Dread in requests of several sizes, with sec2 and with the driver; and
 * opening a file for nothing.
 *
 * The difference looked for is small. So both files are open at the same time, a slice of the one follows
 * the same slice of the other, either goes first in turns, and only one rank works at a time. A pass takes
 * as long as it has slices, times their median: when the rank loses its processor for a while, this says
 * nothing of the driver. */
#include "hdf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEC2, REDSET, DRIVERS };
enum { CONTIGUOUS, CHUNKED, LAYOUTS };
enum { REQUESTS = 4, SLICE = 1024 * 1024, CHUNK = 256 * 1024, OPENS = 20 };

static const char *const layouts[LAYOUTS] = {"contiguous", "chunked"};
static const uint64_t    requests[REQUESTS] = {4096, 65536, 1048576, 16777216};
static const char *const sizes[REQUESTS] = {"4 KiB", "64 KiB", "1 MiB", "16 MiB"};

typedef struct pair {
    bench     *b;
    uint64_t   size; /* of each of this rank's datasets */
    int        turns;
    bench_file file[DRIVERS];
    hid_t      fapl[DRIVERS], id[DRIVERS], set[DRIVERS][LAYOUTS];
    double    *slices[DRIVERS]; /* times of those of the pass under way */
    double     seconds[LAYOUTS][REQUESTS][DRIVERS];
} pair;

static bool
pair_begin(pair *p)
{
    static const char *const names[DRIVERS] = {"io_sec2", "io_redset"};
    bool                     ok = true;

    /* a short run has no time for all ranks; the others take part in opening and closing */
    p->turns = p->b->options.brief ? 1 : p->b->size;
    p->size = p->b->rank < p->turns ? p->b->options.io_size : CHUNK;
    for (int d = 0; d < DRIVERS; d++) {
        p->id[d] = H5I_INVALID_HID;
        p->fapl[d] = bench_hdf_fapl(p->b, NULL, d == SEC2 ? NULL : &bench_modes[0]);
        p->slices[d] = calloc((size_t)(p->size / SLICE) + 1, sizeof *p->slices[d]);
        ok = bench_file_open(p->b, names[d], &p->file[d]) && p->fapl[d] >= 0 &&
             p->slices[d] != NULL && ok;
    }
    return bench_all(p->b, ok);
}

/* New files, already as long as they will be: what is measured is no allocation of space. */
static bool
pair_create(pair *p)
{
    bool ok = true;

    for (int d = 0; d < DRIVERS; d++) {
        p->id[d] = H5Fcreate(p->file[d].path, H5F_ACC_TRUNC, H5P_DEFAULT, p->fapl[d]);
        ok = ok && p->id[d] >= 0;
        for (int l = 0; ok && l < LAYOUTS; l++) {
            p->set[d][l] =
                bench_hdf_dataset(p->id[d], layouts[l], p->size, l == CHUNKED ? CHUNK : 0);
            ok = p->set[d][l] >= 0 &&
                 bench_hdf_transfer(p->set[d][l], p->b->buffer, 0, p->size, BENCH_BUFFER, true);
        }
    }
    return bench_all(p->b, ok);
}

static bool
pair_open(pair *p)
{
    bool ok = true;

    for (int d = 0; d < DRIVERS; d++) {
        p->id[d] = H5Fopen(p->file[d].path, H5F_ACC_RDONLY, p->fapl[d]);
        ok = ok && p->id[d] >= 0;
        for (int l = 0; ok && l < LAYOUTS; l++)
            ok = (p->set[d][l] = H5Dopen2(p->id[d], layouts[l], H5P_DEFAULT)) >= 0;
    }
    return bench_all(p->b, ok);
}

static bool
pair_close(pair *p)
{
    bool ok = true;

    for (int d = 0; d < DRIVERS; d++) {
        for (int l = 0; l < LAYOUTS; l++)
            ok = H5Dclose(p->set[d][l]) >= 0 && ok;
        ok = H5Fclose(p->id[d]) >= 0 && ok;
        p->id[d] = H5I_INVALID_HID;
    }
    return bench_all(p->b, ok);
}

/* The same slice of both files, the `n`th. */
static bool
slice(pair *p, int layout, int request, int n, uint64_t len, bool write)
{
    uint64_t off = (uint64_t)n * len;
    bool     ok = true;

    for (int i = 0; i < DRIVERS; i++) {
        int    d = (n + i + p->b->repetition) % DRIVERS;
        double start = rset_clock();

        ok = bench_hdf_transfer(p->set[d][layout], p->b->buffer + off % BENCH_BUFFER, off, len,
                                requests[request], write) &&
             ok;
        p->slices[d][n] = rset_clock() - start;
    }
    return ok;
}

/* One pass over one dataset of both files, in requests of one size. */
static bool
pass(pair *p, int layout, int request, bool write)
{
    uint64_t len = requests[request] > SLICE ? requests[request] : SLICE;
    int      slices = (int)(p->size / len);
    bool     ok = true;

    for (int n = 0; ok && n < slices; n++)
        ok = slice(p, layout, request, n, len, write);
    for (int d = 0; d < DRIVERS; d++)
        p->seconds[layout][request][d] = bench_median(p->slices[d], slices) * slices;
    return ok;
}

static bool
own_turn(pair *p, bool write)
{
    bool ok = true;

    for (int l = 0; l < LAYOUTS; l++)
        for (int r = 0; r < REQUESTS; r++)
            ok = ok && pass(p, l, r, write);
    return ok;
}

static bool
note_all(pair *p, bool write)
{
    const bench_what what[2][DRIVERS] = {{BENCH_IO_READ_SEC2, BENCH_IO_READ},
                                         {BENCH_IO_WRITE_SEC2, BENCH_IO_WRITE}};
    double          *flat = &p->seconds[0][0][0];
    double           bytes = (double)p->b->options.io_size * p->turns / p->b->size;
    bool             ok = true;
    char             subject[BENCH_NAME];

    MPI_Allreduce(MPI_IN_PLACE, flat, LAYOUTS * REQUESTS * DRIVERS, MPI_DOUBLE, MPI_SUM,
                  p->b->comm);
    for (int l = 0; l < LAYOUTS; l++)
        for (int r = 0; r < REQUESTS; r++)
            for (int d = 0; d < DRIVERS; d++) {
                snprintf(subject, sizeof subject, "%s %s", layouts[l], sizes[r]);
                ok = bench_note(p->b, subject, what[write][d], bytes, p->seconds[l][r][d], ok);
            }
    return ok;
}

static bool
take_turns(pair *p, bool write)
{
    bool ok = true;

    bench_progress(p->b, "requests", write ? "H5Dwrite" : "H5Dread");
    memset(p->seconds, 0, sizeof p->seconds);
    for (int turn = 0; turn < p->turns; turn++) {
        if (turn == p->b->rank)
            ok = own_turn(p, write);
        bench_wait_quietly(p->b);
    }
    return bench_all(p->b, ok) && note_all(p, write);
}

bool
bench_requests(bench *b)
{
    pair p = {.b = b};
    bool ok = pair_begin(&p);

    ok = ok && pair_create(&p) && take_turns(&p, true) && pair_close(&p);
    ok = ok && pair_open(&p) && take_turns(&p, false) && pair_close(&p);
    for (int d = 0; d < DRIVERS; d++) {
        if (p.file[d].dir != NULL)
            ok = bench_file_remove(b, &p.file[d]) && ok;
        bench_file_close(&p.file[d]);
        H5Pclose(p.fapl[d]);
        free(p.slices[d]);
    }
    return bench_all(b, ok);
}

/* ---- for nothing ---- */

static bool
open_often(bench *b, const bench_file *file, hid_t fapl, unsigned flags, bench_what what)
{
    bool ok = true;

    MPI_Barrier(b->comm);
    b->began = rset_clock();
    for (int i = 0; ok && i < OPENS; i++) {
        hid_t id = H5Fopen(file->path, flags, fapl);

        ok = id >= 0 && H5Fclose(id) >= 0;
    }
    return bench_note(b, "small file", what, 0, (rset_clock() - b->began) / OPENS, ok);
}

bool
bench_open_close(bench *b)
{
    bench_file file;
    hid_t      fapl = bench_hdf_fapl(b, NULL, &bench_modes[0]), id = H5I_INVALID_HID, set;
    bool       ok = bench_file_open(b, "small", &file) && fapl >= 0;

    bench_progress(b, "small file", "open + close");
    if (bench_all(b, ok))
        id = H5Fcreate(file.path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    ok = id >= 0 && (set = bench_hdf_dataset(id, "data", 4096, 0)) >= 0 &&
         bench_hdf_transfer(set, b->buffer, 0, 4096, 4096, true) && H5Dclose(set) >= 0;
    ok = id >= 0 && H5Fclose(id) >= 0 && ok;
    ok = bench_all(b, ok) && open_often(b, &file, fapl, H5F_ACC_RDWR, BENCH_OPEN_CLOSE_RW) &&
         open_often(b, &file, fapl, H5F_ACC_RDONLY, BENCH_OPEN_CLOSE_RO);
    if (file.dir != NULL)
        ok = bench_file_remove(b, &file) && ok;
    bench_file_close(&file);
    H5Pclose(fapl);
    return bench_all(b, ok);
}
