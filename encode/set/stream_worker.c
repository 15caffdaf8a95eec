/* stream_worker.c: what a member does with the bytes of a job: reads its piece and adds it to the sums, or writes what came
 * out; in the thread of the messages, or beside it. See stream_internal.h. */
#include "codec/gf256.h"
#include "common/phases.h"
#include "common/thread.h"
#include "store/buffer.h"
#include "stream_internal.h"

#include <string.h>

enum { AT_ONCE = 6 /* rows that ISA-L makes in a pass */ };

/* One block of this member's piece, `at` bytes into it: reading and writing stop after the first failure, the traffic goes
 * on. */
static void
block_io(rset_worker *w, const rset_role *r, size_t at, uint8_t *buf, size_t len)
{
    const rset_piece_kind kind = r->piece.kind;
    const uint64_t        off = r->piece.offset + at;
    rset_status           st;

    if (w->own != RSET_OK) {
        memset(buf, 0, len);
        return;
    }
    if (r->target)
        st = w->io->write(w->io->arg, kind, off, buf, len, &w->err);
    else
        st = w->io->read(w->io->arg, kind, off, buf, len, &w->err);
    if (st != RSET_OK && !r->target)
        memset(buf, 0, len); /* others are sent it, not what memory held before */
    w->own = st;
}

/* All that a block of the piece is needed for, in one pass over it. */
static void
accumulate(rset_worker *w, rset_role *r, size_t at, size_t len)
{
    const rset_solution *how = r->how;
    uint8_t             *block = rset_buffer_for_read(w->scratch, r->in_file + at);
    uint8_t             *sums[AT_ONCE], weight[AT_ONCE];

    block_io(w, r, at, block, len);
    for (int i = 0, n; i < how->nwanted; i += n) {
        n = how->nwanted - i < AT_ONCE ? how->nwanted - i : AT_ONCE;
        for (int j = 0; j < n; j++) {
            weight[j] = how->weight[(size_t)(i + j) * (size_t)how->nsources + (size_t)r->place];
            sums[j] = r->sums + (size_t)(i + j) * r->len + at;
        }
        if (r->place == 0)
            rset_gf_mul_rows(sums, block, len, weight, n);
        else
            rset_gf_mad_rows(sums, block, len, weight, n);
    }
}

/* The sole source of plain copies (PARTNER) and the first of a plain sum (XOR) need no arithmetic. */
static bool
plain_start(const rset_solution *how, const rset_role *r)
{
    return r->place == 0 && how->nwanted == 1 && how->weight[0] == 1;
}

void
rset_worker_do(rset_worker *w, rset_role *r)
{
    const bool       plain = r->target || plain_start(r->how, r);
    const rset_phase before = rset_phase_enter(RSET_PHASE_SUM);

    for (size_t at = 0, len; at < r->len; at += len) {
        len = RSET_FILE_AT_ONCE - (r->in_file + at) % RSET_BUFFER_PAGE; /* whole pages */
        len = r->len - at < len ? r->len - at : len;
        if (plain)
            block_io(w, r, at, r->sums + at, len);
        else
            accumulate(w, r, at, len);
    }
    rset_phase_leave(before);
}

/* ---- the thread ---- */

/* The next role; NULL: there will be none. */
static rset_role *
take(rset_worker *w)
{
    const rset_phase before = rset_phase_enter(RSET_PHASE_WAIT);
    rset_role       *r;

    pthread_mutex_lock(&w->lock);
    while (w->first == NULL && !w->over)
        pthread_cond_wait(&w->given, &w->lock);
    r = w->over ? NULL : w->first;
    if (r != NULL)
        w->first = r->next;
    pthread_mutex_unlock(&w->lock);
    rset_phase_leave(before);
    return r;
}

static void *
work(void *arg)
{
    rset_worker     *w = arg;
    rset_phase_scope scope;

    rset_phases_begin(&scope);
    for (rset_role *r = take(w); r != NULL; r = take(w)) {
        rset_worker_do(w, r);
        atomic_store_explicit(&r->worked, true, memory_order_release);
    }
    rset_phases_end(&scope);
    w->spent = scope.spent;
    return NULL;
}

void
rset_worker_begin(rset_worker *w)
{
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->given, NULL);
    w->beside = rset_thread_create(&w->thread, NULL, work, w) == 0;
}

void
rset_worker_give(rset_worker *w, rset_role *r)
{
    atomic_store_explicit(&r->worked, false, memory_order_relaxed);
    r->next = NULL;
    pthread_mutex_lock(&w->lock);
    if (w->first == NULL)
        w->first = r;
    else
        w->last->next = r;
    w->last = r;
    pthread_cond_signal(&w->given);
    pthread_mutex_unlock(&w->lock);
}

void
rset_worker_end(rset_worker *w)
{
    if (!w->beside)
        return;
    pthread_mutex_lock(&w->lock);
    w->over = true;
    pthread_cond_signal(&w->given);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->given);
    pthread_mutex_destroy(&w->lock);
    w->beside = false;
}
