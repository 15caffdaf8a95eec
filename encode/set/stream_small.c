/* stream_small.c: the loop of stream.h where little is computed: all of it at once, in one message of each member for each doubling of
 * the set. See stream_internal.h.
 *
 * What counts for so few bytes is how often members wait for each other: along a chain, once for each of them. Here sums are
 * scattered while they are reduced, over distances that double. A member begins with its own shares of all sums. In the
 * step of `bit` it hands the member that is `bit` behind it in the ring, in one message, each sum whose target is at a distance with
 * `bit` as its lowest bit. It adds what comes from the member that is `bit` before it. So a sum goes on by each power of two that its
 * distance is made of, and a member sends it once, as in a chain (J. Bruck and others, Efficient Algorithms for All-to-All
 * Communications in Multiport Message-Passing Systems, 1997). The plan, which all have, says who sends what. */
#include "codec/gf256.h"
#include "stream_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    SMALL = 256 * 1024,  /* bytes of all sums: more are worth being read while others are sent */
    FEW_SEGMENTS = 4096, /* each step looks at all of them */
};

static size_t
bytes_of(const rset_segment *segment)
{
    return (size_t)segment->len * (size_t)segment->how.nwanted;
}

/* Copies of one member's bytes go to where they belong without a step between. */
bool
rset_is_small(const rset_plan *plan)
{
    uint64_t bytes = 0;
    bool     sums = false;

    for (size_t i = 0; i < plan->n && bytes <= SMALL; i++) {
        bytes += plan->segments[i].len * (uint64_t)plan->segments[i].how.nwanted;
        sums = sums || plan->segments[i].how.nsources > 1;
    }
    return sums && bytes <= SMALL && plan->n <= FEW_SEGMENTS;
}

rset_status
rset_small_init(rset_stream *s)
{
    size_t bytes = 0;

    for (size_t i = 0; i < s->plan->n; i++)
        bytes += bytes_of(&s->plan->segments[i]);
    s->small.room = calloc(3, bytes);
    if (s->small.room == NULL)
        return rset_fail(s->err, RSET_NOMEM, "no memory for 3 buffers of %zu bytes", bytes);
    s->small.sums = s->small.room;
    s->small.in = s->small.sums + bytes;
    s->small.out = s->small.in + bytes;
    return RSET_OK;
}

void
rset_small_free(rset_stream *s)
{
    const bool in = rset_comm_cancel(s->set, &s->small.recv);
    const bool out = rset_comm_cancel(s->set, &s->small.send);

    if (in && out)
        free(s->small.room);
}

/* Does `holder` send its sum for `target` in the step of `bit`? It does if any source has added to it by then. */
static bool
sends(const rset_stream *s, const rset_solution *how, int target, int holder, int bit)
{
    const int n = s->set->size, distance = (target - holder + n) % n;

    if ((distance & (2 * bit - 1)) != bit)
        return false;
    for (int i = 0; i < how->nsources; i++) {
        const int from = (target - how->sources[i] + n) % n;

        if (from >= distance && from < distance + bit)
            return true;
    }
    return false;
}

/* Goes through the sums that `holder` sends in the step of `bit`, in the order in which its message has them: calls `with` (NULL: nothing)
 * for this member's sum and its place in `message`. Returns the bytes of the message. */
static size_t
each_sum(const rset_stream *s, int holder, int bit,
         void (*with)(uint8_t *sum, uint8_t *part, size_t len), uint8_t *message)
{
    uint8_t *sum = s->small.sums;
    size_t   used = 0;

    for (size_t i = 0; i < s->plan->n; i++) {
        const rset_solution *how = &s->plan->segments[i].how;
        const size_t         len = (size_t)s->plan->segments[i].len;

        for (int w = 0; w < how->nwanted; w++, sum += len) {
            if (!sends(s, how, how->wanted[w], holder, bit))
                continue;
            if (with != NULL)
                with(sum, message + used, len);
            used += len;
        }
    }
    return used;
}

static void
put(uint8_t *sum, uint8_t *part, size_t len)
{
    memcpy(part, sum, len);
}

static void
add(uint8_t *sum, uint8_t *part, size_t len)
{
    rset_gf_mad(sum, part, len, 1);
}

static rset_status
step(rset_stream *s, int bit)
{
    rset_small  *a = &s->small;
    const int    n = s->set->size, me = s->set->rank;
    rset_message in = {.peer = (me - bit + n) % n, .tag = RSET_TAG_STREAM, .room = a->in};
    rset_message out = {.peer = (me + bit) % n, .tag = RSET_TAG_STREAM, .data = a->out};
    rset_status  st = RSET_OK;

    a->recv = a->send = (rset_req){0};
    in.len = each_sum(s, in.peer, bit, NULL, NULL);
    out.len = each_sum(s, me, bit, put, a->out);
    if (in.len > 0)
        st = rset_comm_irecv(s->set, &in, &a->recv, s->err);
    if (st == RSET_OK && out.len > 0)
        st = rset_comm_isend(s->set, &out, &a->send, s->err);
    if (st == RSET_OK)
        st = rset_comm_wait(s->set, &a->recv, in.peer, "send its part of the redundancy", s->err);
    if (st == RSET_OK && a->recv.got != in.len)
        st = rset_comm_revoke(s->set, s->err, "a member sent %zu bytes instead of %zu", a->recv.got,
                              in.len);
    if (st == RSET_OK)
        st = rset_comm_wait(s->set, &a->send, out.peer, "take data", s->err);
    if (st == RSET_OK)
        (void)each_sum(s, in.peer, bit, add, a->in);
    return st;
}

/* This member's part in each segment: adds its piece to the sums, or writes what they have come to. */
static void
work(rset_stream *s, bool as_target)
{
    uint8_t *sums = s->small.sums;

    for (size_t i = 0; i < s->plan->n; i++) {
        const rset_segment *g = &s->plan->segments[i];
        rset_role           r = rset_role_of(s, g, g->off, g->off + g->len);

        if (r.place >= 0 && r.target == as_target) {
            r.sums = as_target ? sums + (size_t)r.place * r.len : sums;
            rset_worker_do(&s->worker, &r);
        }
        sums += bytes_of(g);
    }
}

rset_status
rset_small_run(rset_stream *s)
{
    rset_status st = RSET_OK;

    work(s, false);
    for (int bit = 1; st == RSET_OK && bit < s->set->size; bit *= 2)
        st = step(s, bit);
    if (st == RSET_OK)
        work(s, true);
    return st;
}
