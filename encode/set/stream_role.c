/* stream_role.c: what a member does in one job: reads its piece and adds it to the sums, sends them on, or writes what came
 * out. See stream_internal.h. */
#include "codec/gf256.h"
#include "common/phases.h"
#include "store/buffer.h"
#include "stream_internal.h"

#include <string.h>

enum { AT_ONCE = 6 /* rows that ISA-L makes in a pass */ };

size_t
rset_role_bytes(const rset_role *r)
{
    return r->target ? r->len : r->len * (size_t)r->how->nwanted;
}

/* One block of this member's piece, `at` bytes into it: reading and writing stop after the first failure, the traffic goes
 * on. */
static void
block_io(rset_stream *s, const rset_role *r, size_t at, uint8_t *buf, size_t len)
{
    const rset_piece_kind kind = r->piece.kind;
    const uint64_t        off = r->piece.offset + at;
    rset_status           st;

    if (s->own != RSET_OK) {
        memset(buf, 0, len);
        return;
    }
    if (r->target)
        st = s->io->write(s->io->arg, kind, off, buf, len, s->err);
    else
        st = s->io->read(s->io->arg, kind, off, buf, len, s->err);
    if (st != RSET_OK && !r->target)
        memset(buf, 0, len); /* others are sent it, not what memory held before */
    s->own = st;
}

/* All that a block of the piece is needed for, in one pass over it. */
static void
accumulate(rset_stream *s, rset_role *r, size_t at, size_t len)
{
    const rset_solution *how = r->how;
    uint8_t             *block = rset_buffer_for_read(s->scratch, r->in_file + at);
    uint8_t             *sums[AT_ONCE], weight[AT_ONCE];

    block_io(s, r, at, block, len);
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

static rset_status
send_on(rset_stream *s, rset_role *r)
{
    const rset_solution *how = r->how;
    rset_message         out = {.tag = r->tag, .data = r->sums, .len = r->len};
    rset_status          st = RSET_OK;

    if (r->place + 1 < how->nsources) {
        r->nout = 1;
        out.peer = how->sources[r->place + 1];
        out.len = r->len * (size_t)how->nwanted;
        return rset_comm_isend(s->set, &out, &r->out[0], s->err);
    }
    for (r->nout = 0; st == RSET_OK && r->nout < how->nwanted; r->nout++) {
        out.peer = how->wanted[r->nout];
        out.data = r->sums + (size_t)r->nout * r->len;
        st = rset_comm_isend(s->set, &out, &r->out[r->nout], s->err);
    }
    return st;
}

static rset_status
work(rset_stream *s, rset_role *r)
{
    const bool       plain = r->target || plain_start(r->how, r);
    const rset_phase before = rset_phase_enter(RSET_PHASE_SUM);

    for (size_t at = 0, len; at < r->len; at += len) {
        len = RSET_FILE_AT_ONCE - (r->in_file + at) % RSET_BUFFER_PAGE; /* whole pages */
        len = r->len - at < len ? r->len - at : len;
        if (plain)
            block_io(s, r, at, r->sums + at, len);
        else
            accumulate(s, r, at, len);
    }
    rset_phase_leave(before);
    r->state = r->target ? ROLE_DONE : ROLE_SEND;
    return r->target ? RSET_OK : send_on(s, r);
}

rset_status
rset_role_step(rset_stream *s, rset_role *r, bool *moved)
{
    switch (r->state) {
    case ROLE_RECEIVE:
        if (r->in.active)
            return RSET_OK;
        if (r->in.got != rset_role_bytes(r))
            return rset_comm_revoke(s->set, s->err, "a member sent %zu bytes instead of %zu",
                                    r->in.got, rset_role_bytes(r));
        r->state = ROLE_WORK;
        break;
    case ROLE_WORK: *moved = true; return work(s, r);
    case ROLE_SEND:
        while (r->nout > 0 && !r->out[r->nout - 1].active)
            r->nout--;
        if (r->nout > 0)
            return RSET_OK;
        r->state = ROLE_DONE;
        break;
    case ROLE_DONE: return RSET_OK;
    }
    *moved = true;
    return RSET_OK;
}
