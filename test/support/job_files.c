/* job_files.c: the directories of a job: what is written, what is lost, and where the files are. See job.h. */
#include "image.h"
#include "job.h"

#include <stdlib.h>
#include <sys/stat.h>

enum { WRITE_PIECE = 1024 * 1024 };

/* ---- written ---- */

/* In pieces, so that the memory which a test measures is not the test's own. */
static void
write_data(const char *path, size_t size, uint64_t seed)
{
    static uint8_t buf[WRITE_PIECE];

    write_file(path, buf, 0);
    for (size_t at = 0; at < size; at += WRITE_PIECE) {
        size_t len = size - at < WRITE_PIECE ? size - at : WRITE_PIECE;

        fill_random(buf, len, seed + (at / WRITE_PIECE << 32));
        append_file(path, buf, len);
    }
}

void
job_write_data(const job *j, const size_t *sizes, int nsizes, int version)
{
    for (int r = 0; r < j->n; r++)
        write_data(job_data(j, r), sizes[r % nsizes], (uint64_t)(1000 * version + r + 1));
}

/* ---- paths ---- */

const char *
job_data(const job *j, int rank)
{
    return path_of("%s/%s", j->ranks[rank].dir, j->ranks[rank].names[0]);
}

const char *
job_redundancy(const job *j, int rank)
{
    const rset_desc *d = &j->ranks[rank].desc;

    return path_of("%s/%s%d.%s.grp_%d_of_%d.mem_%d_of_%d.redset", j->ranks[rank].dir,
                   j->ranks[rank].prefix, d->rank, d->scheme->file_name, d->set + 1, d->sets,
                   d->member + 1, d->members);
}

const char *
job_descriptor(const job *j, int rank)
{
    return path_of("%s/%s%d.redset", j->ranks[rank].dir, j->ranks[rank].prefix,
                   j->ranks[rank].desc.rank);
}

/* ---- lost ---- */

void
job_lose(const job *j, const bool *lost)
{
    for (int r = 0; r < j->n; r++)
        if (lost[r]) {
            remove_tree(j->ranks[r].dir);
            mkdir(j->ranks[r].dir, 0777);
        }
}

int
job_mask(const job *j, unsigned mask, bool *lost)
{
    int losses = 0;

    for (int r = 0; r < j->n; r++)
        losses += lost[r] = (mask >> r & 1) != 0;
    return losses;
}

bool
job_survives(const job *j, const bool *lost)
{
    for (int r = 0; r < j->n; r++) {
        const rset_desc *d = &j->ranks[r].desc;
        int              losses = 0;
        bool             copy = false;

        for (int m = 0; m < d->members; m++)
            losses += lost[j->ranks[r].members[m]];
        for (int u = 1; u <= d->parity; u++)
            copy = copy || !lost[j->ranks[r].members[(d->member + u) % d->members]];
        if (d->scheme == &rset_scheme_partner ? lost[r] && !copy : losses > d->parity)
            return false;
    }
    return true;
}
