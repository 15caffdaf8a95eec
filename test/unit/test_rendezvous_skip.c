/* test_rendezvous_skip.c: ranks say that they have no files of a kind: the others go together without them, whenever it is said, and
 * whoever says it; files of other kinds are met about as before (Z6). */
#include "rendezvous_words.h"

#include <stdlib.h>
#include <unistd.h>

/* Which ranks skip, and when the others propose. */
typedef enum { BEFORE, DURING, AFTER_ONE, WHENS } when;
typedef struct plan {
    unsigned skips; /* bits */
    when     when;
} plan;

static rset_status
at_path(rank *me, rset_rendezvous_op op, const char *path)
{
    me->p.path = path;
    return meet_as(me, op, path);
}

static rset_status
lack(rank *me, const char *pattern)
{
    me->err = RSET_ERR_NONE;
    return rset_rendezvous_lack(me->place, pattern, &me->err);
}

static int
bits_in(unsigned bits)
{
    int n = 0;

    for (; bits != 0; bits &= bits - 1)
        n++;
    return n;
}

/* It was done by these ranks: they can agree on something. */
static void
check_among(rank *me, unsigned ranks)
{
    const int n = bits_in(ranks);
    int       seen = 0, next = 0;

    CHECK(me->p.among != NULL && me->p.among->size == n);
    if (me->p.among == NULL)
        return;
    for (int r = 0; r < me->comm->size; r++)
        if ((ranks >> r & 1) != 0) {
            CHECK(rset_comm_world(me->p.among, next) == rset_comm_world(me->comm, r));
            next++;
        }
    CHECK(me->p.bits == ranks);
    seen = rset_agree(me->p.among, RSET_OK, "node", &me->err) == RSET_OK;
    CHECK(seen);
}

static rset_status
close_among(rank *me, const char *kind, int step, unsigned ranks)
{
    rset_status st;

    me->p.bits = 1u << me->comm->rank;
    st = at_path(me, RSET_RENDEZVOUS_CLOSE, name_of(me, kind, step));
    CHECK(st == RSET_OK);
    if (st == RSET_OK)
        check_among(me, ranks);
    return st;
}

/* With those that skip one kind as well. */
static void
close_other_kind(rank *me, int step)
{
    me->p.bits = 1u << me->comm->rank;
    CHECK(at_path(me, RSET_RENDEZVOUS_CLOSE, name_of(me, "log", step)) == RSET_OK);
    CHECK(me->p.among == NULL && me->p.bits == (1u << me->comm->size) - 1);
}

static void
skipping(rank *me, void *arg)
{
    const plan    *p = arg;
    const unsigned left = ((1u << me->comm->size) - 1) & ~p->skips;
    const bool     skips = (p->skips >> me->comm->rank & 1) != 0;

    if (p->when == AFTER_ONE) { /* all have closed one together */
        me->p.bits = 0;
        CHECK(at_path(me, RSET_RENDEZVOUS_CLOSE, name_of(me, "ckpt", 0)) == RSET_OK);
        CHECK(me->p.among == NULL);
    }
    if (skips) {
        if (p->when == DURING) {
            await(bits_in(left));
            usleep(20000 * (useconds_t)(me->comm->rank + 1));
        }
        CHECK(lack(me, "ckpt_*.h5") == RSET_OK);
        if (p->when == BEFORE)
            reach();
    } else {
        if (p->when == BEFORE)
            await(bits_in(p->skips));
        else
            reach();
        for (int step = 1; step < 4; step++) {
            close_among(me, "ckpt", step, left);
            CHECK(label_of(me, name_of(me, "ckpt", step)).step ==
                  (uint64_t)step + (p->when == AFTER_ONE));
        }
    }
    close_other_kind(me, 1);
    if (!skips) {
        me->p.bits = 1u << me->comm->rank;
        CHECK(at_path(me, RSET_RENDEZVOUS_OPEN, name_of(me, "ckpt", 3)) == RSET_OK);
        check_among(me, left);
        close_among(me, "ckpt", 4, left);
    } else {
        CHECK(at_path(me, RSET_RENDEZVOUS_CLOSE, name_of(me, "ckpt", 4)) == RSET_PEER);
        CHECK(says(me, "has said with H5FDredset_skip that it has no such files"));
        CHECK(me->took < never / 2);
    }
    close_other_kind(me, 2);
}

static void
the_others_go_without_who_skips(void **state)
{
    static const unsigned who[] = {1u << 3, 1u << 0, 1u << 0 | 1u << 1, 1u << 2};

    (void)state;
    for (size_t i = 0; i < sizeof who / sizeof *who; i++)
        for (int w = 0; w < WHENS; w++) {
            plan p = {who[i], (when)w};

            for (int n = 4; n <= MAX_RANKS; n += 3)
                run(n, never, skipping, &p);
        }
}

/* Of two kinds each has another skipper, which takes part in the other one. */
static void
two_kinds(rank *me, void *arg)
{
    const unsigned all = (1u << me->comm->size) - 1;

    (void)arg;
    if (me->comm->rank == 0)
        CHECK(lack(me, "a_*") == RSET_OK);
    if (me->comm->rank == 2)
        CHECK(lack(me, "b_*") == RSET_OK);
    for (int step = 0; step < 3; step++) {
        if (me->comm->rank != 0)
            close_among(me, "a", step, all & ~1u);
        if (me->comm->rank != 2)
            close_among(me, "b", step, all & ~4u);
        close_other_kind(me, step);
    }
}

static void
who_skips_one_kind_takes_part_in_another(void **state)
{
    (void)state;
    run(4, never, two_kinds, NULL);
    run_as_team(4, never, two_kinds, NULL);
}

/* One after the other says so, each in a step of its own. */
static void
fewer_and_fewer(rank *me, void *arg)
{
    unsigned left = (1u << me->comm->size) - 1;

    (void)arg;
    CHECK(at_path(me, RSET_RENDEZVOUS_CLOSE, name_of(me, "ckpt", 9)) == RSET_OK);
    for (int gone = 0; gone + 1 < me->comm->size; gone++) {
        left &= ~(1u << gone);
        if (me->comm->rank == gone) {
            CHECK(lack(me, "*/ckpt_*") == RSET_OK);
            break;
        }
        close_among(me, "ckpt", 10 + gone, left);
    }
    close_other_kind(me, 1);
}

static void
down_to_one(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++)
        run(4, never, fewer_and_fewer, NULL);
}

/* Rank 0 has gone with the others, and skips at once; rank 3 hears that before GO, which rank 2 is slow to pass on. */
static void
go_that_is_on_its_way_counts(rank *me)
{
    if (me->comm->rank == 2) {
        const rset_note sum = hear(me, RSET_NOTE_TOGETHER); /* of rank 3 */
        rset_note       go;

        say(me, 0, &sum);
        go = hear(me, RSET_NOTE_GO);
        (void)hear(me, RSET_NOTE_LACK);
        usleep(200000); /* rank 3 has it, too */
        say(me, 3, &go);
    } else {
        CHECK(at_path(me, RSET_RENDEZVOUS_CLOSE, "/tmp/state.h5") == RSET_OK);
        CHECK(me->p.among == NULL);
    }
    if (me->comm->rank == 0)
        CHECK(lack(me, "state*") == RSET_OK);
    reach();
    await(4);
}

/* Nobody says anything, and one does not come. */
static void
one_does_not_come(rank *me)
{
    me->p.path = NULL;
    if (me->comm->rank != 2)
        CHECK(at_path(me, RSET_RENDEZVOUS_CLOSE, name_of(me, "ckpt", 0)) == RSET_PEER &&
              (me->comm->rank != 0 || says(me, "rank 2")));
    reach();
    await(me->comm->size);
}

/* Nor does one of those that remain: it is named by its own number. */
static void
one_of_the_rest_does_not_come(rank *me)
{
    if (me->comm->rank == 1)
        CHECK(lack(me, "ckpt_*") == RSET_OK);
    else if (me->comm->rank != 3)
        CHECK(at_path(me, RSET_RENDEZVOUS_CLOSE, name_of(me, "ckpt", 0)) == RSET_PEER &&
              (me->comm->rank != 0 || says(me, "for rank 3")));
    reach();
    await(me->comm->size);
    close_other_kind(me, 0);
}

/* In MPI_Finalize: it is not waited for. */
static void
who_leaves_is_not_waited_for(rank *me, int leaver)
{
    if (me->comm->rank == 1)
        CHECK(lack(me, "ckpt_*") == RSET_OK);
    else
        close_among(me, "ckpt", 0, 0xd);
    if (me->comm->rank != leaver && me->comm->rank != 1)
        CHECK(at_path(me, RSET_RENDEZVOUS_CLOSE, name_of(me, "ckpt", 1)) == RSET_PEER &&
              me->took < never / 2);
}

/* One of the rest cannot create its file, before any of them has come: the others do not wait for it. */
static void
who_fails_is_not_waited_for(rank *me)
{
    if (me->comm->rank == 1) {
        CHECK(lack(me, "ckpt_*") == RSET_OK);
        reach();
    }
    await(1);
    close_other_kind(me, 0); /* and now all have heard it */
    if (me->comm->rank == 2) {
        rset_kind   kind;
        const char *path = name_of(me, "ckpt", 0);

        rset_kind_of(path, &kind);
        rset_rendezvous_announce_failure(me->place, &kind, path);
    } else if (me->comm->rank != 1) {
        CHECK(at_path(me, RSET_RENDEZVOUS_CLOSE, name_of(me, "ckpt", 0)) == RSET_PEER);
        CHECK(says(me, "rank 2 (node2) could not create its file") && me->took < never / 2);
    }
    close_other_kind(me, 1);
}

/* The time that a rank has waited counts, wherever it has: Z1. */
static void
the_wait_does_not_begin_anew(rank *me)
{
    if (me->comm->rank == 0) {
        usleep(1500000);
        CHECK(lack(me, "ckpt_*") == RSET_OK);
    } else if (me->comm->rank != 3) {
        CHECK(at_path(me, RSET_RENDEZVOUS_CLOSE, name_of(me, "ckpt", 0)) == RSET_PEER);
    }
    reach();
    await(me->comm->size);
}

static void
patterns_that_match_nothing_change_nothing(rank *me)
{
    char long_one[1000];

    memset(long_one, 'a', sizeof long_one - 1);
    long_one[sizeof long_one - 1] = '\0';
    CHECK(lack(me, long_one) == RSET_USAGE && lack(me, "") == RSET_USAGE);
    CHECK(lack(me, "nothing_*") == RSET_OK && lack(me, "nothing_*") == RSET_OK);
    close_other_kind(me, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_others_go_without_who_skips),
        cmocka_unit_test(who_skips_one_kind_takes_part_in_another),
        cmocka_unit_test(down_to_one),
        SCENE(go_that_is_on_its_way_counts, 4, 8.0),
        SCENE(one_does_not_come, 4, 1.0),
        SCENE(one_of_the_rest_does_not_come, 4, 1.0),
        SCENE_FOR(who_leaves_is_not_waited_for, 4, never, 0, 4, 2),
        SCENE(who_fails_is_not_waited_for, 4, never),
        SCENE(the_wait_does_not_begin_anew, 4, 3.0),
        SCENE(patterns_that_match_nothing_change_nothing, 4, never),
    };

    return cmocka_run_group_tests(tests, set_watchdog, NULL);
}
