/* json.c: see json.h. */
#include "json.h"

#include <errno.h>
#include <hdf5.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <linux/magic.h>

/* ---- where it ran ---- */

static const char *
filesystem(const bench *b)
{
    struct statfs fs;

    if (statfs(b->options.dir, &fs) != 0)
        return "unknown";
    switch ((unsigned long)fs.f_type) {
    case TMPFS_MAGIC: return "tmpfs";
    case EXT4_SUPER_MAGIC: return "ext4";
    case XFS_SUPER_MAGIC: return "xfs";
    case BTRFS_SUPER_MAGIC: return "btrfs";
    case OVERLAYFS_SUPER_MAGIC: return "overlay";
    case NFS_SUPER_MAGIC: return "nfs";
    default: return "other";
    }
}

/* What the run was built with and for, and whether cold lines are missing because no page cache could be emptied. */
static json_t *
libraries(const bench *b)
{
    char     hdf5[32], mpi[MPI_MAX_LIBRARY_VERSION_STRING];
    unsigned major = 0, minor = 0, release = 0;
    int      len = 0;

    H5get_libversion(&major, &minor, &release);
    snprintf(hdf5, sizeof hdf5, "%u.%u.%u", major, minor, release);
    MPI_Get_library_version(mpi, &len);
    mpi[strcspn(mpi, ",\n")] = '\0';
    return json_pack("{s:i, s:I, s:i, s:s, s:s, s:b}", "ranks", b->size, "io_size",
                     (json_int_t)b->options.io_size, "repetitions", b->options.repetitions, "hdf5",
                     hdf5, "mpi", mpi, "cold", b->can_drop);
}

json_t *
bench_json_head(const bench *b)
{
    return json_pack("{s:i, s:i, s:I, s:s}", "version", 1, "processors",
                     (int)sysconf(_SC_NPROCESSORS_ONLN), "size", (json_int_t)b->options.size,
                     "filesystem", filesystem(b));
}

/* ---- parts ---- */

json_t *
bench_json_sound(json_t *json, bool ok)
{
    if (!ok)
        json_decref(json);
    return ok ? json : NULL;
}

json_t *
bench_json_list(const double *values, int n)
{
    json_t *list = json_array();
    bool    ok = true;

    for (int i = 0; i < n; i++)
        ok = json_array_append_new(list, json_real(values[i])) == 0 && ok;
    return bench_json_sound(list, ok);
}

/* 0 stands for "none". */
static json_t *
number(double value)
{
    return value > 0 ? json_real(value) : json_null();
}

/* The parts of encode, rebuild and close, named as in H5FD_redset_stats_t: seconds, means of the ranks and repetitions. */
static json_t *
phases(const bench_line *line)
{
    static const char *const names[RSET_PHASES] = {
        [RSET_PHASE_OTHER] = "other",  [RSET_PHASE_MEET] = "rendezvous",
        [RSET_PHASE_READ] = "reading", [RSET_PHASE_SUM] = "arithmetic",
        [RSET_PHASE_SEND] = "sending", [RSET_PHASE_WRITE] = "writing",
        [RSET_PHASE_SYNC] = "syncing", [RSET_PHASE_WAIT] = "waiting"};
    json_t *all = json_object();
    bool    ok = true;

    for (int p = 0; p < RSET_PHASES; p++)
        ok = json_object_set_new(all, names[p], json_real(line->phases[p] / line->n)) == 0 && ok;
    return bench_json_sound(all, ok);
}

static json_t *
line_of(const bench_line *line)
{
    const bench_kind *kind = &bench_kinds[line->what];
    const bool        parts =
        line->what == BENCH_ENCODE || line->what == BENCH_REBUILD || line->what == BENCH_WRITE;
    json_t *one =
        json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "subject", line->subject, "what", kind->id,
                  "unit", kind->unit, "samples", bench_json_list(line->samples, line->n), "bytes",
                  number(line->bytes), "memory", number(line->memory));

    return bench_json_sound(one, !parts || json_object_set_new(one, "phases", phases(line)) == 0);
}

/* ---- the whole ---- */

bool
bench_json_write(const bench *b, json_t *result)
{
    const char *path = b->options.json;
    FILE       *to = path == NULL ? stdout : fopen(path, "w");
    bool        ok = to != NULL;

    if (result == NULL)
        ok = bench_fail(b, "no memory for the result");
    if (ok)
        ok = json_dumpf(result, to, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) == 0 &&
             fputc('\n', to) != EOF;
    if (to != NULL && (to == stdout ? fflush(to) : fclose(to)) != 0)
        ok = false;
    if (!ok && result != NULL)
        bench_fail(b, "%s: cannot be written: %s", path == NULL ? "standard output" : path,
                   strerror(errno));
    json_decref(result);
    return ok;
}

bool
bench_json_lines(const bench *b)
{
    json_t *result = bench_json_head(b), *lines = json_array();
    bool    ok = json_object_update_missing_new(result, libraries(b)) == 0;

    for (int i = 0; ok && i < b->results->n; i++)
        if (b->results->lines[i].n > 0)
            ok = json_array_append_new(lines, line_of(&b->results->lines[i])) == 0;
    ok = json_object_set_new(result, "lines", lines) == 0 && ok;
    return bench_json_write(b, bench_json_sound(result, ok));
}
