/* scaling.c: encodes of 2 to 32 ranks. The ranks are threads of this process and talk through memory
 * (encode/comm/comm_local.h): what they send is the same as over MPI, and so are the goals for it; the time is
 * that of all of them on this machine's processors, so it is the bytes of all ranks per second that stay
 * the same where the engine scales. */
#include "files.h"

#include "comm/comm_local.h"
#include "protect/protect.h"
#include "recover/recover.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RANKS_MAX = 32 };

/* What the ranks are given, and what they say of themselves. */
typedef struct job {
    const bench        *b;
    const bench_scheme *s;
    uint64_t            generation;
    struct {
        bench    self; /* of this rank, as files.h wants it */
        double   seconds;
        uint64_t bytes, messages;
        bool     ok;
    } rank[RANKS_MAX];
} job;

static bool
make_file(const bench *b, const bench_file *file)
{
    FILE  *out = fopen(file->path, "wb");
    size_t len = 0;
    bool   ok = out != NULL;

    for (uint64_t off = 0; ok && off < b->options.size; off += len) {
        len = b->options.size - off < BENCH_BUFFER ? (size_t)(b->options.size - off) : BENCH_BUFFER;
        ok = fwrite(b->buffer, 1, len, out) == len;
    }
    if (out != NULL)
        ok = fclose(out) == 0 && ok;
    return (ok && bench_file_flush(b, file)) || bench_fail(b, "%s: cannot be written", file->path);
}

static bool
protect(rset_comm *world, job *j, const bench_file *file)
{
    rset_err          err = RSET_ERR_NONE;
    int               ranks[RANKS_MAX], me = world->rank, n = world->size;
    rset_comm         set = {0};
    rset_protect_args args = {.world = world,
                              .set = &set,
                              .ranks = ranks,
                              .local = &file->local,
                              .desc = {.scheme = j->s->scheme,
                                       .parity = j->s->parity,
                                       .sets = 1,
                                       .member = me,
                                       .members = n,
                                       .rank = me,
                                       .ranks = n,
                                       .generation = j->generation},
                              .extra = true,
                              .host = ""};

    for (int r = 0; r < n; r++)
        ranks[r] = r;
    args.before = rset_comm_subset(world, ranks, n, &set, &err);
    if (rset_protect(&args, &err) != RSET_OK)
        bench_fail(&j->rank[me].self, "encode: %s", err.text);
    rset_comm_free(&set);
    return err.status == RSET_OK;
}

/* One rank: a file of its own, protected, removed. */
static void
one_rank(rset_comm *world, void *arg)
{
    job       *j = arg;
    int        me = world->rank;
    bench     *self = &j->rank[me].self;
    bench_file file = {0};
    bool       ok = bench_file_open(self, "data", &file) && make_file(self, &file);

    ok = rset_agree(world, ok ? RSET_OK : RSET_IO, "", NULL) == RSET_OK;
    j->rank[me].bytes = world->sent_bytes;
    j->rank[me].messages = world->sent_messages;
    j->rank[me].seconds = rset_clock();
    ok = ok && protect(world, j, &file);
    j->rank[me].seconds = rset_clock() - j->rank[me].seconds;
    j->rank[me].bytes = world->sent_bytes - j->rank[me].bytes;
    j->rank[me].messages = world->sent_messages - j->rank[me].messages;
    if (file.dir != NULL)
        ok = bench_file_remove(self, &file) && ok;
    bench_file_close(&file);
    j->rank[me].ok = ok;
}

/* ---- from the ranks' numbers to lines ---- */

static bool
note(bench *b, const job *j, int ranks)
{
    double   seconds = 0;
    uint64_t bytes = 0, messages = 0;
    bool     ok = true;
    char     name[2 * BENCH_NAME];

    for (int r = 0; r < ranks; r++) {
        ok = ok && j->rank[r].ok;
        seconds = j->rank[r].seconds > seconds ? j->rank[r].seconds : seconds;
        bytes = j->rank[r].bytes > bytes ? j->rank[r].bytes : bytes;
        messages = j->rank[r].messages > messages ? j->rank[r].messages : messages;
    }
    snprintf(name, sizeof name, "%s, %d ranks", j->s->name, ranks);
    return bench_note(b, name, BENCH_ENCODE, (double)b->options.size * ranks, seconds, ok) &&
           bench_note(b, name, BENCH_SENT_FLOOR, 0, (double)b->options.size * (double)j->s->parity,
                      ok) &&
           bench_note(b, name, BENCH_SENT, 0, (double)bytes, ok) &&
           bench_note(b, name, BENCH_MESSAGES, 0, (double)messages, ok);
}

static bool
encode(bench *b, const bench_scheme *s, int ranks)
{
    rset_err err = RSET_ERR_NONE;
    job     *j = calloc(1, sizeof *j);
    bool     ok = j != NULL;

    if (!ok)
        return bench_fail(b, "no memory for %d ranks", ranks);
    *j = (job){.b = b, .s = s, .generation = rset_generation_next(0, (uint64_t)b->repetition)};
    for (int r = 0; ok && r < ranks; r++) {
        j->rank[r].self = *b;
        j->rank[r].self.rank = r;
        ok = bench_files_make(&j->rank[r].self);
    }
    if (ok && rset_local_run(ranks, 600, one_rank, j, &err) != RSET_OK)
        ok = bench_fail(b, "%s", err.text);
    ok = ok && note(b, j, ranks);
    for (int r = 1; r < ranks; r++) /* that of rank 0 is the run's */
        bench_files_remove(&j->rank[r].self);
    free(j);
    return ok;
}

static const bench_scheme schemes[] = {{&rset_scheme_partner, 1, "PARTNER(1)"},
                                       {&rset_scheme_xor, 1, "XOR"},
                                       {&rset_scheme_rs, 2, "RS(2)"},
                                       {&rset_scheme_rs, 3, "RS(3)"}};

bool
bench_scaling(bench *b)
{
    bool ok = true;

    for (b->repetition = 0; b->repetition <= b->options.repetitions; b->repetition++)
        for (size_t s = 0; s < sizeof schemes / sizeof schemes[0]; s++)
            for (int n = 2; ok && n <= RANKS_MAX; n *= 2)
                if (schemes[s].scheme->check(n, schemes[s].parity, NULL) == RSET_OK) {
                    bench_progress(b, schemes[s].name, "encode");
                    ok = encode(b, &schemes[s], n);
                }
    return ok;
}
