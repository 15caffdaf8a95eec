/* scaling_rank.c: what one rank does with its files, through the interfaces that the driver uses. See scaling.h. */
#include "scaling.h"

#include "recover/recover.h"
#include "rendezvous/rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SET_SIZE = 8, BIT_CHANGED = 1, BIT_READER = 2 }; /* bits as in vfd/session_parallel.c */

/* One rank in the middle of what it does. */
typedef struct actor {
    const bench_play *play;
    rset_comm        *world;
    rset_rendezvous  *place;  /* of the job that it is in */
    rset_layout       layout; /* of the same; set.size 0: not divided yet */
    char              host[RSET_HOST_NAME];
    /* of the file that is open: */
    bench_file    file;
    rset_evidence evidence;
    rset_journal *journal;
    char         *shadow;
    rset_file    *guard;
    rset_err      err;
} actor;

/* What was counted before. */
typedef struct span {
    uint64_t  sent, received, sent_bytes, received_bytes;
    long long most;
    double    began;
} span;

/* ---- counting ---- */

static span
start(const actor *a)
{
    bench_heap *heap = a->play->heap;
    span        s = {.sent = a->world->sent_messages,
                     .received = a->world->received_messages,
                     .sent_bytes = a->world->sent_bytes,
                     .received_bytes = a->world->received_bytes,
                     .most = heap->most,
                     .began = rset_clock()};

    heap->most = atomic_load(&heap->live);
    return s;
}

static void
stop(const actor *a, const span *s, bench_phase phase)
{
    bench_heap *heap = a->play->heap;
    double     *count = a->play->out->count[phase];

    count[BENCH_COUNT_SENT] = (double)(a->world->sent_messages - s->sent);
    count[BENCH_COUNT_RECEIVED] = (double)(a->world->received_messages - s->received);
    count[BENCH_COUNT_SENT_BYTES] = (double)(a->world->sent_bytes - s->sent_bytes);
    count[BENCH_COUNT_RECEIVED_BYTES] = (double)(a->world->received_bytes - s->received_bytes);
    count[BENCH_COUNT_HEAP] = (double)heap->most;
    heap->most = heap->most > s->most ? heap->most : s->most; /* of what this is a part of */
    a->play->out->seconds[phase] = rset_clock() - s->began;
}

/* All have come to an end, without an error? Not counted. */
static bool
all_ok(actor *a, bool ok)
{
    rset_err err = a->err;

    if (!ok && err.status == RSET_OK)
        (void)rset_fail(&err, RSET_IO, "has failed");
    if (!ok)
        bench_fail(a->play->self, "%s", err.text);
    return rset_agree(a->world, ok ? RSET_OK : err.status, a->host, &err) == RSET_OK;
}

/* ---- a job ---- */

static bool
begin_job(actor *a)
{
    return rset_rendezvous_new(a->host, a->world->size, &a->place, &a->err) == RSET_OK &&
           rset_rendezvous_attach(a->place, a->world, &a->err) == RSET_OK;
}

static void
end_job(actor *a)
{
    span s = start(a);

    rset_rendezvous_end(a->place);
    stop(a, &s, BENCH_PHASE_END);
    rset_rendezvous_free(a->place);
    a->place = NULL;
    rset_layout_free(&a->layout);
}

static bool
open_file(actor *a)
{
    return bench_file_open(a->play->self, "data", &a->file) &&
           rset_survey_local(&a->file.local, &a->evidence, &a->err) == RSET_OK;
}

static void
close_file(actor *a)
{
    rset_journal_leave(a->journal);
    rset_file_close(a->guard, NULL);
    rset_evidence_free(&a->evidence);
    bench_file_close(&a->file);
    free(a->shadow);
    a->journal = NULL;
    a->guard = NULL;
    a->shadow = NULL;
}

static bool
meet(actor *a, rset_proposal *p, uint64_t *nonce_out)
{
    bool known;

    rset_kind_of(a->file.path, &p->kind);
    p->most = rset_evidence_newest(&a->evidence);
    p->least_base = UINT64_MAX;
    p->protected_ = p->evidence = a->evidence.any;
    return rset_rendezvous_meet(a->place, p, nonce_out, &known, &a->err) == RSET_OK;
}

/* ---- create and close ---- */

/* The application's part: content that is another one on each rank. */
static bool
write_file(const actor *a)
{
    const bench *b = a->play->self;
    char         path[2 * BENCH_PATH_MAX];
    const size_t size = (size_t)b->options.size, at = (size_t)b->rank % 4096;
    int          fd;
    bool         ok;

    snprintf(path, sizeof path, "%s/%s", b->dir, a->shadow != NULL ? a->shadow : a->file.base);
    fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0666);
    ok = fd >= 0 && bench_pwrite(b, fd, b->buffer + at, size, 0);
    if (fd >= 0)
        close(fd);
    return ok || bench_fail(b, "%s: cannot be written: %s", path, strerror(errno));
}

/* As rset_session_begin_creation does. */
static bool
begin_creation(actor *a)
{
    if (!a->evidence.any)
        return rset_change_begin_first(&a->file.local, &a->evidence, &a->journal, &a->err) ==
               RSET_OK;
    return rset_shadow_begin(&a->file.local, &a->evidence, &a->shadow, &a->err) == RSET_OK &&
           rset_shadow_make(&a->file.local, a->shadow, &a->guard, &a->err) == RSET_OK;
}

static bool
create(actor *a)
{
    span s = start(a);
    bool ok = open_file(a) && begin_creation(a);

    stop(a, &s, BENCH_PHASE_CREATE);
    ok = ok && write_file(a);
    a->file.local.shadow = a->shadow;
    return ok;
}

/* Each rank is on a node of its own. */
static bool
divide(actor *a)
{
    const rset_wish wish = {.scheme = a->play->scheme->scheme,
                            .parity = a->play->scheme->parity,
                            .set_size = SET_SIZE,
                            .group = a->host,
                            .order = a->world->rank};

    if (a->layout.set.size > 0)
        return true;
    a->world->spare = RSET_SPARE_UNKNOWN; /* asked, as between processes */
    return rset_layout_form(a->world, &wish, a->host, &a->layout, &a->err) == RSET_OK;
}

static bool
protect(actor *a, uint64_t generation)
{
    rset_protect_args args = {.world = a->world,
                              .set = &a->layout.set,
                              .ranks = a->layout.ranks,
                              .local = &a->file.local,
                              .shadow = &a->shadow,
                              .desc = a->layout.desc,
                              .extra = true,
                              .host = a->host};
    span              s = start(a);
    bool              ok;

    args.desc.generation = generation;
    ok = rset_protect(&args, &a->err) == RSET_OK;
    stop(a, &s, BENCH_PHASE_ENCODE);
    return ok;
}

/* As rset_session_protect does. */
static bool
close_and_protect(actor *a, bench_phase phase)
{
    rset_proposal p = {.op = RSET_RENDEZVOUS_CLOSE, .keys = {1}, .bits = BIT_CHANGED};
    uint64_t      nonce = 0;
    span          s = start(a);
    bool          ok = meet(a, &p, &nonce) && divide(a);

    ok = ok && protect(a, rset_generation_next(p.most, nonce));
    close_file(a);
    stop(a, &s, phase);
    return ok;
}

static bool
write_job(actor *a)
{
    bool ok = begin_job(a);

    ok = all_ok(a, ok) && all_ok(a, create(a)) &&
         all_ok(a, close_and_protect(a, BENCH_PHASE_CLOSE_FIRST));
    ok = ok && all_ok(a, create(a)) && all_ok(a, close_and_protect(a, BENCH_PHASE_CLOSE));
    return ok;
}

/* ---- open ---- */

/* How a job opens its files. */
typedef struct reading {
    bool lost;  /* this rank's file is gone */
    bool reads; /* no rank opens its file to change it */
} reading;

static void
add_used(void *into, const void *other)
{
    *(uint64_t *)into += *(const uint64_t *)other;
}

static rset_status
begin_use(void *arg, const rset_outcome *out, rset_err *err)
{
    actor *a = arg;

    (void)out;
    return rset_survey_again(a->file.dir, a->file.prefix, a->file.base, &a->evidence, err);
}

/* As rset_session_resolve_parallel does. */
static bool
open_and_recover(actor *a, const reading *how)
{
    const bool             lost = how->lost;
    uint64_t               used = 1;
    const rset_recover_use use = {begin_use, a, {&used, sizeof used, add_used}};
    rset_proposal          p = {
                 .op = RSET_RENDEZVOUS_OPEN, .bits = BIT_READER, .needs_all = lost, .reads = how->reads};
    rset_recover_args args = {.world = a->world,
                              .local = &a->file.local,
                              .evidence = &a->evidence,
                              .content = RSET_CONTENT_DATA,
                              .reads = how->reads,
                              .use = &use,
                              .host = a->host};
    rset_outcome      outcome = {0};
    uint64_t          nonce = 0;
    rset_status       st = RSET_OK;

    if (!open_file(a) || !meet(a, &p, &nonce) || rset_recover(&args, &outcome, &a->err) != RSET_OK)
        return false;
    if (outcome.acted && !outcome.in_use)
        st = rset_agree(a->world, begin_use(a, &outcome, &a->err), a->host, &a->err);
    if (st == RSET_OK && (outcome.replaced != lost || !outcome.protected_))
        st = rset_fail(&a->err, RSET_BUG, "recovery did not do what it should: %s",
                       rset_reason_name(outcome.reason));
    return st == RSET_OK;
}

/* A job that opens the files, of which `lost` are gone. */
static bool
read_job(actor *a, bench_phase phase, bool lost)
{
    const reading how = {.lost = lost, .reads = phase == BENCH_PHASE_READ};
    bool          ok = begin_job(a);
    span          s;

    if (ok && lost) {
        ok = open_file(a) && bench_file_remove(a->play->self, &a->file);
        close_file(a);
    }
    ok = all_ok(a, ok);
    s = start(a);
    ok = ok && open_and_recover(a, &how);
    close_file(a);
    stop(a, &s, phase);
    ok = all_ok(a, ok);
    if (ok)
        end_job(a);
    return ok;
}

/* Is this one of the last `losses` members of the set in the middle? */
static bool
is_lost(const rset_desc *place, int losses)
{
    return place->set == place->sets / 2 && place->member >= place->members - losses;
}

void
bench_scaling_play(rset_comm *world, const bench_play *play)
{
    actor     a = {.play = play, .world = world, .err = RSET_ERR_NONE};
    rset_desc place;
    bool      ok;

    bench_heap_use(play->heap);
    snprintf(a.host, sizeof a.host, "node%d", world->rank);
    ok = write_job(&a);
    place = a.layout.desc;
    if (ok)
        end_job(&a);
    ok = ok && read_job(&a, BENCH_PHASE_OPEN, false) &&
         read_job(&a, BENCH_PHASE_REBUILD_ONE, is_lost(&place, 1)) &&
         read_job(&a, BENCH_PHASE_REBUILD, is_lost(&place, bench_losses(play->scheme))) &&
         read_job(&a, BENCH_PHASE_READ, is_lost(&place, 1));
    rset_layout_free(&a.layout);
    rset_rendezvous_free(a.place);
    bench_heap_use(NULL);
    play->out->ok = ok;
}
