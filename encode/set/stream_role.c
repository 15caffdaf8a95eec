/* stream_role.c: the steps of a member's role in one job: receives sums, has them worked on, sends them on. See
 * stream_internal.h. */
#include "stream_internal.h"

static int
index_of(const int *members, int n, int member)
{
    for (int i = 0; i < n; i++)
        if (members[i] == member)
            return i;
    return -1;
}

rset_role
rset_role_of(const rset_stream *s, const rset_segment *segment, uint64_t from, uint64_t to)
{
    const rset_solution *how = &segment->how;
    const int            as_source = index_of(how->sources, how->nsources, s->set->rank);
    const int            as_target = index_of(how->wanted, how->nwanted, s->set->rank);
    rset_role            r = {.how = how,
                              .piece = s->shape->scheme->place(s->shape, segment->stripe, s->set->rank),
                              .len = (size_t)(to - from),
                              .place = as_source >= 0 ? as_source : as_target,
                              .target = as_source < 0};

    r.piece.offset += from;
    r.in_file = r.piece.offset + (r.piece.kind == RSET_PIECE_PARITY ? s->worker.io->payload_at : 0);
    return r;
}

size_t
rset_role_bytes(const rset_role *r)
{
    return r->target ? r->len : r->len * (size_t)r->how->nwanted;
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

/* What follows when the worker has done its part. */
static rset_status
worked(rset_stream *s, rset_role *r)
{
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
    case ROLE_WORK:
        *moved = true;
        if (s->worker.beside) {
            r->state = ROLE_GIVEN;
            rset_worker_give(&s->worker, r);
            return RSET_OK;
        }
        rset_worker_do(&s->worker, r);
        return worked(s, r);
    case ROLE_GIVEN:
        if (!atomic_load_explicit(&r->worked, memory_order_acquire))
            return RSET_OK;
        *moved = true;
        return worked(s, r);
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
