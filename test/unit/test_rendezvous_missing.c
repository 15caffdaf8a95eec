/* test_rendezvous_missing.c: ranks that do not come, or are in MPI_Finalize (P5, T1, T9), and what those learn who
 * wait for them. Who comes late is in test_rendezvous_late.c. */
#include "rendezvous_ranks.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* ---- somebody does not come ---- */

static const double limit = 0.5;

/* Rank *arg does not come to a kind that was never met: all who wait hear who is missing, in time, wait less long the next
 * times, and no more after some. */
static void
one_missing(rank *me, void *arg)
{
    int    gone = *(int *)arg, times = 0;
    char   name[48];
    double took = 0;

    snprintf(name, sizeof name, "waiting for rank %d", gone);
    if (me->comm->rank != gone) {
        CHECK(closing(me, "once_1.h5") == RSET_PEER && !me->known);
        CHECK(says(me, name));
        for (; times < 20 && !me->known; times++) {
            CHECK(closing(me, "once_1.h5") == RSET_PEER);
            took += me->took;
        }
        CHECK(times > 3 && times < 20 && took < 4 * limit + (gone == 0 ? 3 : 0));
    }
    reach();
    await(me->comm->size);
    CHECK(closing(me, "other_1.h5") == RSET_OK); /* nothing else is the worse for it */
}

static void
test_missing(void **state)
{
    (void)state;
    for (int gone = 0; gone < 4; gone++)
        run(4, limit, one_missing, &gone);
}

/* One rank has files of several names: it waits for a whole timeout once only. Not with required=yes: those names may be of
 * all. */
static void
many_names(rank *me, void *arg)
{
    int who = *(int *)arg;

    if (me->comm->rank == who) {
        CHECK(closing(me, "log.h5") == RSET_PEER && me->took > 5.5);
        CHECK(closing(me, "dump.h5") == RSET_PEER && !me->known && me->took < 5.5);
        CHECK(closing(me, "trace.h5") == RSET_PEER && !me->known && me->took < 5.5);
    }
    reach();
    await(me->comm->size);
}

static void
test_many_names(void **state)
{
    (void)state;
    for (int who = 0; who < 2; who++)
        run(3, 6, many_names, &who);
}

/* Those who have come to open come once more, and hear at once, and all the same, that one of them cannot do without (P4). `arg`: how
 * much later than the others that is known. */
static void
one_needs_the_others(rank *me, void *arg)
{
    const double last = *(double *)arg;

    me->p = (rset_proposal){.evidence = true};
    if (me->comm->rank != 3) {
        CHECK(meet_as(me, RSET_RENDEZVOUS_OPEN, "a_1.h5") == RSET_PEER && me->p.came == 3);
        me->came = me->p.came;
        me->p.needs_all = me->comm->rank == 1;
        if (me->comm->rank == 1)
            usleep((useconds_t)(last * 1e6));
        CHECK(meet_as(me, RSET_RENDEZVOUS_OPEN, "a_1.h5") == RSET_PEER && me->p.required);
        CHECK(me->took < last + limit / 2 && me->p.came == 0);
        CHECK(says(me,
                   "rank 1 (node1) cannot have its file by itself; timed out waiting for rank 3"));
    }
    me->came = 0;
    me->p.needs_all = false;
    me->comm->timeout = never; /* all come: a busy machine may take its time */
    reach();
    await(me->comm->size);
    CHECK(meet_as(me, RSET_RENDEZVOUS_OPEN, "a_1.h5") == RSET_OK);
}

/* The one who was late comes to that as well, and so all have come. */
static void
late_comes_to_that(rank *me, void *arg)
{
    (void)arg;
    me->p = (rset_proposal){.evidence = true};
    if (me->comm->rank != 3) {
        CHECK(meet_as(me, RSET_RENDEZVOUS_OPEN, "a_1.h5") == RSET_PEER && me->p.came == 3);
        me->came = me->p.came;
    }
    me->comm->timeout = never;
    reach();
    if (me->comm->rank == 0)
        await(me->comm->size + 1);
    if (me->comm->rank == 3) {
        await(me->comm->size);
        reach();
    }
    CHECK(meet_as(me, RSET_RENDEZVOUS_OPEN, "a_1.h5") == RSET_OK);
}

static void
test_those_who_came_do_the_same(void **state)
{
    double last[] = {0, 0.2};

    (void)state;
    for (int i = 0; i < 2; i++)
        run(4, limit, one_needs_the_others, &last[i]);
    run(4, 3, late_comes_to_that, NULL);
}

/* Several at once; each is named. */
static void
two_missing(rank *me, void *arg)
{
    (void)arg;
    if (me->comm->rank % 2 == 0)
        CHECK(closing(me, "even.h5") == RSET_PEER &&
              (me->known || says(me, "waiting for rank 1, 3")));
    reach();
    await(me->comm->size); /* nobody is in MPI_Finalize before */
}

static void
test_two_missing(void **state)
{
    (void)state;
    run(4, limit, two_missing, NULL);
}

/* Rank 1 has timed out for rank 0, which had other things to do, and so had rank 2: that does not make rank 2 one that
 * was missed, and it has the whole timeout to come. */
static void
busy_elsewhere(rank *me, void *arg)
{
    (void)arg;
    CHECK(closing(me, "one.h5") == RSET_OK && closing(me, "two.h5") == RSET_OK);
    if (me->comm->rank == 1) {
        CHECK(closing(me, "one.h5") == RSET_PEER && closing(me, "one.h5") == RSET_PEER);
        reach();
    }
    await(1);
    if (me->comm->rank == 2)
        sleep(1);
    CHECK(closing(me, "two.h5") == RSET_OK);
}

static void
test_busy_elsewhere(void **state)
{
    (void)state;
    run(3, 6, busy_elsewhere, NULL);
}

static void
only_root(rank *me, void *arg)
{
    (void)arg;
    if (me->comm->rank == 0)
        CHECK(closing(me, "log.h5") == RSET_PEER && says(me, "waiting for rank 1, 2, 3"));
    reach();
    await(me->comm->size);
}

static void
test_only_root(void **state)
{
    (void)state;
    run(4, 1, only_root, NULL);
}

/* An error for all who wait, when one of them insists, or has insisted and does not come. */
static void
insisting_timed_out(rank *me, void *arg)
{
    me->required = me->comm->rank == 1;
    CHECK(closing(me, "ckpt_1.h5") == RSET_OK);
    if (me->comm->rank != *(int *)arg)
        CHECK(closing(me, "ckpt_2.h5") == RSET_PEER && me->p.required);
    reach();
    await(me->comm->size);
}

static void
test_required_timed_out(void **state)
{
    (void)state;
    for (int gone = 0; gone < 4; gone++)
        run(4, limit, insisting_timed_out, &gone);
}

/* The answer to a proposal that was given up is not taken for that to the next one. */
static void
old_answer(rank *me, void *arg)
{
    (void)arg;
    if (me->comm->rank == 1) {
        CHECK(closing(me, "given_up.h5") == RSET_PEER && says(me, "waiting for rank 0"));
        reach();
    } else {
        await(1);
        usleep((useconds_t)me->comm->rank * 200000 + 200000); /* rank 1 waits, rank 0 answers it */
    }
    CHECK(closing(me, "next.h5") == RSET_OK);
}

static void
test_old_answer(void **state)
{
    (void)state;
    run(3, 2, old_answer, NULL);
}

/* Who stops for good costs the timeout once, not at every file. */
static void
stopped(rank *me, void *arg)
{
    int    gone = *(int *)arg;
    double took = 0;

    CHECK(closing(me, "ckpt_1.h5") == RSET_OK);
    if (me->comm->rank != gone) {
        for (int i = 0; i < 4; i++) {
            CHECK(closing(me, "ckpt_2.h5") == RSET_PEER && !me->known);
            took += i > 0 ? me->took : 0;
        }
        /* 1/4 + 1/16 + 1/64 of the timeout, and without rank 0 a word of grace each */
        CHECK(took < me->comm->timeout + (gone == 0 ? 1.5 : 0));
        reach();
    } else {
        await(me->comm->size - 1);
    }
}

static void
test_stopped(void **state)
{
    (void)state;
    for (int gone = 0; gone < 3; gone++)
        run(3, 2, stopped, &gone);
}

/* ---- opened serially, or after a timeout ---- */

/* A protected file that one rank opened alone, until the timeout, is waited for again, so that all can open it later
 * and bring back what one has lost; a file that nobody protects is not. */
static void
opened_serially_before(rank *me, void *arg)
{
    bool protected_ = *(bool *)arg;

    me->p.evidence = protected_;
    if (me->comm->rank == 0)
        CHECK(meet_as(me, RSET_RENDEZVOUS_OPEN, "ckpt_0.h5") == RSET_PEER && !me->known);
    reach();
    await(me->comm->size);
    me->p.evidence = protected_ && me->comm->rank != 1; /* rank 1 has lost all */
    CHECK(meet_as(me, RSET_RENDEZVOUS_OPEN, "ckpt_1.h5") == (protected_ ? RSET_OK : RSET_PEER));
    CHECK(me->known == !protected_);
}

static void
test_opened_serially_before(void **state)
{
    bool protected_ = true;

    (void)state;
    run(4, limit, opened_serially_before, &protected_);
    protected_ = false;
    run(4, limit, opened_serially_before, &protected_);
}

/* Who times out learns whether that of another who did was protected. */
static void
unmet(rank *me, void *arg)
{
    const bool comes = me->comm->rank < 2;

    (void)arg;
    for (int times = 0; times < 2; times++) {
        me->p.evidence = true; /* begun, or protected */
        me->p.protected_ = me->comm->rank == 1;
        if (comes)
            CHECK(meet_as(me, RSET_RENDEZVOUS_OPEN, "ckpt_0.h5") == RSET_PEER && me->p.protected_);
        reach();
        await(me->comm->size * (times + 1));
    }
    if (!comes) { /* the others go on with theirs, and time out at last */
        CHECK(meet_as(me, RSET_RENDEZVOUS_OPEN, "other.h5") == RSET_PEER);
        return;
    }
    CHECK(meet_as(me, RSET_RENDEZVOUS_OPEN, "one_0.h5") == RSET_PEER);
}

static void
test_timed_out(void **state)
{
    (void)state;
    run(3, limit, unmet, NULL);
}

/* One rank looks for a file before anybody has protected one; then all protect theirs, and it loses its
 * own: it has nothing that says so but what it remembers. */
static void
opened_serially_at_first(rank *me, void *arg)
{
    (void)arg;
    if (me->comm->rank == 1)
        CHECK(meet_as(me, RSET_RENDEZVOUS_OPEN, "ckpt_1.h5") == RSET_PEER && !me->known);
    reach();
    await(me->comm->size);
    CHECK(closing(me, "ckpt_2.h5") == RSET_OK);
    me->p.evidence = me->comm->rank != 1;
    CHECK(meet_as(me, RSET_RENDEZVOUS_OPEN, "ckpt_2.h5") == RSET_OK);
}

static void
test_opened_serially_at_first(void **state)
{
    (void)state;
    run(4, limit, opened_serially_at_first, NULL);
}

/* ---- MPI_Finalize ---- */

/* Who waits for a rank in MPI_Finalize is told at once. */
static void
finalizing(rank *me, void *arg)
{
    int gone = *(int *)arg;

    if (me->comm->rank == gone)
        return;
    CHECK(closing(me, "last_1.h5") == RSET_PEER && me->took < never / 2);
    CHECK(me->known || says(me, gone == 0 ? "rank 0" : "(is in MPI_Finalize)"));
}

static void
test_finalizing(void **state)
{
    (void)state;
    for (int gone = 0; gone < 4; gone++)
        run(4, never, finalizing, &gone);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opened_serially_before),
        cmocka_unit_test(test_opened_serially_at_first),
        cmocka_unit_test(test_timed_out),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_those_who_came_do_the_same),
        cmocka_unit_test(test_many_names),
        cmocka_unit_test(test_two_missing),
        cmocka_unit_test(test_only_root),
        cmocka_unit_test(test_required_timed_out),
        cmocka_unit_test(test_busy_elsewhere),
        cmocka_unit_test(test_old_answer),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_finalizing),
    };

    signal(SIGALRM, watchdog);
    alarm(WATCHDOG);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
