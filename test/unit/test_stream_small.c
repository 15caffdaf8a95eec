/* test_stream_small.c: what is computed at once (set/stream_small.c) is what the coefficients say, for sets of any size, in no more
 * messages than the set has doublings; and who sends something else, or nothing, is found out. */
#include "codec/gf256.h"
#include "comm/comm_local.h"
#include "image.h"
#include "set/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 9, LENGTH = 3000, NOBODY = -1 };

typedef enum { DOES_ITS_PART, SENDS_LITTLE, SENDS_MUCH, SENDS_NOTHING } behaviour;

typedef struct world {
    rset_shape  shape;
    rset_plan   plan;
    uint64_t    length[MOST];
    uint8_t    *data[MOST], *parity[MOST]; /* as they should be; what changes, in an update */
    bool        lost[MOST];
    uint64_t    written[MOST];
    int         unreadable; /* member whose disk fails */
    int         strange;    /* member that behaves so */
    behaviour   how;
    double      timeout;
    rset_status st[MOST];
    rset_err    err[MOST];
    uint64_t    messages[MOST]; /* but for the agreement */
} world;

typedef struct member {
    world *w;
    int    rank;
} member;

/* ---- what should come out ---- */

static void
copy_out(const uint8_t *file, uint64_t size, uint64_t off, uint8_t *buf, size_t len)
{
    const size_t there = off >= size ? 0 : size - off < len ? (size_t)(size - off) : len;

    if (there > 0)
        memcpy(buf, file + off, there);
    memset(buf + there, 0, len - there);
}

/* Adds the data of member `from` in stripe s to all redundancy of that stripe. */
static void
add_data(world *w, int s, int from)
{
    const rset_shape *shape = &w->shape;
    const rset_piece  data = shape->scheme->place(shape, s, from);
    const size_t      len = (size_t)shape->scheme->stripe_length(shape, s);
    uint8_t          *piece = malloc(len + 1);

    assert_non_null(piece);
    copy_out(w->data[from], w->length[from], data.offset, piece, len);
    for (int m = 0; data.kind == RSET_PIECE_DATA && m < shape->members; m++) {
        const rset_piece to = shape->scheme->place(shape, s, m);

        if (to.kind == RSET_PIECE_PARITY)
            rset_gf_mad(w->parity[m] + to.offset, piece, len,
                        shape->scheme->coef(shape, to.row, from));
    }
    free(piece);
}

static void
open_world(world *w, const rset_scheme *scheme, int members, int parity)
{
    *w = (world){.unreadable = NOBODY,
                 .strange = NOBODY,
                 .timeout = 60,
                 .shape = {.scheme = scheme, .members = members, .parity = parity}};
    w->shape.length = w->length;
    for (int m = 0; m < members; m++)
        w->length[m] = m == 1 ? 0 : LENGTH - 7 * (uint64_t)m;
    w->shape.chunk = rset_shape_chunk(scheme, members, parity, w->length[0]);
    for (int m = 0; m < members; m++) {
        w->data[m] = malloc((size_t)w->length[m] + 1);
        w->parity[m] = calloc(1, (size_t)rset_shape_payload(&w->shape, m) + 1);
        assert_non_null(w->data[m]);
        assert_non_null(w->parity[m]);
        fill_random(w->data[m], (size_t)w->length[m], (uint64_t)m + 1);
    }
}

static void
compute(world *w)
{
    for (int s = 0; s < w->shape.members; s++)
        for (int m = 0; m < w->shape.members; m++)
            add_data(w, s, m);
}

static void
close_world(world *w)
{
    for (int m = 0; m < w->shape.members; m++) {
        free(w->data[m]);
        free(w->parity[m]);
    }
    rset_plan_free(&w->plan);
}

/* ---- one member ---- */

static rset_status
read_piece(void *arg, rset_piece_kind kind, uint64_t off, void *buf, size_t len, rset_err *err)
{
    const member *me = arg;
    const world  *w = me->w;

    if (me->rank == w->unreadable)
        return rset_fail(err, RSET_IO, "disk");
    if (w->lost[me->rank] && (kind == RSET_PIECE_PARITY || off < w->length[me->rank]))
        return rset_fail(err, RSET_BUG, "what is lost is read");
    if (kind == RSET_PIECE_DATA)
        copy_out(w->data[me->rank], w->length[me->rank], off, buf, len);
    else
        memcpy(buf, w->parity[me->rank] + off, len);
    return RSET_OK;
}

/* Compares it with what it should be. */
static rset_status
write_piece(void *arg, rset_piece_kind kind, uint64_t off, const void *buf, size_t len,
            rset_err *err)
{
    const member  *me = arg;
    world         *w = me->w;
    const bool     data = kind == RSET_PIECE_DATA;
    const uint8_t *file = data ? w->data[me->rank] : w->parity[me->rank];
    uint8_t        is[LENGTH + 1];
    bool           same;

    if (len > sizeof is)
        return rset_fail(err, RSET_BUG, "more bytes than there are");
    copy_out(file, data ? w->length[me->rank] : rset_shape_payload(&w->shape, me->rank), off, is,
             len);
    same = memcmp(is, buf, len) == 0;
    w->written[me->rank] += len;
    return same || w->unreadable != NOBODY ? RSET_OK : rset_fail(err, RSET_BUG, "other bytes");
}

/* Agrees that it can, and then sends its neighbours something else. */
static void
be_strange(rset_comm *set, world *w)
{
    static uint8_t bytes[1024 * 1024];
    rset_message   m = {
          .tag = RSET_TAG_STREAM, .data = bytes, .len = w->how == SENDS_LITTLE ? 1 : sizeof bytes};
    rset_req sent[MOST] = {0};
    bool     done;

    (void)rset_agree(set, RSET_OK, "", NULL);
    for (m.peer = 0; m.peer < set->size && w->how != SENDS_NOTHING; m.peer++)
        if (m.peer != set->rank)
            (void)rset_comm_isend(set, &m, &sent[m.peer], NULL);
    for (int i = 0; i < set->size; i++) {
        double start = rset_clock();

        while (sent[i].active && rset_clock() - start < w->timeout)
            if (rset_comm_test(set, &sent[i], &done, NULL) != RSET_OK)
                break;
        (void)rset_comm_cancel(set, &sent[i]);
    }
}

static void
run_member(rset_comm *set, void *arg)
{
    world         *w = arg;
    member         me = {w, set->rank};
    rset_stream_io io = {.read = read_piece, .write = write_piece, .arg = &me};
    uint64_t       agreement;

    w->err[set->rank] = RSET_ERR_NONE;
    (void)rset_agree(set, RSET_OK, "", NULL);
    agreement = set->sent_messages;
    if (set->rank == w->strange) {
        be_strange(set, w);
        return;
    }
    w->st[set->rank] = rset_stream_run(
        set, RSET_OK, &(rset_stream_work){&w->shape, &w->plan, &io, ""}, &w->err[set->rank]);
    w->messages[set->rank] = set->sent_messages - 2 * agreement;
}

static void
run(world *w)
{
    rset_err err = RSET_ERR_NONE;

    assert_int_equal(rset_local_run(w->shape.members, w->timeout, run_member, w, &err), RSET_OK);
}

/* How many messages each member sends for the plan at most: one for each doubling, or one for each copy. */
static int
most_messages(const world *w)
{
    int  copies = 0, doublings = 0;
    bool sums = false;

    for (size_t i = 0; i < w->plan.n; i++) {
        copies += w->plan.segments[i].how.nwanted;
        sums = sums || w->plan.segments[i].how.nsources > 1;
    }
    while (1 << doublings < w->shape.members)
        doublings++;
    return sums ? doublings : copies;
}

/* All of it came out, right, and in few messages. */
static void
assert_right(const world *w)
{
    const int most = most_messages(w);

    for (int m = 0; m < w->shape.members; m++) {
        if (w->st[m] != RSET_OK)
            fail_msg("%s, %d members, %d: member %d: %s", w->shape.scheme->name, w->shape.members,
                     w->shape.parity, m, w->err[m].text);
        assert_true(w->messages[m] <= (uint64_t)most);
    }
}

/* ---- the tests ---- */

static void
each_world(void (*try)(world *w))
{
    static const rset_scheme *schemes[] = {&rset_scheme_partner, &rset_scheme_xor, &rset_scheme_rs};

    for (int k = 0; k < 3; k++)
        for (int n = 2; n <= MOST; n++)
            for (int parity = 1; parity < n && parity <= (k == 1 ? 1 : 3); parity++) {
                world w;

                open_world(&w, schemes[k], n, parity);
                compute(&w);
                try(&w);
                close_world(&w);
            }
}

static void
encode(world *w)
{
    rset_err err = RSET_ERR_NONE;

    assert_int_equal(rset_plan_encode(&w->shape, &w->plan, &err), RSET_OK);
    run(w);
    assert_right(w);
    for (int m = 0; m < w->shape.members; m++)
        assert_int_equal(w->written[m], rset_shape_payload(&w->shape, m));
}

static void
redundancy_is_what_the_coefficients_say(void **state)
{
    (void)state;
    each_world(encode);
}

/* As many neighbours as the scheme covers have lost all. */
static void
rebuild(world *w)
{
    rset_health health[MOST] = {0};
    rset_err    err = RSET_ERR_NONE;

    for (int i = 0; i < w->shape.parity; i++) {
        const int m = (i + w->shape.members - 1) % w->shape.members;

        w->lost[m] = health[m].want_data = health[m].want_payload = true;
        assert_true(rset_ranges_add(&health[m].data, 0, UINT64_MAX));
        assert_true(rset_ranges_add(&health[m].payload, 0, UINT64_MAX));
    }
    assert_int_equal(rset_plan_make(&w->shape, health, &w->plan, &err), RSET_OK);
    run(w);
    assert_right(w);
    for (int m = 0; m < w->shape.members; m++) {
        const uint64_t all = w->length[m] + rset_shape_payload(&w->shape, m);

        assert_int_equal(w->written[m], w->lost[m] ? all : 0);
        rset_health_free(&health[m]);
    }
}

static void
what_is_lost_comes_back(void **state)
{
    (void)state;
    each_world(rebuild);
}

/* The first and the last member have changed, and nobody else is read. */
static void
update(world *w)
{
    const int   n = w->shape.members;
    rset_ranges changed[MOST] = {0};
    rset_err    err = RSET_ERR_NONE;

    for (int m = 0; m < n; m++) {
        const bool changes = m == 0 || (m == n - 1 && n > 2);

        memset(w->parity[m], 0, (size_t)rset_shape_payload(&w->shape, m));
        memset(w->data[m], 0, (size_t)(changes ? LENGTH / 3 : w->length[m]));
        w->lost[m] = !changes;
        if (changes)
            assert_true(rset_ranges_add(&changed[m], LENGTH / 3, w->length[m]));
    }
    compute(w);
    assert_int_equal(rset_plan_update(&w->shape, changed, &w->plan, &err), RSET_OK);
    run(w);
    assert_right(w);
    for (int m = 0; m < n; m++)
        rset_ranges_free(&changed[m]);
}

static void
changes_are_all_that_is_sent(void **state)
{
    (void)state;
    each_world(update);
}

/* A disk that fails is an error of that member alone, at the end: the others are not left waiting. */
static void
disk_fails(world *w)
{
    rset_err err = RSET_ERR_NONE;

    assert_int_equal(rset_plan_encode(&w->shape, &w->plan, &err), RSET_OK);
    w->unreadable = 0;
    run(w);
    for (int m = 0; m < w->shape.members; m++)
        assert_int_equal(w->st[m], m == 0 ? RSET_IO : RSET_OK);
}

static void
who_cannot_read_sends_zeros(void **state)
{
    (void)state;
    each_world(disk_fails);
}

/* All others end, without a result, and those next to it know why. */
static void
strange_member(behaviour how, const char *text)
{
    world    w;
    rset_err err = RSET_ERR_NONE;
    bool     known = false;

    open_world(&w, &rset_scheme_xor, 5, 1);
    assert_int_equal(rset_plan_encode(&w.shape, &w.plan, &err), RSET_OK);
    w.strange = 2;
    w.how = how;
    for (w.timeout = 0.4; !known && w.timeout < 20; w.timeout *= 5) { /* the machine may be busy */
        run(&w);
        for (int m = 0; m < w.shape.members; m++) {
            assert_int_equal(w.written[m], 0);
            assert_int_equal(w.st[m], m == w.strange ? RSET_OK : RSET_PEER);
        }
        known = strstr(w.err[3].text, text) != NULL;
    }
    if (!known)
        fail_msg("%s", w.err[3].text);
    close_world(&w);
}

static void
a_message_that_is_too_short_is_no_part_of_it(void **state)
{
    (void)state;
    strange_member(SENDS_LITTLE, "a member sent 1 bytes instead of");
}

static void
nor_is_one_that_is_too_long(void **state)
{
    (void)state;
    strange_member(SENDS_MUCH, "rank 2");
}

static void
nobody_waits_for_ever(void **state)
{
    (void)state;
    strange_member(SENDS_NOTHING, "waiting for rank 2");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(redundancy_is_what_the_coefficients_say),
        cmocka_unit_test(what_is_lost_comes_back),
        cmocka_unit_test(changes_are_all_that_is_sent),
        cmocka_unit_test(who_cannot_read_sends_zeros),
        cmocka_unit_test(a_message_that_is_too_short_is_no_part_of_it),
        cmocka_unit_test(nor_is_one_that_is_too_long),
        cmocka_unit_test(nobody_waits_for_ever),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
