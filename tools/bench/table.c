/* table.c: the results as a table, and what is absurd in them. See report.h. */
#include "report.h"

#include <hdf5.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <linux/magic.h>

const char *
bench_report_size(double bytes, char buf[32])
{
    const char *units[] = {"B", "KiB", "MiB", "GiB"};
    int         u = 0;

    while (u < 3 && bytes >= 1024) {
        bytes /= 1024;
        u++;
    }
    snprintf(buf, 32, bytes == (int)bytes ? "%.0f %s" : "%.1f %s", bytes, units[u]);
    return buf;
}

static const char *
show_seconds(double s, char buf[32])
{
    if (s < 1e-3)
        snprintf(buf, 32, "%.1f us", s * 1e6);
    else if (s < 1)
        snprintf(buf, 32, "%.2f ms", s * 1e3);
    else
        snprintf(buf, 32, "%.3f s", s);
    return buf;
}

static const char *
show(double value, bench_unit unit, char buf[32])
{
    if (unit == BENCH_SECONDS)
        return show_seconds(value, buf);
    if (unit == BENCH_BYTES)
        return bench_report_size(value, buf);
    snprintf(buf, 32, "%.0f", value);
    return buf;
}

/* ---- where it ran ---- */

const char *
bench_report_filesystem(const bench *b)
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

int
bench_report_processors(void)
{
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

void
bench_report_versions(char *hdf5, size_t hdf5_size, char *mpi, size_t mpi_size)
{
    char     library[MPI_MAX_LIBRARY_VERSION_STRING];
    unsigned major = 0, minor = 0, release = 0;
    int      len = 0;

    H5get_libversion(&major, &minor, &release);
    snprintf(hdf5, hdf5_size, "%u.%u.%u", major, minor, release);
    MPI_Get_library_version(library, &len);
    library[strcspn(library, ",\n")] = '\0';
    snprintf(mpi, mpi_size, "%s", library);
}

/* ---- the table ---- */

static void
print_head(const bench *b, FILE *to)
{
    char hdf5[32], mpi[64], size[32];

    bench_report_versions(hdf5, sizeof hdf5, mpi, sizeof mpi);
    fprintf(to, "%d ranks; %d processors, %s per rank on %s, median of %d; HDF5 %s, %s\n", b->size,
            bench_report_processors(), bench_report_size((double)b->options.size, size),
            bench_report_filesystem(b), b->options.repetitions, hdf5, mpi);
    if (!b->can_drop)
        fprintf(to, "the page cache of this file system could not be emptied: no cold lines\n");
    fprintf(to, "\n%-22s %-30s %10s %7s %9s %7s %7s\n", "", "", "", "GB/s", "memory", "ratio",
            "goal");
}

static void
print_verdict(const bench *b, const bench_line *line, FILE *to)
{
    double goal = bench_line_goal(line), ratio = bench_line_ratio(b->results, line);
    char   text[32];

    if (ratio > 0)
        fprintf(to, " %7.3f", ratio);
    else
        fprintf(to, " %7s", "");
    if (goal <= 0 || bench_line_score(b->results, line) <= 0)
        return;
    if (bench_kinds[line->what].over >= 0)
        snprintf(text, sizeof text, "%.2f", goal);
    else
        show(goal, bench_kinds[line->what].unit, text);
    fprintf(to, " %7s  %s", text,
            bench_line_score(b->results, line) <= goal * (1 + 1e-9) ? "ok" : "missed");
}

static void
print_line(const bench *b, const bench_line *line, const char *subject, FILE *to)
{
    const bench_kind *kind = &bench_kinds[line->what];
    double            median = bench_line_median(line);
    char              value[32], memory[32];

    fprintf(to, "%-22s %-30s %10s", subject, kind->title, show(median, kind->unit, value));
    if (line->bytes > 0)
        fprintf(to, " %7.2f", line->bytes * b->size / median / 1e9);
    else
        fprintf(to, " %7s", "");
    fprintf(to, " %9s", line->memory > 0 ? bench_report_size(line->memory, memory) : "");
    print_verdict(b, line, to);
    fprintf(to, "\n");
}

/* Lines come in the order in which they were measured: by subject, but for the one line that each
 * scheme gets late. */
void
bench_report_table(const bench *b, FILE *to)
{
    const bench_results *r = b->results;
    bool                 done[BENCH_LINES_MAX] = {false};

    print_head(b, to);
    for (int i = 0; i < r->n; i++) {
        const char *subject = r->lines[i].subject;

        for (int j = i; j < r->n; j++) {
            if (done[j] || strcmp(r->lines[j].subject, r->lines[i].subject) != 0)
                continue;
            done[j] = true;
            if (r->lines[j].n == 0)
                continue;
            print_line(b, &r->lines[j], subject, to);
            subject = "";
        }
    }
}

/* ---- where the time goes ---- */

const char *const bench_phases[RSET_PHASES] = {
    [RSET_PHASE_OTHER] = "other",  [RSET_PHASE_MEET] = "rendezvous",
    [RSET_PHASE_READ] = "reading", [RSET_PHASE_SUM] = "arithmetic",
    [RSET_PHASE_SEND] = "sending", [RSET_PHASE_WRITE] = "writing",
    [RSET_PHASE_SYNC] = "syncing", [RSET_PHASE_WAIT] = "waiting"};

bool
bench_report_has_phases(const bench_line *line)
{
    return line->n > 0 &&
           (line->what == BENCH_ENCODE || line->what == BENCH_REBUILD || line->what == BENCH_WRITE);
}

static void
print_phases(const bench_line *line, FILE *to)
{
    const char *title =
        line->what == BENCH_WRITE ? "H5Fclose, redset" : bench_kinds[line->what].title;

    fprintf(to, "%-12s %-17s", line->subject, title);
    for (int p = 0; p < RSET_PHASES; p++)
        fprintf(to, " %10.2f", 1e3 * line->phases[p] / line->n);
    fprintf(to, "\n");
}

void
bench_report_phases(const bench *b, FILE *to)
{
    bool any = false;

    for (int i = 0; i < b->results->n; i++) {
        if (!bench_report_has_phases(&b->results->lines[i]))
            continue;
        if (!any) {
            fprintf(to, "\n%-30s", "where the time goes, ms");
            for (int p = 0; p < RSET_PHASES; p++)
                fprintf(to, " %10s", bench_phases[p]);
            fprintf(to, "\n");
        }
        any = true;
        print_phases(&b->results->lines[i], to);
    }
}

int
bench_report_absurd(const bench *b)
{
    int absurd = 0;

    for (int i = 0; i < b->results->n; i++) {
        const bench_line *line = &b->results->lines[i];

        if (line->n == 0 || !bench_line_absurd(b->results, line))
            continue;
        absurd++;
        fprintf(stderr, "h5redset-bench: absurd: %s, %s: %.3g, the goal is %.3g\n", line->subject,
                bench_kinds[line->what].title, bench_line_score(b->results, line),
                bench_line_goal(line));
    }
    return absurd;
}
