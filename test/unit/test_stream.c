/* test_stream.c: what is computed does not depend on how the plan is cut (rounds.h), nor do messages of one job get
 * into another: many more segments than there are tags, of a byte or two each; nor on the thread that works. */
#include "codec/rounds.h"
#include "comm/comm_local.h"
#include "common/bytes.h"
#include "image.h"
#include "set/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 4, CHUNK = 12000, LARGE = 5 * 1024 * 1024 };

typedef struct world {
    bool        spare;      /* a thread reads and computes beside the messages */
    int         unreadable; /* member whose disk fails */
    rset_shape  shape;
    rset_plan   plan;
    uint64_t    length[N];
    uint8_t    *data[N];   /* logical files */
    uint8_t    *parity[N]; /* what was computed */
    rset_status st[N];
} world;

static void
open_world(world *w, const rset_scheme *scheme, int parity, uint64_t chunk)
{
    rset_err err = RSET_ERR_NONE;

    *w = (world){.unreadable = -1,
                 .shape = {.scheme = scheme, .members = N, .parity = parity, .length = w->length}};
    for (int m = 0; m < N; m++)
        w->length[m] = chunk * N - 7 * (uint64_t)m;
    w->shape.chunk = rset_shape_chunk(scheme, N, parity, w->length[0]);
    for (int m = 0; m < N; m++) {
        w->data[m] = malloc((size_t)w->length[m]);
        w->parity[m] = calloc(1, (size_t)rset_shape_payload(&w->shape, m));
        assert_non_null(w->data[m]);
        assert_non_null(w->parity[m]);
        fill_random(w->data[m], (size_t)w->length[m], (uint64_t)m + 1);
    }
    assert_int_equal(rset_plan_encode(&w->shape, &w->plan, &err), RSET_OK);
}

static void
close_world(world *w)
{
    for (int m = 0; m < N; m++) {
        free(w->data[m]);
        free(w->parity[m]);
    }
    rset_plan_free(&w->plan);
}

/* A shorter file goes on with zeros where others have bytes: nothing is computed in another way there. So members send each other as
 * many messages for files of any lengths. */
static void
the_end_of_a_file_cuts_no_stripe(void **state)
{
    static const rset_scheme *schemes[] = {&rset_scheme_xor, &rset_scheme_rs};

    (void)state;
    for (int k = 0; k < 2; k++) {
        world w;

        open_world(&w, schemes[k], k + 1, CHUNK + 5);
        assert_int_equal(w.plan.n, N);
        for (size_t i = 0; i < w.plan.n; i++)
            assert_int_equal(w.plan.segments[i].stripe, (int)i);
        close_world(&w);
    }
}

/* ---- one member ---- */

typedef struct member {
    world *w;
    int    rank;
} member;

static rset_status
read_data(void *arg, rset_piece_kind kind, uint64_t off, void *buf, size_t len, rset_err *err)
{
    const member  *me = arg;
    const uint64_t size = me->w->length[me->rank];
    size_t         there = off >= size ? 0 : size - off < len ? (size_t)(size - off) : len;

    if (kind != RSET_PIECE_DATA)
        return rset_fail(err, RSET_BUG, "an encode reads parity");
    if (me->rank == me->w->unreadable && off > size / 2)
        return rset_fail(err, RSET_IO, "disk");
    if (there > 0)
        memcpy(buf, me->w->data[me->rank] + off, there);
    memset((uint8_t *)buf + there, 0, len - there);
    return RSET_OK;
}

static rset_status
write_parity(void *arg, rset_piece_kind kind, uint64_t off, const void *buf, size_t len,
             rset_err *err)
{
    const member *me = arg;

    if (kind != RSET_PIECE_PARITY || off + len > rset_shape_payload(&me->w->shape, me->rank))
        return rset_fail(err, RSET_BUG, "an encode writes data");
    memcpy(me->w->parity[me->rank] + off, buf, len);
    return RSET_OK;
}

static void
run_member(rset_comm *set, void *arg)
{
    world         *w = arg;
    member         me = {w, set->rank};
    rset_stream_io io = {.read = read_data, .write = write_parity, .arg = &me};
    rset_err       err = RSET_ERR_NONE;

    set->spare = w->spare ? RSET_SPARE_YES : RSET_SPARE_NO;
    w->st[set->rank] =
        rset_stream_run(set, RSET_OK, &(rset_stream_work){&w->shape, &w->plan, &io, ""}, &err);
    if (w->st[set->rank] != RSET_OK && strcmp(err.text, "disk") != 0)
        w->st[set->rank] = RSET_BUG;
}

static void
run(world *w)
{
    rset_err err = RSET_ERR_NONE;

    assert_int_equal(rset_local_run(N, 60, run_member, w, &err), RSET_OK);
    for (int m = 0; m < N; m++)
        assert_int_equal(w->st[m], m == w->unreadable ? RSET_IO : RSET_OK);
}

/* ---- the tests ---- */

/* Each segment in pieces of one and two bytes; they borrow how it is solved. */
static rset_plan
in_crumbs(const rset_plan *plan)
{
    rset_plan out = {.most = plan->most};

    for (size_t i = 0; i < plan->n; i++)
        out.room += (size_t)plan->segments[i].len;
    out.segments = calloc(out.room, sizeof *out.segments);
    assert_non_null(out.segments);
    for (size_t i = 0; i < plan->n; i++) {
        const rset_segment *g = &plan->segments[i];

        for (uint64_t at = 0, len; at < g->len; at += len) {
            len = out.n % 3 == 0 && g->len - at > 1 ? 2 : 1;
            out.segments[out.n++] = (rset_segment){g->stripe, g->off + at, len, g->how};
        }
    }
    return out;
}

static void
crumbs_make_the_same(void **state)
{
    static const struct {
        const rset_scheme *scheme;
        int                parity;
    } kinds[] = {{&rset_scheme_xor, 1}, {&rset_scheme_rs, 2}};

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        world     w;
        rset_plan whole;
        uint8_t  *expected[N];

        open_world(&w, kinds[k].scheme, kinds[k].parity, CHUNK);
        run(&w);
        for (int m = 0; m < N; m++) {
            expected[m] = w.parity[m];
            w.parity[m] = calloc(1, (size_t)rset_shape_payload(&w.shape, m));
            assert_non_null(w.parity[m]);
        }
        whole = w.plan;
        w.plan = in_crumbs(&whole);
        assert_true(w.plan.n > 2 * (size_t)RSET_STREAM_TAGS);
        run(&w);
        for (int m = 0; m < N; m++) {
            assert_memory_equal(w.parity[m], expected[m], (size_t)rset_shape_payload(&w.shape, m));
            free(expected[m]);
        }
        free(w.plan.segments);
        w.plan = whole;
        close_world(&w);
    }
}

/* What a thread beside the messages makes is what their own thread makes; a disk that fails under it is an error of that
 * member alone, at the end. */
static void
a_worker_makes_the_same(void **state)
{
    const rset_scheme *schemes[] = {&rset_scheme_partner, &rset_scheme_xor, &rset_scheme_rs};

    (void)state;
    for (int k = 0; k < 3; k++) {
        world    w;
        uint8_t *expected[N];

        open_world(&w, schemes[k], k < 2 ? 1 : 2, LARGE);
        run(&w);
        for (int m = 0; m < N; m++) {
            expected[m] = w.parity[m];
            w.parity[m] = calloc(1, (size_t)rset_shape_payload(&w.shape, m));
            assert_non_null(w.parity[m]);
        }
        w.spare = true;
        run(&w);
        for (int m = 0; m < N; m++) {
            assert_memory_equal(w.parity[m], expected[m], (size_t)rset_shape_payload(&w.shape, m));
            free(expected[m]);
        }
        w.unreadable = 2;
        run(&w);
        close_world(&w);
    }
}

/* The bounds of a round hold for every round, wherever segments begin. */
static void
bounds_hold_for_each_round(void **state)
{
    (void)state;
    for (uint64_t jobs = 1; jobs < 5000; jobs = 3 * jobs + 1) {
        const rset_rounds_limits limits = {.memory = 40000, .jobs = jobs, .piece = 32 * 1024};
        world                    w;
        rset_plan                crumbs;
        rset_rounds              cut;
        rset_err                 err = RSET_ERR_NONE;

        open_world(&w, &rset_scheme_xor, 1, CHUNK);
        crumbs = in_crumbs(&w.plan);
        assert_int_equal(rset_rounds_make(&w.shape, &crumbs, &limits, &cut, &err), RSET_OK);
        assert_true(cut.jobs <= jobs);
        for (int stripe = 0; stripe < N; stripe += cut.batch)
            for (uint64_t from = 0; from < cut.longest; from += cut.piece) {
                const int last = stripe + cut.batch < N ? stripe + cut.batch : N;
                size_t    n = 0;

                for (size_t i = cut.first[stripe]; i < cut.first[last]; i++) {
                    const rset_segment *g = &crumbs.segments[i];

                    n += g->off < from + cut.piece && g->off + g->len > from;
                }
                assert_true(n <= cut.jobs);
            }
        rset_rounds_free(&cut);
        free(crumbs.segments);
        close_world(&w);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_a_file_cuts_no_stripe),
        cmocka_unit_test(crumbs_make_the_same),
        cmocka_unit_test(a_worker_makes_the_same),
        cmocka_unit_test(bounds_hold_for_each_round),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
