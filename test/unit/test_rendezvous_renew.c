/* test_rendezvous_renew.c: ranks that have lost each other in whatever state meet again once their communicator is renewed, and nothing
 * that was said before is taken for what is said after (Z5). */
#include "rendezvous/rendezvous_internal.h"
#include "rendezvous_ranks.h"

#include <stdlib.h>

enum { RANKS = 5, LOOKS = 20000 };

/* All have come here so often. */
static void
together(rank *me, int times)
{
    reach();
    (void)me;
    await(times * RANKS);
}

static rset_status
close_step(rank *me, const char *kind, int step)
{
    me->p.path = name_of(me, kind, step);
    return closing(me, me->p.path);
}

static void
renew(rank *me)
{
    bool renewed = false;

    for (int i = 0; i < LOOKS && !renewed; i++) {
        (void)rset_comm_renew(me->comm, 0, &renewed, NULL);
        usleep(1000);
    }
    CHECK(renewed);
    rset_rendezvous_renew(me->place);
}

static void
lose_each_other(rank *me, int *times)
{
    together(me, ++*times);
    (void)rset_comm_revoke(me->comm, NULL, "for a reason");
    together(me, ++*times);
    CHECK(close_step(me, "ckpt", 90 + *times) == RSET_PEER);
}

/* Rank `who` proposes alone: its words are still under way when all lose each other. It has gone in a round in which the others have
 * not heard that all go. */
static void
they_meet_again(rank *me, int who)
{
    int times = 0;

    for (int round = 0; round < 3; round++) {
        CHECK(close_step(me, "ckpt", 10 * round) == RSET_OK);
        if (me->comm->rank == who)
            CHECK(close_step(me, "ckpt", 10 * round + 1) == RSET_PEER);
        else
            rset_rendezvous_skip(me->place, &me->p.kind); /* in step all the same */
        lose_each_other(me, &times);
        me->place->round += me->comm->rank == who;
        renew(me);
        CHECK(close_step(me, "ckpt", 10 * round + 2) == RSET_OK);
        CHECK(close_step(me, "ckpt", 10 * round + 3) == RSET_OK);
    }
    together(me, ++times);
}

/* What rank 3 says is under way when all lose each other, and is not lost; and so is a part that was there before. */
static void
what_was_said_of_files(rank *me)
{
    int times = 0;

    if (me->comm->rank == 1)
        CHECK(rset_rendezvous_lack(me->place, "before_*", &me->err) == RSET_OK);
    else
        CHECK(close_step(me, "before", 1) == RSET_OK && me->p.among != NULL);
    CHECK(close_step(me, "ckpt", 1) == RSET_OK);
    together(me, ++times);
    if (me->comm->rank == 3)
        CHECK(rset_rendezvous_lack(me->place, "late_*", &me->err) == RSET_OK);
    lose_each_other(me, &times);
    renew(me);
    if (me->comm->rank != 3)
        CHECK(close_step(me, "late", 1) == RSET_OK && me->p.among != NULL &&
              me->p.among->size == RANKS - 1);
    if (me->comm->rank != 1)
        CHECK(close_step(me, "before", 2) == RSET_OK && me->p.among != NULL &&
              me->p.among->size == RANKS - 1);
    CHECK(close_step(me, "ckpt", 2) == RSET_OK && me->p.among == NULL);
    together(me, ++times);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_FOR(they_meet_again, RANKS, 0.4, 0, RANKS, 2),
        SCENE(what_was_said_of_files, RANKS, never),
    };

    return cmocka_run_group_tests(tests, set_watchdog, NULL);
}
