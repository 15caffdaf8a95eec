/* floor.c: see floor.h. Its files are made here and removed again; what they hold means nothing. */
#include "floor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct floor {
    bench              *b;
    const bench_scheme *s;
    int                 dir, data, payload; /* what is read */
    int                 out, out_data;      /* what is written: redundancy, and a rebuilt file */
    uint64_t            size;       /* of the longest file; what is beyond the end is zeros */
    uint64_t            redundancy; /* bytes that each rank keeps of the others */
    uint64_t            sent, written;
    uint8_t            *mine, *theirs;
} floor_t;

static const char out_name[] = "floor.redundancy", data_name[] = "floor.data",
                  desc_name[] = "floor.descriptor";

/* ---- files ---- */

static bool
in_dir(floor_t *f, const char *name, int flags, int *fd_out)
{
    *fd_out = openat(f->dir, name, flags | O_CLOEXEC, 0666);
    return *fd_out >= 0 ||
           bench_fail(f->b, "%s/%s: cannot be opened: %s", f->b->dir, name, strerror(errno));
}

/* What a scheme keeps on each of the ranks. */
static uint64_t
redundancy(const floor_t *f)
{
    uint64_t n = (uint64_t)f->b->size, k = (uint64_t)f->s->parity;

    if (!f->s->scheme->striped)
        return k * f->size;
    return (f->size + n - k - 1) / (n - k) * k;
}

static bool
begin(floor_t *f, const bench_file *file)
{
    struct stat sb = {0};
    bool        ok;

    f->dir = open(f->b->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    f->mine = malloc(BENCH_PIECE);
    f->theirs = malloc(BENCH_PIECE);
    ok = (f->dir >= 0 && f->mine != NULL && f->theirs != NULL) ||
         bench_fail(f->b, "%s: %s", f->b->dir, strerror(errno));
    ok = ok && in_dir(f, file->base, O_RDONLY, &f->data);
    if (ok && fstat(f->data, &sb) == 0)
        f->size = (uint64_t)sb.st_size;
    MPI_Allreduce(MPI_IN_PLACE, &f->size, 1, MPI_UINT64_T, MPI_MAX, f->b->comm);
    f->redundancy = redundancy(f);
    return bench_all(f->b, ok);
}

static bool
synced(floor_t *f, int fd)
{
    return fsync(fd) == 0 || bench_fail(f->b, "%s: sync: %s", f->b->dir, strerror(errno));
}

/* A small file beside, and the names: as complete() and publish() of encode/protect/protect.c. */
static bool
publish(floor_t *f)
{
    int  fd = -1;
    bool ok = in_dir(f, desc_name, O_WRONLY | O_CREAT | O_TRUNC, &fd);

    ok = ok && bench_pwrite(f->b, fd, f->mine, 4096, 0) && synced(f, fd);
    if (fd >= 0)
        close(fd);
    ok = ok && synced(f, f->dir);
    if (ok && renameat(f->dir, out_name, f->dir, "floor.published") != 0)
        ok = bench_fail(f->b, "%s: rename: %s", f->b->dir, strerror(errno));
    return ok && synced(f, f->dir);
}

static void
end(floor_t *f)
{
    const int fds[] = {f->data, f->payload, f->out, f->out_data};

    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    if (f->dir >= 0) {
        unlinkat(f->dir, out_name, 0);
        unlinkat(f->dir, data_name, 0);
        unlinkat(f->dir, desc_name, 0);
        unlinkat(f->dir, "floor.published", 0);
        close(f->dir);
    }
    free(f->mine);
    free(f->theirs);
}

static size_t
piece_at(uint64_t off, uint64_t size)
{
    return size - off < BENCH_PIECE ? (size_t)(size - off) : BENCH_PIECE;
}

/* ---- encode ---- */

/* XOR and RS: of what comes by, a part is kept: written as soon as it is a piece, or at the end. */
static bool
write_share(floor_t *f, uint64_t read)
{
    uint64_t due = (uint64_t)((double)f->redundancy * ((double)read / (double)f->size));

    if (read == f->size)
        due = f->redundancy;
    while (f->written < due && (due - f->written >= BENCH_PIECE || read == f->size)) {
        size_t len = piece_at(f->written, due);

        if (!bench_pwrite(f->b, f->out, f->theirs, len, f->written))
            return false;
        f->written += len;
    }
    return true;
}

/* One piece around the ring, once per copy or parity. */
static bool
pass_on(floor_t *f, uint64_t off, size_t len)
{
    int right = (f->b->rank + 1) % f->b->size, left = (f->b->rank + f->b->size - 1) % f->b->size;

    for (int hop = 0; hop < f->s->parity; hop++) {
        MPI_Sendrecv(f->mine, (int)len, MPI_BYTE, right, hop, f->theirs, (int)len, MPI_BYTE, left,
                     hop, f->b->comm, MPI_STATUS_IGNORE);
        f->sent += len;
        if (!f->s->scheme->striped &&
            !bench_pwrite(f->b, f->out, f->theirs, len, (uint64_t)hop * f->size + off))
            return false;
    }
    return !f->s->scheme->striped || write_share(f, off + len);
}

/* A rank that fails goes on sending, so that nobody waits for it. */
static bool
encode(floor_t *f)
{
    bool ok = in_dir(f, out_name, O_WRONLY | O_CREAT | O_TRUNC, &f->out);

    for (uint64_t off = 0; off < f->size; off += BENCH_PIECE) {
        size_t len = piece_at(off, f->size);

        ok = ok && bench_pread(f->b, f->data, f->mine, len, off);
        ok = pass_on(f, off, len) && ok;
    }
    return ok && synced(f, f->out) && synced(f, f->data) && publish(f);
}

bool
bench_floor_encode(bench *b, const bench_scheme *s, const bench_file *file)
{
    floor_t f = {.b = b, .s = s, .dir = -1, .data = -1, .payload = -1, .out = -1, .out_data = -1};
    bool    ok = begin(&f, file);

    bench_progress(b, s->name, "floor of encode");
    if (ok) {
        bench_start(b);
        ok = encode(&f);
        ok = bench_stop(b, s->name, BENCH_FLOOR_ENCODE, (double)b->options.size, ok) &&
             bench_note(b, s->name, BENCH_SENT_FLOOR, 0, (double)f.sent, true);
    }
    end(&f);
    return ok;
}

/* ---- rebuild ---- */

/* Where the survivors' bytes come from: first the data file, then the redundancy. */
static bool
read_own(floor_t *f, uint64_t off, size_t len)
{
    if (off < f->size)
        return bench_pread(f->b, f->data, f->mine, len, off);
    return bench_pread(f->b, f->payload, f->mine, len, off - f->size);
}

static bool
write_back(floor_t *f, uint64_t off, size_t len)
{
    if (off < f->size)
        return bench_pwrite(f->b, f->out_data, f->theirs, len, off);
    return bench_pwrite(f->b, f->out, f->theirs, len, off - f->size);
}

/* XOR and RS: every survivor reads all it has, and for each lost rank adds to a sum that goes along the
 * chain of survivors to that rank: ranks 0, 1, ..., then the lost ones, which are the last. */
static bool
chain(floor_t *f)
{
    int      lost = bench_losses(f->s), survivors = f->b->size - lost, rank = f->b->rank;
    uint64_t all = f->size + f->redundancy;
    bool     ok = true;

    for (uint64_t off = 0; off < all; off += BENCH_PIECE) {
        size_t len = piece_at(off, all);

        if (rank < survivors)
            ok = ok && read_own(f, off, len);
        for (int l = 0; l < lost; l++) {
            int to = rank < survivors ? rank + 1 : MPI_PROC_NULL;
            int from = rank < survivors ? rank - 1 : MPI_PROC_NULL;

            if (to == survivors)
                to = survivors + l;
            if (from < 0)
                from = MPI_PROC_NULL;
            if (rank == survivors + l)
                from = survivors - 1;
            MPI_Sendrecv(f->mine, (int)len, MPI_BYTE, to, l, f->theirs, (int)len, MPI_BYTE, from, l,
                         f->b->comm, MPI_STATUS_IGNORE);
        }
        if (rank >= survivors)
            ok = ok && write_back(f, off, len);
    }
    return ok;
}

/* PARTNER: where a rank has a copy of `owner`'s file: at `at` of its data (0) or of what it keeps. */
static bool
has_copy(const floor_t *f, int rank, int owner, uint64_t *at_out)
{
    int distance = (rank - owner + f->b->size) % f->b->size;

    *at_out = distance == 0 ? 0 : (uint64_t)distance * f->size;
    return distance <= f->s->parity;
}

/* The first that has one and did not lose it; -1: nobody needs this file. */
static int
source_of(const floor_t *f, int owner)
{
    int source = -1, lost = 0;

    for (int d = 0; d <= f->s->parity; d++) {
        int rank = (owner + d) % f->b->size;

        if (bench_is_lost(f->b, f->s, rank))
            lost++;
        else if (source < 0)
            source = rank;
    }
    return lost > 0 ? source : -1;
}

/* One piece of one rank's file from one that has it to all that lost it. */
static bool
copy_piece(floor_t *f, int owner, int source, uint64_t off, size_t len)
{
    uint64_t at;
    bool     ok = true;

    if (f->b->rank == source) {
        ok = has_copy(f, source, owner, &at) && read_own(f, at + off, len);
        for (int d = 0; d <= f->s->parity; d++)
            if (bench_is_lost(f->b, f->s, (owner + d) % f->b->size))
                MPI_Send(f->mine, (int)len, MPI_BYTE, (owner + d) % f->b->size, owner, f->b->comm);
    } else if (bench_is_lost(f->b, f->s, f->b->rank) && has_copy(f, f->b->rank, owner, &at)) {
        MPI_Recv(f->theirs, (int)len, MPI_BYTE, source, owner, f->b->comm, MPI_STATUS_IGNORE);
        ok = write_back(f, at + off, len);
    }
    return ok;
}

static bool
copies(floor_t *f)
{
    bool ok = true;

    for (uint64_t off = 0; off < f->size; off += BENCH_PIECE)
        for (int owner = 0; owner < f->b->size; owner++) {
            int source = source_of(f, owner);

            if (source >= 0)
                ok = copy_piece(f, owner, source, off, piece_at(off, f->size)) && ok;
        }
    return ok;
}

static bool
rebuild(floor_t *f)
{
    bool lost = bench_is_lost(f->b, f->s, f->b->rank), ok = true;

    if (lost)
        ok = in_dir(f, out_name, O_WRONLY | O_CREAT | O_TRUNC, &f->out) &&
             in_dir(f, data_name, O_WRONLY | O_CREAT | O_TRUNC, &f->out_data);
    ok = (f->s->scheme->striped ? chain(f) : copies(f)) && ok;
    return ok && (!lost || (synced(f, f->out_data) && synced(f, f->out) && publish(f)));
}

static bool
open_payload(floor_t *f, const bench_file *file)
{
    rset_evidence evidence = {0};
    bool          ok = bench_file_survey(f->b, file, &evidence);

    if (ok && !evidence.has_header)
        ok = bench_fail(f->b, "%s: is not protected", file->path);
    ok = ok && in_dir(f, evidence.name, O_RDONLY, &f->payload);
    rset_evidence_free(&evidence);
    return ok;
}

bool
bench_floor_rebuild(bench *b, const bench_scheme *s, const bench_file *file)
{
    floor_t f = {.b = b, .s = s, .dir = -1, .data = -1, .payload = -1, .out = -1, .out_data = -1};
    bool    ok = begin(&f, file) && bench_all(b, open_payload(&f, file));

    bench_progress(b, s->name, "floor of rebuild");
    if (ok) {
        bench_start(b);
        ok = rebuild(&f);
        ok = bench_stop(b, s->name, BENCH_FLOOR_REBUILD, (double)b->options.size, ok);
    }
    end(&f);
    return ok;
}
