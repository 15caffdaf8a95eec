/* keep.c: what keeping the generation before (keep=2) costs: closes of two files after each other, of which one keeps it, and the
 * space that it takes. See bench.h. */
#include "hdf.h"

#include <H5FDredset.h>

/* One of the two files. */
typedef struct keeper {
    const char *name;
    bench_mode  mode; /* its lines are not told */
    bench_what  over, change;
} keeper;

static const keeper keepers[] = {
    {"forget", {"keep=1", BENCH_WHATS, BENCH_WHATS}, BENCH_OVER, BENCH_CHANGE_AGAIN},
    {"keep", {"keep=2", BENCH_WHATS, BENCH_WHATS}, BENCH_KEEP_OVER, BENCH_KEEP_CHANGE},
};
enum { KEEPERS = sizeof keepers / sizeof keepers[0] };

/* Closes the file, for `what` unless this is not timed. */
static bool
end(bench *b, const bench_scheme *s, hid_t id, bench_what what, bool timed, bool ok)
{
    ok = bench_all(b, ok);
    if (timed)
        bench_start(b);
    ok = id >= 0 && H5Fclose(id) >= 0 && ok;
    return timed ? bench_stop(b, s->name, what, 0, ok) : bench_all(b, ok);
}

static bool
create_over(bench *b, const bench_scheme *s, const keeper *k, const bench_file *file, bool timed)
{
    hid_t      fapl = bench_hdf_fapl(b, s, &k->mode), id = H5I_INVALID_HID;
    const bool ok = fapl >= 0 && bench_hdf_write_new(b, fapl, file, &id);

    bench_progress(b, s->name, bench_kinds[k->over].id);
    H5Pclose(fapl);
    return end(b, s, id, k->over, timed, ok);
}

static bool
change(bench *b, const bench_scheme *s, const keeper *k, const bench_file *file, bool timed)
{
    const unsigned part = timed ? 49 : 20;
    hid_t          fapl = bench_hdf_fapl(b, s, &k->mode);
    hid_t          id = H5Fopen(file->path, H5F_ACC_RDWR, fapl);
    const bool     ok = bench_hdf_write_part(b, id, part);

    bench_progress(b, s->name, bench_kinds[k->change].id);
    H5Pclose(fapl);
    return end(b, s, id, k->change, timed, ok);
}

/* Neither of the two always comes first; and nothing is timed that the step before has left to be done. */
static bool
both(bench *b, const bench_scheme *s, const bench_file *files,
     bool (*step)(bench *, const bench_scheme *, const keeper *, const bench_file *, bool))
{
    bool ok = true;

    for (int timed = 0; timed <= 1; timed++)
        for (int i = 0; ok && i < KEEPERS; i++) {
            const int k = (i + b->repetition) % KEEPERS;

            ok = step(b, s, &keepers[k], &files[k], timed != 0);
        }
    return ok;
}

/* What the one before the newest takes, on the rank where that is most. */
static bool
space(bench *b, const bench_scheme *s, const bench_file *file)
{
    H5FD_redset_generation_t list[2] = {{.size = sizeof list[0]}};
    size_t                   n = 2;
    const bool               ok = H5FDredset_generations(file->path, list, &n) >= 0 && n == 2;

    if (!ok)
        bench_fail(b, "%s: has %zu generations, not 2", file->path, n);
    return bench_note(b, s->name, BENCH_CHANGED, 0, (double)bench_hdf_part(b), ok) &&
           bench_note(b, s->name, BENCH_KEEP_SPACE, 0, (double)list[1].bytes, ok);
}

bool
bench_keep(bench *b, const bench_scheme *s)
{
    bench_file files[KEEPERS] = {0};
    bool       ok = true;

    for (int k = 0; k < KEEPERS; k++)
        ok = bench_file_open(b, keepers[k].name, &files[k]) && ok;
    ok = bench_all(b, ok) && both(b, s, files, create_over) && both(b, s, files, change) &&
         space(b, s, &files[1]);
    for (int k = 0; k < KEEPERS; k++) {
        if (files[k].dir != NULL)
            ok = bench_file_remove(b, &files[k]) && ok;
        bench_file_close(&files[k]);
    }
    return bench_all(b, ok);
}
