/* test_rendezvous_kinds.c: ranks that open files of several kinds in orders of their own, as threads of a program do. What names tell
 * apart does not wait for each other where the files are whole (P5). */
#include "rendezvous_ranks.h"

static const char *const kinds[] = {"mesh_1.h5", "flow_1.h5", "rays_1.h5"};
enum { KINDS = 3 };

static rset_status
opening(rank *me, int kind, uint64_t generation, bool whole, bool step)
{
    me->p = (rset_proposal){.evidence = true,
                            .protected_ = true,
                            .whole = whole,
                            .step = step,
                            .most = generation,
                            .least_base = UINT64_MAX};
    me->required = true;
    return meet_as(me, RSET_RENDEZVOUS_OPEN, kinds[kind]);
}

/* Each comes to all kinds, in turn from its own rank on. */
static void
in_turn(rank *me, void *arg)
{
    const bool step = *(const bool *)arg;

    for (int times = 0; times < 3; times++) {
        for (int i = 0; i < KINDS; i++) {
            const int k = (i + me->comm->rank) % KINDS;

            CHECK(opening(me, k, 7, true, step) == RSET_OK || me->p.by_itself);
            CHECK(me->took < never / 4);
        }
        for (int k = 0; step && k < KINDS; k++) /* they are in step all the same */
            CHECK(closing(me, kinds[k]) == RSET_OK && me->took < never / 4);
    }
}

static void
whole_files_of_other_kinds_are_not_waited_for(void **state)
{
    bool step = false;

    (void)state;
    for (int n = 2; n <= 5; n++) {
        step = !step;
        run(n, never, in_turn, &step);
        step = !step;
        run(n, never, in_turn, &step);
        step = !step;
    }
}

/* Rank `who` has lost its mesh: it waits until the others, whose flow is whole, come to theirs. */
static void
who_needs_the_others_has_them(rank *me, int who)
{
    const bool odd = me->comm->rank == who;

    if (odd) {
        CHECK(opening(me, 0, 7, false, true) == RSET_OK);
        CHECK(opening(me, 1, 7, true, true) == RSET_PEER && me->p.by_itself);
    } else {
        CHECK(opening(me, 1, 7, true, true) == RSET_PEER && me->p.by_itself);
        CHECK(opening(me, 0, 7, true, true) == RSET_OK);
    }
    CHECK(me->took < never / 4);
}

/* Rank 0 opens its flow by itself, of generation 7. The flow of rank 1 is of another one, so it is not opened as if all was well. */
static void
of_another_generation_is_not_opened_by_itself(rank *me)
{
    if (me->comm->rank == 0) {
        CHECK(opening(me, 1, 7, true, true) == RSET_PEER && me->p.by_itself);
        CHECK(opening(me, 0, 7, true, true) == RSET_OK);
        reach();
    } else {
        CHECK(opening(me, 0, 7, false, true) == RSET_OK);
        await(1);
        CHECK(opening(me, 1, 6, true, true) == RSET_PEER && !me->p.by_itself);
        reach();
    }
    await(2);
}

/* Two files of the kind are not of one generation: whoever opens them needs the others. */
static void
a_mixture_is_seen_by_all(rank *me)
{
    if (me->comm->rank == 2) {
        CHECK(opening(me, 0, 7, true, true) == RSET_PEER && me->p.by_itself);
        CHECK(opening(me, 1, 7, true, true) == RSET_OK);
    } else {
        CHECK(opening(me, 1, 7 - (uint64_t)me->comm->rank, true, true) == RSET_OK);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_files_of_other_kinds_are_not_waited_for),
        SCENE_FOR(who_needs_the_others_has_them, 4, never, 0, 4, 1),
        SCENE(of_another_generation_is_not_opened_by_itself, 2, 1),
        SCENE(a_mixture_is_seen_by_all, 3, never),
    };

    return cmocka_run_group_tests(tests, set_watchdog, NULL);
}
