/* stream.c: see stream.h. A little work is done in another way, by stream_small.c.
 *
 * Work is cut into jobs (a segment's part of one round) and rounds (the same piece of a batch of
 * stripes). A member keeps RSET_WINDOW rounds open, so that reading one round overlaps sending the
 * one before; within a round it plays a role in each job: source or target. */
#include "common/phases.h"
#include "store/buffer.h"
#include "stream_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORTH_A_THREAD = 1024 * 1024 /* bytes of a member: below, starting one costs what it saves */
};
enum { PLACED = 16 * 1024 /* pieces as long as this are worth a place of their own */ };
enum { LITTLE = 1024 * 1024 /* bytes that are computed for each member */ };

/* ---- one round ---- */

/* Room for the sums of a role. Large ones begin where copies are fast. */
static uint8_t *
take_room(rset_round *round, const rset_role *r)
{
    const size_t bytes = rset_role_bytes(r);
    uint8_t     *at = round->arena + round->arena_used;

    round->arena_used += r->len < PLACED ? bytes : rset_buffer_size(bytes);
    if (r->len < PLACED)
        return at;
    return r->target ? rset_buffer_for_write(at, r->in_file) : rset_buffer_for_read(at, r->in_file);
}

/* `r`: this member's part of the job, as rset_role_of has it. */
static void
add_role(rset_stream *s, rset_round *round, rset_role r)
{
    const rset_solution *how = r.how;

    r.tag = RSET_TAG_STREAM + (int)(s->jobs % RSET_STREAM_TAGS);
    r.sums = take_room(round, &r);
    assert(round->arena_used <= s->arena && round->nroles < s->cut.jobs); /* E4 */
    r.state = r.target || r.place > 0 ? ROLE_RECEIVE : ROLE_WORK;
    if (r.target && how->nsources == 0) { /* nothing but zeros */
        memset(r.sums, 0, r.len);
        r.state = ROLE_WORK;
    }
    if (!r.target) {
        r.out = round->requests + round->nrequests;
        round->nrequests += (size_t)how->nwanted;
    }
    round->roles[round->nroles++] = r;
}

/* Adds this member's part of one job, if it has one. */
static void
add_job(rset_stream *s, rset_round *round, const rset_segment *segment, uint64_t from, uint64_t to)
{
    const rset_role r = rset_role_of(s, segment, from, to);

    if (r.place >= 0)
        add_role(s, round, r);
    s->jobs++;
}

/* Whom a role that receives has it from. */
static int
comes_from(const rset_role *r)
{
    return r->how->sources[r->target ? r->how->nsources - 1 : r->place - 1];
}

static rset_status
post_receives(rset_stream *s, rset_round *round)
{
    rset_status st = RSET_OK;

    for (size_t i = 0; st == RSET_OK && i < round->nroles; i++) {
        rset_role   *r = &round->roles[i];
        rset_message in = {.tag = r->tag, .room = r->sums, .len = rset_role_bytes(r)};

        if (r->state != ROLE_RECEIVE)
            continue;
        in.peer = comes_from(r);
        st = rset_comm_irecv(s->set, &in, &r->in, s->err);
    }
    return st;
}

/* Roles are worked on in the order of their place in the chain: earlier ones first, so that chains advance everywhere at the
 * same time. */
static int
by_place(const void *a, const void *b)
{
    const rset_role *x = a, *y = b;
    int              px = x->target ? INT32_MAX : x->place, py = y->target ? INT32_MAX : y->place;

    if (px != py)
        return px < py ? -1 : 1;
    return x->tag < y->tag ? -1 : x->tag > y->tag;
}

/* Tags come again after so many jobs: until then the oldest round that is open has to be over. */
static bool
has_tags(const rset_stream *s)
{
    uint64_t oldest = s->jobs;

    for (int w = 0; w < RSET_WINDOW; w++)
        if (s->rounds[w].left > 0 && s->rounds[w].job < oldest)
            oldest = s->rounds[w].job;
    return s->jobs + s->cut.jobs - oldest <= RSET_STREAM_TAGS;
}

/* Fills `round` with this member's roles of the next round; false in *more_out after the last. */
static rset_status
open_round(rset_stream *s, rset_round *round, bool *more_out)
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
run_round(rset_stream *s, rset_round *round, bool *moved)
{
    rset_status st = RSET_OK;

    for (size_t i = 0; st == RSET_OK && i < round->nroles; i++) {
        rset_role *r = &round->roles[i];

        if (r->state == ROLE_DONE)
            continue;
        st = rset_role_step(s, r, moved);
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
look_after(rset_stream *s, batch *b, rset_req *req, bool *moved)
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
look_after_all(rset_stream *s, bool *moved)
{
    batch       b = {.n = 0};
    rset_status st = RSET_OK;

    for (int w = 0; w < RSET_WINDOW; w++)
        for (size_t i = 0; st == RSET_OK && i < s->rounds[w].nroles; i++) {
            rset_role *r = &s->rounds[w].roles[i];

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
make_rounds(rset_stream *s)
{
    const size_t wanted = s->plan->most > 0 ? (size_t)s->plan->most : 1;
    const size_t placed = s->cut.bytes / PLACED < s->cut.jobs ? s->cut.bytes / PLACED : s->cut.jobs;
    uint8_t     *begin;
    bool         can;

    s->arena = s->cut.bytes + placed * rset_buffer_size(0);
    s->room = rset_buffers_alloc(RSET_WINDOW * s->arena, &begin);
    can = s->room != NULL;
    for (int w = 0; w < RSET_WINDOW; w++) {
        s->rounds[w].arena = can ? begin + (size_t)w * s->arena : NULL;
        s->rounds[w].roles = calloc(s->cut.jobs, sizeof *s->rounds[w].roles);
        s->rounds[w].requests = calloc(s->cut.jobs * wanted, sizeof *s->rounds[w].requests);
        can = can && s->rounds[w].roles != NULL && s->rounds[w].requests != NULL;
    }
    return can ? RSET_OK
               : rset_fail(s->err, RSET_NOMEM, "no memory for %d buffers of %zu bytes", RSET_WINDOW,
                           s->arena);
}

/* A large piece costs fewer messages; but a member begins its share of the first when the members before it have done theirs, and
 * where there are few pieces nobody has anything else to do until then. */
static uint64_t
piece_for(const rset_stream *s)
{
    const uint64_t little = (uint64_t)LITTLE * (uint64_t)s->shape->members;
    uint64_t       computed = 0;

    for (size_t i = 0; i < s->plan->n && computed < little; i++)
        computed += s->plan->segments[i].len;
    return computed < little ? RSET_STREAM_SMALL_PIECE : RSET_STREAM_PIECE;
}

static rset_status
stream_init(rset_stream *s)
{
    const rset_rounds_limits limits = {.memory = RSET_STREAM_MEMORY / RSET_WINDOW,
                                       .jobs = RSET_STREAM_TAGS,
                                       .piece = piece_for(s)};
    rset_status              st;

    s->worker.scratch = malloc(rset_buffer_size(RSET_FILE_AT_ONCE));
    if (s->worker.scratch == NULL)
        return rset_fail(s->err, RSET_NOMEM, "no memory for a buffer of %d bytes",
                         RSET_FILE_AT_ONCE);
    if (rset_is_small(s->plan))
        return rset_small_init(s);
    st = rset_rounds_make(s->shape, s->plan, &limits, &s->cut, s->err);
    return st == RSET_OK ? make_rounds(s) : st;
}

/* Gives up what is under way. A buffer that the transport may still touch is left to it for ever:
 * better a leak than a write into somebody else's memory. */
static void
stream_free(rset_stream *s)
{
    bool ours = true;

    for (int w = 0; w < RSET_WINDOW; w++) {
        rset_round *round = &s->rounds[w];

        for (size_t i = 0; i < round->nroles; i++)
            if (round->roles[i].in.active)
                ours = rset_comm_cancel(s->set, &round->roles[i].in) && ours;
        for (size_t i = 0; i < round->nrequests; i++)
            if (round->requests[i].active)
                ours = rset_comm_cancel(s->set, &round->requests[i]) && ours;
        free(round->roles);
        free(round->requests);
    }
    if (ours)
        free(s->room);
    rset_small_free(s);
    free(s->worker.scratch);
    rset_rounds_free(&s->cut);
}

static bool
awaits(const rset_stream *s, int member)
{
    for (int w = 0; w < RSET_WINDOW; w++)
        for (size_t i = 0; i < s->rounds[w].nroles; i++) {
            const rset_role *r = &s->rounds[w].roles[i];

            if (r->state == ROLE_RECEIVE && comes_from(r) == member)
                return true;
        }
    return false;
}

/* Nothing has moved for too long: names those from whom data is awaited, or who do not take any. */
static rset_status
give_up(rset_stream *s)
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
stream_loop(rset_stream *s)
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
            rset_round *round = &s->rounds[w];

            if (round->left == 0 && more && has_tags(s)) {
                st = open_round(s, round, &more);
                moved = moved || more;
            }
            if (st == RSET_OK && round->left > 0)
                st = run_round(s, round, &moved);
            open = open || round->left > 0;
        }
        rset_phase_enter(moved ? RSET_PHASE_SEND : RSET_PHASE_WAIT);
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

/* The loop, with a thread beside it where there is a processor for it and enough to do. Its time goes where either of them
 * has spent it. */
static rset_status
stream_both(rset_stream *s)
{
    const uint64_t   bytes = s->cut.longest * (uint64_t)s->shape->members;
    rset_phase_scope scope;
    rset_phases      together;
    rset_status      st;

    if (bytes < WORTH_A_THREAD || !rset_comm_has_spare(s->set))
        return stream_loop(s);
    rset_phases_begin(&scope);
    rset_worker_begin(&s->worker);
    st = stream_loop(s);
    rset_worker_end(&s->worker);
    rset_phases_end(&scope);
    together = scope.spent;
    rset_phases_add(&together, &s->worker.spent);
    rset_phases_spread(&together, rset_phases_total(&scope.spent));
    return st;
}

rset_status
rset_stream_run(rset_comm *set, rset_status own, const rset_stream_work *work, rset_err *err)
{
    rset_stream s = {
        .set = set, .shape = work->shape, .plan = work->plan, .worker.io = work->io, .err = err};
    rset_status st = own;

    if (st == RSET_OK && work->plan->n > 0)
        st = stream_init(&s);
    st = rset_agree(set, st, work->host, err); /* nobody waits for a member that has no buffers */
    if (st == RSET_OK && work->plan->n > 0) {
        const rset_phase before = rset_phase_enter(RSET_PHASE_SEND);

        st = s.small.room != NULL ? rset_small_run(&s) : stream_both(&s);
        rset_phase_leave(before);
    }
    if (st == RSET_OK && s.worker.own != RSET_OK) {
        st = s.worker.own;
        *err = s.worker.err;
    }
    stream_free(&s);
    return st;
}
