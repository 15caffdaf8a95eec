/* test_rendezvous_tree.c: what a calm round costs each rank, and how a round stops being calm (P5): ranks that are late, that
 * do something else, that withdraw or stand still in the middle of it. Z3, Z4, Z7. */
#include "rendezvous_words.h"

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

    plain = me->comm->transport; /* the same for all */
    counting.poll = poll_and_count;
    me->comm->transport = &counting;
    reach();
    await(me->comm->size);
    for (int i = 0; i < ROUNDS; i++) {
        const uint64_t before = me->comm->sent_messages, bytes = me->comm->sent_bytes;

        CHECK(meet_as(me, i % 2 ? RSET_RENDEZVOUS_OPEN : RSET_RENDEZVOUS_CLOSE,
                      i < 3 ? name_of(me, "ckpt", i) : "other.h5") == RSET_OK);
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
file_of_one_rank(rank *me, int who)
{
    const bool has_log = me->comm->rank == who;

    if (has_log)
        CHECK(closing(me, "log.h5") == RSET_PEER && !me->known);
    for (int i = 0; i < 5; i++) {
        uint64_t before;

        if (has_log)
            CHECK(closing(me, "log.h5") == RSET_PEER && me->known);
        before = me->comm->sent_messages;
        CHECK(closing(me, name_of(me, "ckpt", i)) == RSET_OK);
        CHECK(i == 0 || me->comm->sent_messages - before <= (uint64_t)levels(me->comm->size) + 1);
    }
}

/* ---- late ---- */

/* One rank is late by more than half of what the others wait: all go. */
static void
late_by_half(rank *me, int late)
{
    for (int i = 0; i < 3; i++) {
        if (i == 1 && me->comm->rank == late)
            usleep((useconds_t)(me->comm->timeout * 0.6 * 1e6));
        CHECK(closing(me, "state.h5") == RSET_OK);
    }
    CHECK(label_of(me, "state.h5").step == 3);
}

/* ---- something else ---- */

/* Found out at once, wherever it is in the tree, and whoever does something else. */
static void
another_file_is_found_at_once(rank *me, int who)
{
    CHECK(closing(me, "ckpt_1.h5") == RSET_OK);
    if (me->comm->rank == who)
        CHECK(closing(me, "log.h5") == RSET_PEER && me->took < never / 4 && !me->known &&
              says(me, "is closing log.h5") && says(me, "7 more are closing ckpt_"));
    CHECK(closing(me, "ckpt_2.h5") == RSET_OK && me->took < never / 4);
}

/* P2: names of two steps are not closed together, also where only a rank below in the tree sees that. */
static void
two_steps(rank *me, int who)
{
    const bool odd = me->comm->rank == who;

    CHECK(closing(me, name_of(me, "ckpt", 1)) == RSET_OK);
    CHECK(closing(me, name_of(me, "ckpt", 2)) == RSET_OK);
    if (odd)
        CHECK(closing(me, name_of(me, "ckpt", 3)) == RSET_PEER &&
              says(me, "is closing ckpt_3.#.h5"));
    CHECK(closing(me, name_of(me, "ckpt", 4)) == RSET_OK);
}

/* Who has closed one without the others is ahead, and says so at once although a rank between it and rank 0 has not come. */
static void
skipped(rank *me)
{
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

/* ---- in the middle of it ---- */

/* Rank 3 sends up what it wants, rank 0 does not come, and rank 3 withdraws. Rank 2 comes after that, and sends up what it has
 * of rank 3 as well; then rank 0 comes. That is not taken for a proposal of rank 3: all are told to go, or nobody. */
static void
withdrawn(rank *me, int between)
{
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

static rset_note
note_of_rank(int type, uint64_t round, uint64_t seq)
{
    rset_note n = {.type = type, .op = RSET_RENDEZVOUS_CLOSE, .round = round, .seq = seq};

    rset_kind_of("state.h5", &n.kind);
    n.epoch = round;
    n.equal = ((uint64_t)1 << n.kind.nruns) - 1;
    return n;
}

/* GO does not come down the tree: rank 2 has sent up for itself and rank 3, and stands still. Rank 0, which has come to the
 * next file, says it again to rank 3. */
static void
parent_stands_still(rank *me)
{
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

/* The same, and rank 3 has given up that proposal, and comes with the next: GO that it gets then is not for that, which all
 * do together all the same. */
static void
gone_without_one(rank *me)
{
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

/* ---- hostile messages ---- */

/* Of no child, of a round that is not, of an impossible size: nothing of that is used. */
static void
hostile_messages_are_not_used(rank *me)
{
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cost_of_a_calm_round),
        SCENE_FOR(file_of_one_rank, 12, never, 0, 12, 1),
        SCENE_FOR(late_by_half, 7, 3, 0, 7, 2),
        SCENE_FOR(another_file_is_found_at_once, 9, never, 0, 9, 1),
        SCENE_FOR(two_steps, 8, never, 0, 8, 1),
        SCENE(skipped, 4, never),
        SCENE_FOR(withdrawn, 4, 0.6, 1, 3, 1),
        SCENE(parent_stands_still, 4, 4),
        SCENE(gone_without_one, 4, 1),
        SCENE(hostile_messages_are_not_used, 6, never),
    };

    return cmocka_run_group_tests(tests, set_watchdog, NULL);
}
