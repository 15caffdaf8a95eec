/* engine.c: see engine.h. */
#include "engine.h"

#include "comm/mpi/comm_mpi.h"
#include "protect/protect.h"
#include "recover/recover.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double patience = 600; /* seconds; a run that hangs ends with a message */

bool
bench_engine_begin(bench *b)
{
    rset_err err = RSET_ERR_NONE;
    int     *all = calloc((size_t)b->size, sizeof *all);
    bool     ok = all != NULL;

    for (int r = 0; ok && r < b->size; r++)
        all[r] = r;
    ok = ok && rset_mpi_private(&b->comm, patience, NULL, &b->world, &err) == RSET_OK &&
         rset_comm_subset(b->world, all, b->size, &b->set, &err) == RSET_OK;
    free(all);
    if (!ok)
        bench_fail(b, "the engine cannot use MPI: %s", err.text);
    else
        b->world->timeout = b->set.timeout = patience;
    b->generation = (uint64_t)time(NULL);
    MPI_Bcast(&b->generation, 1, MPI_UINT64_T, 0, b->comm);
    return bench_all(b, ok);
}

void
bench_engine_end(bench *b)
{
    rset_comm_free(&b->set);
}

/* ---- encode ---- */

static rset_status
protect(bench *b, const bench_scheme *s, const bench_file *file, const int *ranks, rset_err *err)
{
    rset_protect_args args = {.world = b->world,
                              .set = &b->set,
                              .ranks = ranks,
                              .local = &file->local,
                              .desc = {.scheme = s->scheme,
                                       .parity = s->parity,
                                       .set = 0,
                                       .sets = 1,
                                       .member = b->rank,
                                       .members = b->size,
                                       .rank = b->rank,
                                       .ranks = b->size,
                                       .generation = b->generation},
                              .extra = true,
                              .host = ""};

    return rset_protect(&args, err);
}

bool
bench_encode(bench *b, const bench_scheme *s, const bench_file *file)
{
    rset_err err = RSET_ERR_NONE;
    int     *ranks = calloc((size_t)b->size, sizeof *ranks);
    bool     ok = ranks != NULL && bench_file_bare(b, file);
    uint64_t bytes = b->world->sent_bytes, messages = b->world->sent_messages;

    for (int r = 0; ok && r < b->size; r++)
        ranks[r] = r;
    b->generation = rset_generation_next(b->generation, (uint64_t)b->repetition);
    if (!bench_all(b, ok)) {
        free(ranks);
        return false;
    }
    bench_progress(b, s->name, "encode");
    bench_start(b);
    ok = protect(b, s, file, ranks, &err) == RSET_OK;
    if (!ok)
        bench_fail(b, "encode: %s", err.text);
    free(ranks);
    if (!bench_stop(b, s->name, BENCH_ENCODE, (double)b->options.size, ok))
        return false;
    bytes = b->world->sent_bytes - bytes;
    messages = b->world->sent_messages - messages;
    return bench_note(b, s->name, BENCH_SENT, 0, (double)bytes, true) &&
           bench_note(b, s->name, BENCH_MESSAGES, 0, (double)messages, true);
}

/* ---- verify and rebuild ---- */

static bool
recover(bench *b, const bench_file *file, rset_evidence *evidence, rset_outcome *outcome)
{
    rset_err          err = RSET_ERR_NONE;
    rset_recover_args args = {.world = b->world,
                              .local = &file->local,
                              .evidence = evidence,
                              .content = RSET_CONTENT_ALL,
                              .tidy = true,
                              .host = ""};

    return rset_recover(&args, outcome, &err) == RSET_OK || bench_fail(b, "recover: %s", err.text);
}

static bool
timed_recover(bench *b, const bench_scheme *s, const bench_file *file, bench_what what, bool lost)
{
    rset_evidence evidence = {0};
    rset_outcome  outcome = {0};
    bool          ok = bench_file_survey(b, file, &evidence);

    if (bench_all(b, ok)) {
        bench_start(b);
        ok = recover(b, file, &evidence, &outcome);
        ok = bench_stop(b, s->name, what, (double)b->options.size, ok);
        if (ok && (outcome.replaced != lost || !outcome.protected_))
            ok = bench_fail(b, "%s: recover did %s", file->path,
                            outcome.replaced ? "replace the file" : "not bring the file back");
    }
    rset_evidence_free(&evidence);
    return bench_all(b, ok);
}

bool
bench_verify(bench *b, const bench_scheme *s, const bench_file *file)
{
    bench_progress(b, s->name, "verify");
    return timed_recover(b, s, file, BENCH_VERIFY, false);
}

bool
bench_rebuild(bench *b, const bench_scheme *s, const bench_file *file)
{
    bool lost = bench_is_lost(b, s, b->rank);

    bench_progress(b, s->name, "rebuild");
    return bench_all(b, !lost || bench_file_remove(b, file)) &&
           timed_recover(b, s, file, BENCH_REBUILD, lost);
}
