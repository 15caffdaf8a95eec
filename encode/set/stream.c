/* stream.c: see stream.h.
 *
 * Work is cut into jobs (a segment's part of one round) and rounds (the same piece of a batch of
 * stripes). A member keeps RSET_WINDOW rounds open, so that reading one round overlaps sending the
 * one before; within a round it plays a role in each job: source or target. */
#include "stream.h"

#include "codec/gf256.h"
#include "codec/rounds.h"
#include "store/buffer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RSET_WINDOW = 2,
    AT_ONCE = 6,       /* rows that ISA-L makes in a pass */
    PLACED = 16 * 1024 /* pieces as long as this are worth a place of their own */
};

typedef enum { ROLE_RECEIVE, ROLE_WORK, ROLE_SEND, ROLE_DONE } role_state;

/* What this member does in one job. */
typedef struct role {
    const rset_segment *segment;
    uint64_t            off; /* within the stripe's pieces */
    size_t              len;
    int                 tag;
    int                 place; /* index among sources, or among wanted */
    bool                target;
    role_state          state;
    uint8_t            *sums; /* source: nwanted pieces of len bytes; target: one */
    rset_req            in;
    rset_req           *out; /* outstanding sends */
    int                 nout;
} role;

typedef struct round {
    size_t    nroles, left; /* left: roles not done */
    uint64_t  job;          /* its first */
    role     *roles;
    uint8_t  *arena; /* where the roles' sums lie */
    size_t    arena_used;
    rset_req *requests; /* for the sends of the last sources */
    size_t    nrequests;
} round_t;

typedef struct stream {
    rset_comm            *set;
    const rset_shape     *shape;
    const rset_plan      *plan;
    const rset_stream_io *io;
    rset_rounds           cut;
    uint64_t              offset; /* of the next round */
    int                   stripe; /* of the next round */
    uint64_t              jobs;   /* numbered so far, the same on all members */
    size_t                arena;  /* bytes of a round's */
    uint8_t              *scratch;
    round_t               rounds[RSET_WINDOW];
    rset_status           own; /* this member's own failure, kept until the end */
    rset_err             *err;
} stream;

static int
index_of(const int *members, int n, int member)
{
    for (int i = 0; i < n; i++)
        if (members[i] == member)
            return i;
    return -1;
}

/* ---- one role ---- */

static rset_piece
piece_of(const stream *s, const role *r)
{
    rset_piece p = s->shape->scheme->place(s->shape, r->segment->stripe, s->set->rank);

    p.offset += r->off;
    return p;
}

/* Where the piece begins in its file, as far as the place of buffers goes. */
static uint64_t
in_file(const stream *s, const rset_piece *p)
{
    return p->kind == RSET_PIECE_PARITY ? s->io->payload_at + p->offset : p->offset;
}

/* One block of this member's piece, `at` bytes into it: reading and writing stop after the first failure, the traffic goes
 * on. */
static void
block_io(stream *s, const role *r, size_t at, uint8_t *buf, size_t len)
{
    const rset_piece p = piece_of(s, r);
    const uint64_t   off = p.offset + at;
    rset_status      st;

    if (s->own != RSET_OK) {
        memset(buf, 0, len);
        return;
    }
    if (r->target)
        st = s->io->write(s->io->arg, p.kind, off, buf, len, s->err);
    else
        st = s->io->read(s->io->arg, p.kind, off, buf, len, s->err);
    if (st != RSET_OK && !r->target)
        memset(buf, 0, len); /* others are sent it, not what memory held before */
    s->own = st;
}

/* All that a block of the piece is needed for, in one pass over it. */
static void
accumulate(stream *s, role *r, size_t at, size_t len)
{
    const rset_solution *how = &r->segment->how;
    const rset_piece     p = piece_of(s, r);
    uint8_t             *block = rset_buffer_for_read(s->scratch, in_file(s, &p) + at);
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
plain_start(const rset_solution *how, const role *r)
{
    return r->place == 0 && how->nwanted == 1 && how->weight[0] == 1;
}

static rset_status
send_on(stream *s, role *r)
{
    const rset_solution *how = &r->segment->how;
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
work(stream *s, role *r)
{
    const bool       plain = r->target || plain_start(&r->segment->how, r);
    const rset_piece p = piece_of(s, r);

    for (size_t at = 0, len; at < r->len; at += len) {
        len = RSET_FILE_AT_ONCE - (in_file(s, &p) + at) % RSET_BUFFER_PAGE; /* whole pages */
        len = r->len - at < len ? r->len - at : len;
        if (plain)
            block_io(s, r, at, r->sums + at, len);
        else
            accumulate(s, r, at, len);
    }
    r->state = r->target ? ROLE_DONE : ROLE_SEND;
    return r->target ? RSET_OK : send_on(s, r);
}

/* Bytes that this role waits for. */
static size_t
incoming(const role *r)
{
    return r->target ? r->len : r->len * (size_t)r->segment->how.nwanted;
}

/* Moves a role on by at most one step, as far as its messages have come; *moved tells. */
static rset_status
step(stream *s, role *r, bool *moved)
{
    switch (r->state) {
    case ROLE_RECEIVE:
        if (r->in.active)
            return RSET_OK;
        if (r->in.got != incoming(r))
            return rset_comm_revoke(s->set, s->err, "a member sent %zu bytes instead of %zu",
                                    r->in.got, incoming(r));
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

/* ---- one round ---- */

/* Room for the sums of a role. Large ones begin where copies are fast. */
static uint8_t *
take_room(stream *s, round_t *round, const role *r)
{
    const size_t     bytes = r->target ? r->len : r->len * (size_t)r->segment->how.nwanted;
    const rset_piece p = piece_of(s, r);
    uint8_t         *at = round->arena + round->arena_used;

    round->arena_used += r->len < PLACED ? bytes : rset_buffer_size(bytes);
    assert(round->arena_used <= s->arena && round->nroles < s->cut.jobs); /* E4 */
    if (r->len < PLACED)
        return at;
    return r->target ? rset_buffer_for_write(at, in_file(s, &p))
                     : rset_buffer_for_read(at, in_file(s, &p));
}

static void
add_role(stream *s, round_t *round, const rset_segment *segment, uint64_t off, size_t len,
         int place, bool target)
{
    const rset_solution *how = &segment->how;
    role r = {.segment = segment, .off = off, .len = len, .place = place, .target = target};

    r.tag = RSET_TAG_STREAM + (int)(s->jobs % RSET_STREAM_TAGS);
    r.sums = take_room(s, round, &r);
    r.state = target || place > 0 ? ROLE_RECEIVE : ROLE_WORK;
    if (target && how->nsources == 0) { /* nothing but zeros */
        memset(r.sums, 0, len);
        r.state = ROLE_WORK;
    }
    if (!target) {
        r.out = round->requests + round->nrequests;
        round->nrequests += (size_t)how->nwanted;
    }
    round->roles[round->nroles++] = r;
}

/* Finds this member's part in one job. */
static void
add_job(stream *s, round_t *round, const rset_segment *segment, uint64_t from, uint64_t to)
{
    const rset_solution *how = &segment->how;
    int                  as_source = index_of(how->sources, how->nsources, s->set->rank);
    int                  as_target = index_of(how->wanted, how->nwanted, s->set->rank);

    if (as_source >= 0)
        add_role(s, round, segment, from, (size_t)(to - from), as_source, false);
    else if (as_target >= 0)
        add_role(s, round, segment, from, (size_t)(to - from), as_target, true);
    s->jobs++;
}

static rset_status
post_receives(stream *s, round_t *round)
{
    rset_status st = RSET_OK;

    for (size_t i = 0; st == RSET_OK && i < round->nroles; i++) {
        role                *r = &round->roles[i];
        const rset_solution *how = &r->segment->how;
        rset_message         in = {.tag = r->tag, .room = r->sums, .len = incoming(r)};

        if (r->state != ROLE_RECEIVE)
            continue;
        in.peer = how->sources[r->target ? how->nsources - 1 : r->place - 1];
        st = rset_comm_irecv(s->set, &in, &r->in, s->err);
    }
    return st;
}

/* Fills `round` with this member's roles of the next round; false in *more_out after the last. Roles
 * are worked on in the order of their place in the chain: earlier ones first, so that chains advance
 * everywhere at the same time. */
static int
by_place(const void *a, const void *b)
{
    const role *x = a, *y = b;
    int         px = x->target ? INT32_MAX : x->place, py = y->target ? INT32_MAX : y->place;

    if (px != py)
        return px < py ? -1 : 1;
    return x->tag < y->tag ? -1 : x->tag > y->tag;
}

/* Tags come again after so many jobs: until then the oldest round that is open has to be over. */
static bool
has_tags(const stream *s)
{
    uint64_t oldest = s->jobs;

    for (int w = 0; w < RSET_WINDOW; w++)
        if (s->rounds[w].left > 0 && s->rounds[w].job < oldest)
            oldest = s->rounds[w].job;
    return s->jobs + s->cut.jobs - oldest <= RSET_STREAM_TAGS;
}

static rset_status
open_round(stream *s, round_t *round, bool *more_out)
{
    int last =
        s->stripe + s->cut.batch < s->shape->members ? s->stripe + s->cut.batch : s->shape->members;
    uint64_t from = s->offset, to = s->offset + s->cut.piece;

    round->nroles = round->arena_used = round->nrequests = 0;
    round->job = s->jobs;
    *more_out = s->offset < s->cut.longest;
    if (!*more_out)
        return RSET_OK;
    for (int stripe = s->stripe; stripe < last; stripe++)
        for (size_t i = s->cut.first[stripe]; i < s->cut.first[stripe + 1]; i++) {
            const rset_segment *g = &s->plan->segments[i];
            uint64_t            a = g->off > from ? g->off : from;
            uint64_t            b = g->off + g->len < to ? g->off + g->len : to;

            if (a < b)
                add_job(s, round, g, a, b);
        }
    s->stripe = last;
    if (last == s->shape->members) {
        s->stripe = 0;
        s->offset += s->cut.piece;
    }
    if (round->nroles > 0)
        qsort(round->roles, round->nroles, sizeof *round->roles, by_place);
    round->left = round->nroles;
    return post_receives(s, round);
}

static rset_status
run_round(stream *s, round_t *round, bool *moved)
{
    rset_status st = RSET_OK;

    for (size_t i = 0; st == RSET_OK && i < round->nroles; i++) {
        role *r = &round->roles[i];

        if (r->state == ROLE_DONE)
            continue;
        st = step(s, r, moved);
        if (st == RSET_OK && r->state == ROLE_DONE)
            round->left--;
    }
    return st;
}

/* ---- messages ---- */

/* Requests that are looked after together. */
typedef struct batch {
    rset_req *at[RSET_TEST_MOST];
    int       n;
} batch;

static rset_status
look_after(stream *s, batch *b, rset_req *req, bool *moved)
{
    rset_status st = RSET_OK;

    if (!req->active)
        return RSET_OK;
    b->at[b->n++] = req;
    if (b->n == RSET_TEST_MOST) {
        st = rset_comm_test_all(s->set, b->at, b->n, moved, s->err);
        b->n = 0;
    }
    return st;
}

/* What has come, and what has gone. */
static rset_status
look_after_all(stream *s, bool *moved)
{
    batch       b = {.n = 0};
    rset_status st = RSET_OK;

    for (int w = 0; w < RSET_WINDOW; w++)
        for (size_t i = 0; st == RSET_OK && i < s->rounds[w].nroles; i++) {
            role *r = &s->rounds[w].roles[i];

            if (r->state == ROLE_RECEIVE)
                st = look_after(s, &b, &r->in, moved);
            for (int o = 0; st == RSET_OK && r->state == ROLE_SEND && o < r->nout; o++)
                st = look_after(s, &b, &r->out[o], moved);
        }
    return st == RSET_OK ? rset_comm_test_all(s->set, b.at, b.n, moved, s->err) : st;
}

/* ---- the whole ---- */

/* What any round may need: nobody waits for a member that runs out of memory on its way. */
static rset_status
make_rounds(stream *s)
{
    const size_t wanted = s->plan->most > 0 ? (size_t)s->plan->most : 1;
    const size_t placed = s->cut.bytes / PLACED < s->cut.jobs ? s->cut.bytes / PLACED : s->cut.jobs;
    bool         can = true;

    s->arena = s->cut.bytes + placed * rset_buffer_size(0);
    for (int w = 0; w < RSET_WINDOW; w++) {
        s->rounds[w].arena = malloc(s->arena);
        s->rounds[w].roles = calloc(s->cut.jobs, sizeof *s->rounds[w].roles);
        s->rounds[w].requests = calloc(s->cut.jobs * wanted, sizeof *s->rounds[w].requests);
        can = can && s->rounds[w].arena != NULL && s->rounds[w].roles != NULL &&
              s->rounds[w].requests != NULL;
    }
    return can ? RSET_OK
               : rset_fail(s->err, RSET_NOMEM, "no memory for %d buffers of %zu bytes", RSET_WINDOW,
                           s->arena);
}

static rset_status
stream_init(stream *s)
{
    const rset_rounds_limits limits = {.memory = RSET_STREAM_MEMORY / RSET_WINDOW,
                                       .jobs = RSET_STREAM_TAGS,
                                       .piece = RSET_STREAM_PIECE};
    rset_status              st = rset_rounds_make(s->shape, s->plan, &limits, &s->cut, s->err);

    if (st != RSET_OK)
        return st;
    s->scratch = malloc(rset_buffer_size(RSET_FILE_AT_ONCE));
    if (s->scratch == NULL)
        return rset_fail(s->err, RSET_NOMEM, "no memory for a buffer of %d bytes",
                         RSET_FILE_AT_ONCE);
    return make_rounds(s);
}

/* Gives up what is under way. A buffer that the transport may still touch is left to it for ever:
 * better a leak than a write into somebody else's memory. */
static void
stream_free(stream *s)
{
    for (int w = 0; w < RSET_WINDOW; w++) {
        round_t *round = &s->rounds[w];
        bool     ours = true;

        for (size_t i = 0; i < round->nroles; i++)
            if (round->roles[i].in.active)
                ours = rset_comm_cancel(s->set, &round->roles[i].in) && ours;
        for (size_t i = 0; i < round->nrequests; i++)
            if (round->requests[i].active)
                ours = rset_comm_cancel(s->set, &round->requests[i]) && ours;
        if (ours)
            free(round->arena);
        free(round->roles);
        free(round->requests);
    }
    free(s->scratch);
    rset_rounds_free(&s->cut);
}

static bool
awaits(const stream *s, int member)
{
    for (int w = 0; w < RSET_WINDOW; w++)
        for (size_t i = 0; i < s->rounds[w].nroles; i++) {
            const role          *r = &s->rounds[w].roles[i];
            const rset_solution *how = &r->segment->how;

            if (r->state == ROLE_RECEIVE &&
                how->sources[r->target ? how->nsources - 1 : r->place - 1] == member)
                return true;
        }
    return false;
}

/* Nothing has moved for too long: names those from whom data is awaited, or who do not take any. */
static rset_status
give_up(stream *s)
{
    char   who[128] = "";
    size_t used = 0;

    for (int m = 0; m < s->set->size && used + 1 < sizeof who; m++)
        if (awaits(s, m))
            used += (size_t)snprintf(who + used, sizeof who - used, "%s%d", used > 0 ? ", " : "",
                                     rset_comm_world(s->set, m));
    if (used == 0)
        return rset_comm_revoke(s->set, s->err,
                                "no member of the set has taken data of rank %d for %.3g s; "
                                "the next one may have died or hang",
                                rset_comm_world(s->set, s->set->rank), s->set->timeout);
    return rset_comm_revoke(s->set, s->err,
                            "no data came from rank %s for %.3g s; it may have died or hang, or "
                            "wait itself for another one that does not come",
                            who, s->set->timeout);
}

static rset_status
stream_loop(stream *s)
{
    rset_pause  pause = {0};
    rset_status st = RSET_OK;
    double      last = rset_clock();
    bool        more = true, open = true;

    while (st == RSET_OK && (more || open)) {
        bool moved = false;

        st = look_after_all(s, &moved);
        open = false;
        for (int w = 0; st == RSET_OK && w < RSET_WINDOW; w++) {
            round_t *round = &s->rounds[w];

            if (round->left == 0 && more && has_tags(s)) {
                st = open_round(s, round, &more);
                moved = moved || more;
            }
            if (st == RSET_OK && round->left > 0)
                st = run_round(s, round, &moved);
            open = open || round->left > 0;
        }
        if (moved) {
            last = rset_clock();
            pause.spins = 0;
        } else if (rset_clock() - last > s->set->timeout) {
            st = give_up(s);
        } else {
            rset_pause_once(&pause);
        }
    }
    return st;
}

rset_status
rset_stream_run(rset_comm *set, const rset_shape *shape, const rset_plan *plan,
                const rset_stream_io *io, rset_err *err)
{
    stream      s = {.set = set, .shape = shape, .plan = plan, .io = io, .err = err};
    rset_status st = rset_comm_usable(set, err);

    if (st != RSET_OK || plan->n == 0)
        return st;
    st = stream_init(&s);
    st = rset_agree(set, st, "", err); /* nobody waits for a member that has no buffers */
    if (st == RSET_OK)
        st = stream_loop(&s);
    stream_free(&s);
    return st != RSET_OK ? st : s.own;
}
