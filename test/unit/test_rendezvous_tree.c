/* test_rendezvous_tree.c: what a calm round costs each rank, and how a round stops being calm (P5): ranks that are late, that
 * do something else, that withdraw or stand still in the middle of it. Z3, Z4, Z7. */
#include "rendezvous/rendezvous_internal.h"
#include "rendezvous_ranks.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST = 256, ROUNDS = 5 };

static int
levels(int n)
{
    int l = 0;

    while (1 << l < n)
        l++;
    return l;
}

/* ---- what it costs ---- */

static const char *
file_name(char *buf, size_t size, int step, int of)
{
    snprintf(buf, size, "ckpt_%d.%d.h5", step, of);
    return buf;
}

/* The transport of a rank, with its messages counted that are received. */
static const rset_transport  *plain;
static _Thread_local uint64_t received;

static rset_status
poll_and_count(void *self, rset_message *message, bool *found_out, rset_err *err)
{
    rset_status st = plain->poll(self, message, found_out, err);

    received += *found_out;
    return st;
}

/* Opens and closes by turns, also files of new kinds: nobody sends or receives more than the tree has edges at its place. */
static void
counted(rank *me, void *arg)
{
    atomic_llong  *sent = arg;
    const uint64_t most = (uint64_t)levels(me->comm->size) + 1;
    rset_transport counting = *me->comm->transport;
    char           name[64];

    plain = me->comm->transport; /* the same for all */
    counting.poll = poll_and_count;
    me->comm->transport = &counting;
    reach();
    await(me->comm->size);
    for (int i = 0; i < ROUNDS; i++) {
        const uint64_t before = me->comm->sent_messages, bytes = me->comm->sent_bytes;

        CHECK(meet_as(me, i % 2 ? RSET_RENDEZVOUS_OPEN : RSET_RENDEZVOUS_CLOSE,
                      i < 3 ? file_name(name, sizeof name, i, me->comm->rank) : "other.h5") ==
              RSET_OK);
        CHECK(me->comm->sent_messages - before <= most);
        CHECK(me->comm->sent_bytes - bytes <= 512 * most);
        atomic_fetch_add(sent, (long long)(me->comm->sent_messages - before));
    }
    CHECK(received <= ROUNDS * most);
    received = 0;
    reach();
    await(2 * me->comm->size);
    me->comm->transport = plain;
}

static void
test_cost_of_a_calm_round(void **state)
{
    (void)state;
    for (int n = 2; n <= MOST; n = n < 20 ? n + 1 : n * 2) {
        atomic_llong sent = 0;

        run(n, never, counted, &sent);
        assert_int_equal(atomic_load(&sent), 2LL * ROUNDS * (n - 1));
    }
}

/* A file that one rank has for itself, as all know, does not make the next round of all a direct one. */
static void
with_a_log(rank *me, void *arg)
{
    const bool has_log = me->comm->rank == *(int *)arg;
    char       name[64];

    if (has_log)
        CHECK(closing(me, "log.h5") == RSET_PEER && !me->known);
    for (int i = 0; i < 5; i++) {
        uint64_t before;

        if (has_log)
            CHECK(closing(me, "log.h5") == RSET_PEER && me->known);
        before = me->comm->sent_messages;
        CHECK(closing(me, file_name(name, sizeof name, i, me->comm->rank)) == RSET_OK);
        CHECK(i == 0 || me->comm->sent_messages - before <= (uint64_t)levels(me->comm->size) + 1);
    }
}

static void
test_file_of_one_rank(void **state)
{
    (void)state;
    for (int who = 0; who < 12; who++)
        run(12, never, with_a_log, &who);
}

/* ---- late ---- */

/* One rank is late by more than half of what the others wait: all go. */
static void
late_by_half(rank *me, void *arg)
{
    const int late = *(int *)arg;

    for (int i = 0; i < 3; i++) {
        if (i == 1 && me->comm->rank == late)
            usleep((useconds_t)(me->comm->timeout * 0.6 * 1e6));
        CHECK(closing(me, "state.h5") == RSET_OK);
    }
    CHECK(label_of(me, "state.h5").step == 3);
}

static void
test_late_by_half(void **state)
{
    (void)state;
    for (int late = 0; late < 7; late += 2)
        run(7, 3, late_by_half, &late);
}

/* ---- something else ---- */

/* Found out at once, wherever it is in the tree, and whoever does something else. */
static void
another_file(rank *me, void *arg)
{
    CHECK(closing(me, "ckpt_1.h5") == RSET_OK);
    if (me->comm->rank == *(int *)arg)
        CHECK(closing(me, "log.h5") == RSET_PEER && me->took < never / 4 && !me->known &&
              says(me, "is closing log.h5") && says(me, "7 more are closing ckpt_"));
    CHECK(closing(me, "ckpt_2.h5") == RSET_OK && me->took < never / 4);
}

static void
test_another_file_is_found_at_once(void **state)
{
    (void)state;
    for (int odd = 0; odd < 9; odd++)
        run(9, never, another_file, &odd);
}

/* P2: names of two steps are not closed together, also where only a rank below in the tree sees that. */
static void
two_steps(rank *me, void *arg)
{
    const bool odd = me->comm->rank == *(int *)arg;
    char       name[64];

    CHECK(closing(me, file_name(name, sizeof name, 1, me->comm->rank)) == RSET_OK);
    CHECK(closing(me, file_name(name, sizeof name, 2, me->comm->rank)) == RSET_OK);
    if (odd)
        CHECK(closing(me, file_name(name, sizeof name, 3, me->comm->rank)) == RSET_PEER &&
              says(me, "is closing ckpt_3.#.h5"));
    CHECK(closing(me, file_name(name, sizeof name, 4, me->comm->rank)) == RSET_OK);
}

static void
test_two_steps(void **state)
{
    (void)state;
    for (int odd = 0; odd < 8; odd++)
        run(8, never, two_steps, &odd);
}

/* Who has closed one without the others is ahead, and says so at once although a rank between it and rank 0 has not come. */
static void
skipped(rank *me, void *arg)
{
    (void)arg;
    CHECK(closing(me, "state.h5") == RSET_OK);
    if (me->comm->rank == 3)
        rset_rendezvous_skip(me->place, &me->p.kind);
    if (me->comm->rank == 2)
        await(1);
    if (me->comm->rank == 0) {
        CHECK(closing(me, "state.h5") == RSET_PEER && me->took < 3);
        CHECK(says(me, "rank 3 (node3) has gone 1 further"));
        reach();
    } else if (me->comm->rank != 3) {
        CHECK(closing(me, "state.h5") == RSET_PEER && me->took < 3);
    }
    CHECK(closing(me, "state.h5") == RSET_OK);
}

static void
test_skipped(void **state)
{
    (void)state;
    run(4, never, skipped, NULL);
}

/* ---- in the middle of it ---- */

/* Rank 3 sends up what it wants, rank 0 does not come, and rank 3 withdraws. Rank 2 comes after that, and sends up what it has
 * of rank 3 as well; then rank 0 comes. That is not taken for a proposal of rank 3: all are told to go, or nobody. */
static void
withdrawn(rank *me, void *arg)
{
    const int between = *(int *)arg;

    CHECK(closing(me, "ckpt_1.h5") == RSET_OK);
    if (me->comm->rank == 3) {
        CHECK(closing(me, "ckpt_2.h5") == RSET_PEER);
        reach();
    }
    if (me->comm->rank == 0 || me->comm->rank == between)
        await(1);
    if (me->comm->rank == 0)
        usleep(100000);
    if (me->comm->rank != 3)
        CHECK(closing(me, "ckpt_2.h5") == RSET_PEER);
    reach();
    await(me->comm->size + 1);
    CHECK(closing(me, "ckpt_3.h5") == RSET_OK);
    CHECK(closing(me, "ckpt_4.h5") == RSET_OK);
}

static void
test_withdrawn(void **state)
{
    (void)state;
    for (int between = 1; between < 3; between++)
        run(4, 0.6, withdrawn, &between);
}

/* GO does not come down the tree: rank 2 has sent up for itself and rank 3, and stands still. Rank 0, which has come to the
 * next file, says it again to rank 3. Played by messages: the real rank 2 cannot be stopped between the two. */
static rset_note
note_of_rank(int type, uint64_t round, uint64_t seq)
{
    rset_note n = {.type = type, .op = RSET_RENDEZVOUS_CLOSE, .round = round, .seq = seq};

    rset_kind_of("state.h5", &n.kind);
    n.epoch = round;
    n.equal = ((uint64_t)1 << n.kind.nruns) - 1;
    return n;
}

static void
say(rank *me, int to, const rset_note *n)
{
    rset_message out = {
        .peer = to, .tag = RSET_TAG_RENDEZVOUS, .data = n, .len = rset_note_size(n)};
    rset_req req = {0};

    CHECK(rset_comm_isend(me->comm, &out, &req, &me->err) == RSET_OK);
    while (req.active) {
        bool done;

        CHECK(rset_comm_test(me->comm, &req, &done, &me->err) == RSET_OK);
    }
}

static rset_note
hear(rank *me, int type)
{
    rset_note n = {0};
    bool      found = false;

    while (!found || n.type != type) {
        rset_message in = {.tag = RSET_TAG_RENDEZVOUS, .room = &n, .len = sizeof n};

        CHECK(rset_comm_poll(me->comm, &in, &found, &me->err) == RSET_OK);
        if (!found)
            usleep(1000);
    }
    return n;
}

static void
stands_still(rank *me, void *arg)
{
    (void)arg;
    if (me->comm->rank == 2) {
        const rset_note sum = note_of_rank(RSET_NOTE_TOGETHER, 1, 1);

        (void)hear(me, RSET_NOTE_TOGETHER); /* of rank 3 */
        say(me, 0, &sum);
        await(3); /* and tells rank 3 nothing */
        return;
    }
    if (me->comm->rank == 3)
        CHECK(closing(me, "state.h5") == RSET_OK && me->took > me->comm->timeout / 3 &&
              me->took < me->comm->timeout);
    else
        CHECK(closing(me, "state.h5") == RSET_OK);
    if (me->comm->rank == 0) /* rank 2 does not come to this */
        CHECK(closing(me, "state.h5") == RSET_PEER && says(me, "waiting for rank 1, 2, 3"));
    reach();
    await(3);
}

static void
test_parent_stands_still(void **state)
{
    (void)state;
    run(4, 4, stands_still, NULL);
}

/* The same, and rank 3 has given up that proposal, and comes with the next: GO that it gets then is not for that, which all
 * do together all the same. */
static void
gone_without(rank *me, void *arg)
{
    (void)arg;
    if (me->comm->rank == 2) {
        rset_note sum = note_of_rank(RSET_NOTE_TOGETHER, 1, 1), go;

        (void)hear(me, RSET_NOTE_TOGETHER);
        say(me, 0, &sum);
        go = hear(me, RSET_NOTE_GO);
        CHECK(go.round == 1 && go.relay == 1);
        await(3);
        sum = note_of_rank(RSET_NOTE_PROPOSE, 2, 2);
        say(me, 0, &sum);
        CHECK(hear(me, RSET_NOTE_GO).round == 2);
        reach();
        return;
    }
    CHECK(closing(me, "state.h5") == (me->comm->rank == 3 ? RSET_PEER : RSET_OK));
    CHECK(me->comm->rank != 3 || says(me, "rank 0, or for rank 2, through which it answers"));
    reach();
    await(3);
    CHECK(closing(me, "state.h5") == RSET_OK && me->took < me->comm->timeout);
    await(4);
}

static void
test_gone_without_one(void **state)
{
    (void)state;
    run(4, 1, gone_without, NULL);
}

/* ---- hostile messages ---- */

/* Of no child, of a round that is not, of an impossible size: nothing of that is used. */
static void
hostile(rank *me, void *arg)
{
    (void)arg;
    if (me->comm->rank == 5) {
        rset_note n = note_of_rank(RSET_NOTE_TOGETHER, 1, 1);

        for (int to = 0; to < 4; to++) {
            say(me, to, &n); /* rank 4 is its parent */
            n.round = 77;
            n.type = RSET_NOTE_DIRECT;
            say(me, to, &n);
            n.type = RSET_NOTE_GO;
            n.relay = 1;
            n.round = 1;
            say(me, to, &n);
            n.type = RSET_NOTE_PROPOSE;
            n.waited = 1e300;
            n.round = 40;
            say(me, to, &n);
            n = note_of_rank(RSET_NOTE_TOGETHER, 1, 1);
        }
        reach();
    }
    await(1);
    for (int i = 0; i < 3; i++)
        CHECK(closing(me, "state.h5") == RSET_OK);
}

static void
test_hostile(void **state)
{
    (void)state;
    run(6, never, hostile, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cost_of_a_calm_round),
        cmocka_unit_test(test_file_of_one_rank),
        cmocka_unit_test(test_late_by_half),
        cmocka_unit_test(test_another_file_is_found_at_once),
        cmocka_unit_test(test_two_steps),
        cmocka_unit_test(test_skipped),
        cmocka_unit_test(test_withdrawn),
        cmocka_unit_test(test_parent_stands_still),
        cmocka_unit_test(test_gone_without_one),
        cmocka_unit_test(test_hostile),
    };

    signal(SIGALRM, watchdog);
    alarm(WATCHDOG);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
