/* test_rendezvous_late.c: ranks that come late, when the others have timed out for them (P4, P5, T9): what they close then
 * is not taken for what the others close, and in time all are together again. */
#include "rendezvous/rendezvous_internal.h"
#include "rendezvous_ranks.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static const double limit = 0.5;

/* One rank comes late to a close, of the same name each time: what it closes then is not taken for what the others close
 * (P2). It is told so at once, and in step again the next time. */
static void
late_once(rank *me, void *arg)
{
    int late = *(int *)arg, n = me->comm->size;

    CHECK(closing(me, "state.h5") == RSET_OK);
    if (me->comm->rank == late) {
        await(n - 1);
        CHECK(closing(me, "state.h5") == RSET_PEER && !me->known && me->took < limit);
        CHECK(says(me, "this rank is late: rank "));
    } else {
        CHECK(closing(me, "state.h5") == RSET_PEER && !me->known);
        CHECK(says(me, "timed out"));
        reach();
    }
    for (int i = 0; i < 5; i++)
        while (closing(me, "state.h5") != RSET_OK) /* waited for less now, never given up */
            CHECK(!me->known && i == 0);
    CHECK(label_of(me, "state.h5").step > 6);
}

/* The same for an open to change: those who could not open have done with that step, and nobody is with them who has not
 * (P2). Opening to read is no step. */
static rset_status
opening(rank *me, const char *path)
{
    rset_status st;

    me->p.step = true;
    st = meet_as(me, RSET_RENDEZVOUS_OPEN, path);
    me->p.step = false;
    if (st != RSET_OK)
        rset_rendezvous_skip(me->place, &me->p.kind);
    return st;
}

static void
late_to_open(rank *me, void *arg)
{
    int late = *(int *)arg, n = me->comm->size;

    me->p.evidence = true;
    CHECK(closing(me, "state.h5") == RSET_OK);
    if (me->comm->rank == late) {
        await(n - 1);
        CHECK(opening(me, "state.h5") == RSET_PEER);
        CHECK(says(me, "this rank is late: rank ") ||
              says(me, "not all ranks are at the same step"));
    } else {
        CHECK(opening(me, "state.h5") == RSET_PEER);
        reach();
    }
    for (int i = 0; i < 5; i++) {
        while (opening(me, "state.h5") != RSET_OK)
            CHECK(i == 0);
        CHECK(meet_as(me, RSET_RENDEZVOUS_OPEN, "state.h5") == RSET_OK);
        CHECK(closing(me, "state.h5") == RSET_OK);
    }
}

/* The same, and the names tell: then nobody has to count. */
static void
late_once_with_names(rank *me, void *arg)
{
    int late = *(int *)arg, n = me->comm->size;

    CHECK(closing(me, "ckpt_1.h5") == RSET_OK);
    if (me->comm->rank != late) {
        CHECK(closing(me, "ckpt_2.h5") == RSET_PEER && !me->known);
        reach();
    }
    await(n - 1);
    while (closing(me, "ckpt_3.h5") != RSET_OK)
        CHECK(!me->known);
    for (int i = 4; i < 8; i++) {
        char name[32];

        snprintf(name, sizeof name, "ckpt_%d.h5", i);
        CHECK(closing(me, name) == RSET_OK);
    }
}

/* One rank comes late to the very first close: the next ones are done together all the same. */
static void
late_at_first(rank *me, void *arg)
{
    int late = *(int *)arg, n = me->comm->size;

    if (me->comm->rank != late) {
        CHECK(closing(me, "state.h5") == RSET_PEER && !me->known);
        reach();
    }
    await(n - 1);
    while (closing(me, "state.h5") != RSET_OK)
        CHECK(!me->known);
    CHECK(closing(me, "state.h5") == RSET_OK);
}

/* One rank is late so often that nobody waits any more. When all have shown such files they are closed together again. */
static void
late_for_long(rank *me, void *arg)
{
    int late = *(int *)arg, n = me->comm->size;

    if (me->comm->rank != late) {
        for (int i = 0; i < 30 && !me->known; i++)
            CHECK(closing(me, "state.h5") == RSET_PEER);
        CHECK(me->known);
        reach();
    }
    await(n - 1);
    for (int i = 0; closing(me, "state.h5") != RSET_OK; i++) {
        CHECK(i < 200);
        usleep(10000); /* as long as word of it is under way */
    }
}

/* The others do something else meanwhile, and answer nobody. */
static void
late_while_others_are_elsewhere(rank *me, void *arg)
{
    const int late = *(int *)arg, n = me->comm->size;

    me->p.evidence = true;
    CHECK(closing(me, "state.h5") == RSET_OK);
    if (me->comm->rank != late)
        CHECK(closing(me, "state.h5") == RSET_PEER && says(me, "timed out"));
    reach();
    if (me->comm->rank == late) {
        await(n);
        CHECK(closing(me, "state.h5") == RSET_PEER && !me->known);
        CHECK(me->took < me->comm->timeout / 2 && says(me, "this rank is late: rank "));
        CHECK(!me->p.told || late == 0); /* the others have said that they waited for rank 0 */
        reach();
    }
    await(n + 1);
    CHECK(closing(me, "state.h5") == RSET_OK); /* nobody is missed for long */
    if (me->comm->rank != late) {
        CHECK(meet_as(me, RSET_RENDEZVOUS_OPEN, "state.h5") == RSET_PEER);
        me->came = me->p.came; /* those who came do the same (P4) */
        CHECK(me->came <= 1 || meet_as(me, RSET_RENDEZVOUS_OPEN, "state.h5") == RSET_PEER);
        me->came = 0;
    }
    reach();
    if (me->comm->rank == late) {
        await(2 * n + 1);
        CHECK(meet_as(me, RSET_RENDEZVOUS_OPEN, "state.h5") == RSET_PEER);
        CHECK(me->took < me->comm->timeout / 2 && says(me, "this rank is late: rank "));
        reach();
    }
    await(2 * n + 2);
    CHECK(meet_as(me, RSET_RENDEZVOUS_OPEN, "state.h5") == RSET_OK);
}

static void
test_late_while_others_are_elsewhere(void **state)
{
    (void)state;
    for (int late = 0; late < 3; late += 2)
        run(4, 3, late_while_others_are_elsewhere, &late);
}

/* Ranks from `first` to `last` wait, and go on without the others, which come later. */
typedef struct leavers {
    int        first, last;
    atomic_int told; /* how many of those that are late tell the user */
} leavers;

/* One of the ranks that are late tells the user, whichever comes first, and says that it is late (P6). */
static void
late_is_told_once(rank *me, void *arg)
{
    leavers  *l = arg;
    const int n = me->comm->size, r = me->comm->rank, left = l->last - l->first + 1;

    CHECK(closing(me, "state.h5") == RSET_OK);
    if (r >= l->first && r <= l->last) {
        CHECK(closing(me, "state.h5") == RSET_PEER && says(me, "timed out"));
        reach();
    } else {
        await(left);
        CHECK(closing(me, "state.h5") == RSET_PEER && says(me, "this rank is late: rank "));
        CHECK(me->took < me->comm->timeout / 2);
        if (!me->p.told)
            atomic_fetch_add(&l->told, 1);
        reach();
    }
    await(n);
    CHECK(closing(me, "state.h5") == RSET_OK);
    CHECK(atomic_load(&l->told) == 1);
}

static void
test_late_is_told_once(void **state)
{
    leavers all[] = {{2, 2, 0}, {3, 3, 0}, {1, 2, 0}, {0, 0, 0}, {0, 1, 0}, {0, 2, 0}, {1, 3, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        run(4, 2, late_is_told_once, &all[i]);
}

/* Who was late says so to the others as well: a rank that came between the two was late from the first one on (P5). */
static void
test_late_is_late_from_the_first_word_on(void **state)
{
    rset_known_kind k = {0};
    rset_note n = {.type = RSET_NOTE_LEFT, .op = RSET_RENDEZVOUS_CLOSE, .epoch = 2, .told = 1};
    const rset_note mine = {.type = RSET_NOTE_PROPOSE, .op = RSET_RENDEZVOUS_CLOSE, .epoch = 2};
    double          since;

    (void)state;
    rset_kind_note_absence(&k, 2, 2, &n);
    since = rset_clock();
    usleep(1000);
    rset_kind_note_absence(&k, 0, 0, &n);
    assert_non_null(rset_kind_sure_absence(&k, &mine, since));
    n.epoch = 3; /* a later step begins anew */
    rset_kind_note_absence(&k, 0, 0, &n);
    assert_true(rset_kind_absence(&k, &mine)->at > since);
}

/* Rank 3 was late to an open to read. Once all have opened one together, that is over: the next one waits for it again (P5). */
static void
late_to_read(rank *me, void *arg)
{
    const bool late = me->comm->rank == 3;

    (void)arg;
    CHECK(closing(me, "state.h5") == RSET_OK);
    if (late)
        await(3);
    CHECK(meet_as(me, RSET_RENDEZVOUS_OPEN, "state.h5") == RSET_PEER);
    reach();
    await(4);
    while (meet_as(me, RSET_RENDEZVOUS_OPEN, "state.h5") != RSET_OK)
        continue;
    reach();
    await(8);
    if (late)
        usleep(1200 * 1000);
    CHECK(meet_as(me, RSET_RENDEZVOUS_OPEN, "state.h5") == RSET_OK);
}

static void
test_late_to_read(void **state)
{
    (void)state;
    run(4, 3, late_to_read, NULL);
}

/* Ranks come in turn, so many at a time, in this order: the first ones wait, and nobody else. */
typedef struct turns {
    int  ranks, at_once;
    bool backwards;
} turns;

enum { STEPS = 3 };

static void
in_turn(rank *me, void *arg)
{
    const turns *t = arg;
    const int    n = me->comm->size, r = me->comm->rank;
    const int    place = t->backwards ? n - 1 - r : r, before = place - place % t->at_once;
    double       took = 0;
    bool         told = false;

    for (int step = 0; step < STEPS; step++) {
        await(step * n + before);
        CHECK(closing(me, "state.h5") == RSET_PEER);
        told = told || me->known || strstr(me->err.text, "this rank is late") != NULL;
        took += me->took;
        reach();
    }
    CHECK(before == 0 || took < me->comm->timeout / 2);
    CHECK(before == 0 || told); /* where the one that it hears through is later, it gives up once */
    await(STEPS * n);
}

static void
test_in_turn(void **state)
{
    turns all[] = {{5, 1, false}, {5, 1, true}, {8, 3, false}, {8, 3, true}};

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        run(all[i].ranks, 3, in_turn, &all[i]);
}

static void
test_late_once(void **state)
{
    (void)state;
    for (int late = 0; late < 4; late++) {
        run(4, limit, late_once, &late);
        run(4, limit, late_once_with_names, &late);
        run(4, limit, late_to_open, &late);
    }
}

static void
test_late_at_first(void **state)
{
    (void)state;
    for (int late = 0; late < 4; late++) {
        run(4, limit, late_at_first, &late);
        run(4, 0.2, late_for_long, &late);
    }
}

/* A sign of life, and the whole timeout is waited again: rank *arg is late, then it is not, then it
 * takes half the timeout. */
static void
patience(rank *me, void *arg)
{
    bool late = me->comm->rank == *(int *)arg;
    int  n = me->comm->size;

    CHECK(closing(me, "ckpt_1.h5") == RSET_OK);
    if (!late) {
        CHECK(closing(me, "ckpt_2.h5") == RSET_PEER);
        reach();
    }
    await(n - 1);
    while (closing(me, "ckpt_3.h5") != RSET_OK && !me->known)
        continue;
    if (late)
        usleep((useconds_t)(me->comm->timeout / 2 * 1e6));
    CHECK(closing(me, "ckpt_4.h5") == RSET_OK);
}

static void
test_patience_comes_back(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++)
        run(2, 2, patience, &late);
}

/* Rank 0 comes when the others have waited for some time, and rank 2 never: the others hear that in
 * time, from rank 0, and rightly. */
static void
root_comes_late(rank *me, void *arg)
{
    (void)arg;
    if (me->comm->rank == 0)
        usleep(2100 * 1000);
    if (me->comm->rank != 2)
        CHECK(closing(me, "ckpt_1.h5") == RSET_PEER && says(me, "waiting for rank 2"));
    reach();
    await(me->comm->size); /* nobody is in MPI_Finalize before */
}

static void
test_root_comes_late(void **state)
{
    (void)state;
    run(4, 3.0, root_comes_late, NULL); /* also under sanitizers, on a busy machine */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late_once),
        cmocka_unit_test(test_late_while_others_are_elsewhere),
        cmocka_unit_test(test_late_is_told_once),
        cmocka_unit_test(test_late_is_late_from_the_first_word_on),
        cmocka_unit_test(test_late_to_read),
        cmocka_unit_test(test_in_turn),
        cmocka_unit_test(test_late_at_first),
        cmocka_unit_test(test_patience_comes_back),
        cmocka_unit_test(test_root_comes_late),
    };

    signal(SIGALRM, watchdog);
    alarm(WATCHDOG);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
