/* test_rendezvous_call.c: calls that are collective by definition (P5, Z6): however often a rank did not come, and whatever
 * else ranks do meanwhile, nobody takes them for something that is not done by all. */
#include "rendezvous_ranks.h"

#include <stdio.h>
#include <unistd.h>

static const double limit = 0.4;

enum { TIMES = 7 }; /* more than a kind of file is waited for */

static rset_status
calling(rank *me, const char *name)
{
    me->required = true;
    return meet_as(me, RSET_RENDEZVOUS_CALL, name);
}

/* Rank `gone` misses the call again and again; those who wait hear who is missing, each time after the whole timeout, and other
 * kinds are not the worse for it. */
static void
missed_often(rank *me, int gone)
{
    char name[48];

    snprintf(name, sizeof name, "waiting for rank %d", gone);
    for (int i = 0; i < TIMES && me->comm->rank != gone; i++) {
        CHECK(calling(me, "protect") == RSET_PEER && !me->known);
        CHECK(
            me->took >=
            limit /
                4); /* who comes late waits less; patience that is halved at each miss is used up sooner */
        CHECK(says(me, name) && says(me, "in protect: "));
    }
    reach();
    await(me->comm->size);
    while (calling(me, "protect") != RSET_OK) /* the one that is behind is told so */
        CHECK(me->comm->rank == gone && says(me, "this rank is late: rank "));
    CHECK(calling(me, "protect") == RSET_OK);
    me->required = false;
    CHECK(closing(me, "ckpt_1.h5") == RSET_OK);
}

/* One rank misses a call; then another closes a file of its own, and waits for the whole timeout: it is not known to be a program
 * that has many such files. */
static void
then_a_file(rank *me, int gone)
{
    const int who = gone == 0 ? 1 : 0;

    if (me->comm->rank != gone)
        CHECK(calling(me, "protect") == RSET_PEER);
    me->required = false;
    if (me->comm->rank == who)
        CHECK(closing(me, "log.h5") == RSET_PEER && me->took >= me->comm->timeout);
    reach();
    await(me->comm->size);
}

/* Before there is a communicator. */
static void
test_patience(void **state)
{
    rset_proposal    p = {.op = RSET_RENDEZVOUS_CALL, .required = true, .kind.text = "protect"};
    rset_rendezvous *place = NULL;
    rset_err         err = RSET_ERR_NONE;
    bool             known = true;

    (void)state;
    assert_int_equal(rset_rendezvous_new("node0", 4, &place, &err), RSET_OK);
    for (int i = 0; i < TIMES; i++) {
        assert_true(rset_rendezvous_patience(place, &p, 10, &known) == 10 && !known);
        rset_rendezvous_timed_out(place, &p);
    }
    p.op = RSET_RENDEZVOUS_CLOSE;
    p.required = false;
    snprintf(p.kind.text, sizeof p.kind.text, "ckpt.h5");
    assert_true(rset_rendezvous_patience(place, &p, 10, &known) == 10 && !known);
    rset_rendezvous_free(place);
}

/* One rank, or all but one, close files of their own while the others are in the call: these files are refused, the call
 * waits on. */
static void
among_closes(rank *me, int callers)
{
    if (me->comm->rank >= callers) {
        while (closing(me, "log.h5") == RSET_OK)
            CHECK(false);
        CHECK(me->known || says(me, "not all ranks do the same") || says(me, "not one per rank"));
    }
    CHECK(calling(me, "protect") == RSET_OK);
    CHECK(calling(me, "recover") == RSET_OK);
}

/* Different calls are no call of all. */
static void
different(rank *me, int who)
{
    const bool other = me->comm->rank == who;
    const int  st = calling(me, other ? "recover" : "protect");

    CHECK(st == RSET_PEER);
    CHECK(says(me, "in recover") || says(me, "timed out"));
    reach();
    await(me->comm->size);
    me->required = false;
    CHECK(closing(me, "ckpt_1.h5") == RSET_OK);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_FOR(missed_often, 4, limit, 0, 4, 3),
        SCENE_FOR(then_a_file, 3, RSET_RENDEZVOUS_SHORT + 1, 0, 2, 1),
        cmocka_unit_test(test_patience),
        SCENE_FOR(among_closes, 2, never, 1, 2, 1),
        SCENE_FOR(among_closes, 4, never, 1, 4, 1),
        SCENE_FOR(different, 3, limit, 0, 3, 1),
    };

    return cmocka_run_group_tests(tests, set_watchdog, NULL);
}
