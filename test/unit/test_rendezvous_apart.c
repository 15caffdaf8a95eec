/* test_rendezvous_apart.c: ranks that only read, files of one kind in orders of their own: all go at once as soon as all are
 * here, and nobody waits long for one that reads less (Z3, Z6). What is not of that sort is as before. */
#include "rendezvous_ranks.h"

#include <stdlib.h>
#include <unistd.h>

enum { FILES = 16 };

static rset_status
reading(rank *me, int step, int file)
{
    char path[64];

    snprintf(path, sizeof path, "/some/where/s%d.%d.h5", step, file);
    me->p.evidence = me->p.protected_ = true;
    return meet_as(me, RSET_RENDEZVOUS_OPEN, path);
}

static rset_status
writing(rank *me, int step, int file)
{
    rset_status st;

    me->p.step = true;
    st = reading(me, step, file);
    me->p.step = false;
    return st;
}

/* From now on the first number has to be the same on all ranks of an open or close. */
static void
learn_the_step(rank *me)
{
    char path[64];

    snprintf(path, sizeof path, "s0.%d.h5", me->comm->rank);
    CHECK(closing(me, path) == RSET_OK);
}

/* ---- all are here ---- */

static _Atomic uint64_t nonces[FILES];

/* Each rank opens all files of four steps once: along diagonals, backwards, or by chance. */
static void
number_of(int how, int r, int i, int *step, int *file)
{
    static const int odd[] = {1, 3, 5, 7, 9, 11, 13, 15};
    const int        n = how == 0   ? (r * 5 + i) % FILES
                         : how == 1 ? (FILES - 1 - i + r) % FILES
                                    : (odd[(r * 3 + how) % 8] * i + r * 7) % FILES;

    *step = how == 0 ? (r + i) % 4 : n / 4;
    *file = how == 0 ? i / 4 : n % 4;
}

static void
read_all_files(rank *me, void *arg)
{
    const int how = *(const int *)arg;

    learn_the_step(me);
    for (int i = 0; i < FILES; i++) {
        int step, file;

        number_of(how, me->comm->rank, i, &step, &file);
        me->p.bits = (uint64_t)1 << me->comm->rank;
        CHECK(reading(me, step, file) == RSET_OK);
        CHECK(me->p.reads && me->took < never / 2);
        CHECK(me->p.bits == ((uint64_t)1 << me->comm->size) - 1);
        if (me->comm->rank == 0)
            atomic_store(&nonces[i], me->nonce);
        reach();
        await((i + 1) * me->comm->size);
        CHECK(me->nonce == atomic_load(&nonces[i])); /* the same answer on all */
    }
    learn_the_step(me);
}

static void
readers_in_orders_of_their_own_go_at_once(void **state)
{
    (void)state;
    for (int n = 2; n <= MAX_RANKS; n++)
        for (int how = 0; how < 6; how++)
            run(n, never, read_all_files, &how);
}

/* Having read apart changes nothing of what is written: files of two steps are not closed together (P2). */
static void
steps_stay_apart_when_they_are_written(rank *me)
{
    char path[64];

    learn_the_step(me);
    CHECK(reading(me, me->comm->rank, 0) == RSET_OK);
    snprintf(path, sizeof path, "s%d.%d.h5", me->comm->rank == 3 ? 4 : 5, me->comm->rank);
    if (me->comm->rank == 3) {
        CHECK(closing(me, path) == RSET_PEER && says(me, "rank 3 (node3) is closing s4.#.h5"));
        snprintf(path, sizeof path, "s5.3.h5");
    }
    CHECK(closing(me, path) == RSET_OK);
}

/* ---- not of that sort ---- */

/* One opens its file to change it: that is no reading in other orders. */
static void
a_writer_among_them_is_told(rank *me, int who)
{
    const bool odd = me->comm->rank == who;

    learn_the_step(me);
    if (odd)
        CHECK(writing(me, 1, me->comm->rank) == RSET_PEER && says(me, "not all ranks do the same"));
    CHECK(reading(me, 2, me->comm->rank) == RSET_OK && me->p.reads);
    CHECK(writing(me, 3, me->comm->rank) == RSET_OK && !me->p.reads);
}

static void
another_kind_is_told(rank *me)
{
    learn_the_step(me);
    me->p.evidence = true;
    if (me->comm->rank == 2)
        CHECK(meet_as(me, RSET_RENDEZVOUS_OPEN, "input_2.h5") == RSET_PEER && !me->known);
    CHECK(reading(me, 1, me->comm->rank) == RSET_OK);
}

/* As long as one is not here it may come to the same as the others. */
static void
fewer_wait(rank *me)
{
    learn_the_step(me);
    if (me->comm->rank == 3) {
        await(1);
        usleep(200000);
    } else {
        reach();
    }
    CHECK(reading(me, me->comm->rank % 3, 0) == RSET_OK);
}

/* ---- some read less ---- */

/* Rank 0 or the last one has read all it wants: the others read on, soon without waiting. */
static void
who_reads_more_does_not_wait_long(rank *me, int who)
{
    const bool done = me->comm->rank == who;

    learn_the_step(me);
    CHECK(reading(me, me->comm->rank, 0) == RSET_OK);
    for (int i = 1; i < FILES && !done; i++) {
        me->required = true;
        CHECK(reading(me, (me->comm->rank + i) % 4, 1) == RSET_PEER);
        CHECK(me->known && me->p.told && me->took < RSET_RENDEZVOUS_SHORT + slack);
    }
    reach();
    await(me->comm->size);
}

/* Whoever misses its file waits, and all that come meanwhile go with it. */
static void
who_misses_its_file_waits(rank *me, int who)
{
    const bool needs = me->comm->rank == who;

    learn_the_step(me);
    CHECK(reading(me, me->comm->rank, 0) == RSET_OK);
    if (!needs)
        usleep((useconds_t)((RSET_RENDEZVOUS_SHORT + 1) * 1e6));
    me->p.needs_all = needs;
    CHECK(reading(me, me->comm->rank, 1) == RSET_OK);
}

/* In MPI_Finalize: nobody waits for it at all. */
static void
one_that_leaves_is_not_waited_for(rank *me, int leaver)
{
    learn_the_step(me);
    CHECK(reading(me, me->comm->rank, 0) == RSET_OK);
    if (me->comm->rank != leaver) {
        me->p.needs_all = true;
        CHECK(reading(me, me->comm->rank, 1) == RSET_PEER && me->took < never / 2);
    }
}

/* What was found out of the files counts as well, until such files are written together again. */
static void
written_together_ends_it(rank *me)
{
    learn_the_step(me);
    CHECK(reading(me, 0, me->comm->rank) == RSET_OK);
    rset_rendezvous_read_apart(me->place, &me->p.kind);
    if (me->comm->rank != 3)
        CHECK(reading(me, 0, me->comm->rank) == RSET_PEER && me->known &&
              me->took < RSET_RENDEZVOUS_SHORT + slack);
    reach();
    await(me->comm->size);
    learn_the_step(me);
    if (me->comm->rank == 3)
        usleep((useconds_t)((RSET_RENDEZVOUS_SHORT + 1) * 1e6));
    CHECK(reading(me, 0, me->comm->rank) == RSET_OK);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_in_orders_of_their_own_go_at_once),
        SCENE(steps_stay_apart_when_they_are_written, 4, never),
        SCENE_FOR(a_writer_among_them_is_told, 4, never, 0, 4, 1),
        SCENE(another_kind_is_told, 4, never),
        SCENE(fewer_wait, 4, never),
        SCENE_FOR(who_reads_more_does_not_wait_long, 4, never, 0, 4, 3),
        SCENE_FOR(who_misses_its_file_waits, 4, never, 0, 4, 3),
        SCENE_FOR(one_that_leaves_is_not_waited_for, 4, never, 3, 4, 1),
        SCENE(written_together_ends_it, 4, never),
    };

    return cmocka_run_group_tests(tests, set_watchdog, NULL);
}
