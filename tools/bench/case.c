/* case.c: one scheme, once: written with HDF5, encoded, verified, opened, lost and rebuilt. */
#include "engine.h"
#include "floor.h"
#include "hdf.h"

/* With sec2, beside; what is written must not be left to the measurements that follow. */
static bool
with_sec2(bench *b, const bench_scheme *s)
{
    bench_file file;
    bool       ok =
        bench_all(b, bench_file_open(b, "sec2", &file)) && bench_hdf_create(b, s, NULL, &file);

    ok = ok && bench_file_flush(b, &file);
    ok = bench_file_remove(b, &file) && ok;
    bench_file_close(&file);
    return bench_all(b, ok);
}

static bool
with_driver(bench *b, const bench_scheme *s, const bench_file *file)
{
    bool ok = true;

    for (int m = 0; ok && m < bench_nmodes; m++)
        ok = bench_all(b, bench_file_remove(b, file)) &&
             bench_hdf_create(b, s, &bench_modes[m], file);
    return ok;
}

/* In turns, so that neither always finds what the other left behind. */
static bool
encode_and_floor(bench *b, const bench_scheme *s, const bench_file *file)
{
    if (b->repetition % 2 == 0)
        return bench_floor_encode(b, s, file) && bench_encode(b, s, file);
    return bench_encode(b, s, file) && bench_floor_encode(b, s, file);
}

static bool
read_once(bench *b, const bench_scheme *s, const bench_file *file, bench_what what)
{
    bool ok;

    bench_progress(b, s->name, bench_kinds[what].id);
    bench_start(b);
    ok = bench_file_read(b, file);
    return bench_stop(b, s->name, what, (double)b->options.size, ok);
}

static bool
open_cached(bench *b, const bench_scheme *s, const bench_file *file)
{
    return read_once(b, s, file, BENCH_READ_WARM) && bench_verify(b, s, file) &&
           bench_hdf_open(b, s, file, BENCH_OPEN_WARM);
}

/* Measures with an empty page cache, as long as that can be had. */
static bool
cold(bench *b, const bench_scheme *s, const bench_file *file, bench_what what)
{
    if (b->can_drop && !bench_files_drop(b, file, &b->can_drop))
        return false;
    if (!b->can_drop)
        return true;
    return what == BENCH_READ_COLD ? read_once(b, s, file, what) : bench_hdf_open(b, s, file, what);
}

/* Repetitions of two lines are compared pair by pair: a cold line without one of them is none. */
static bool
open_cold(bench *b, const bench_scheme *s, const bench_file *file)
{
    if (!cold(b, s, file, BENCH_READ_COLD) || !cold(b, s, file, BENCH_OPEN_COLD))
        return false;
    if (!b->can_drop) {
        bench_lines_forget(b->results, BENCH_READ_COLD);
        bench_lines_forget(b->results, BENCH_OPEN_COLD);
    }
    return true;
}

bool
bench_case(bench *b, const bench_scheme *s)
{
    bench_file file;
    bool       ok = bench_all(b, bench_file_open(b, "data", &file));

    ok = ok && with_sec2(b, s) && with_driver(b, s, &file) && encode_and_floor(b, s, &file) &&
         open_cached(b, s, &file) && open_cold(b, s, &file) && bench_floor_rebuild(b, s, &file) &&
         bench_rebuild(b, s, &file) && bench_hdf_change(b, s, &file) &&
         bench_hdf_commit(b, s, &file);
    if (file.dir != NULL)
        ok = bench_file_remove(b, &file) && ok;
    bench_file_close(&file);
    return bench_all(b, ok);
}
