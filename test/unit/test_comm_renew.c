/* test_comm_renew.c: a communicator that was revoked because a rank stood still is used again once all ranks are here (C2). */
#include "comm_ranks.h"

#include <string.h>
#include <unistd.h>

static const double limit = 0.2;
enum { RANKS = 5, LOOKS = 1000 };

static atomic_int arrived;

/* All ranks have come here so often. */
static void
together(rset_comm *comm, int times)
{
    atomic_fetch_add(&arrived, 1);
    while (atomic_load(&arrived) < times * comm->size)
        usleep(1000);
}

/* As at one commit after the other. */
static bool
is_renewed(rset_comm *comm, double patience)
{
    bool renewed = false;

    for (int i = 0; i < LOOKS && !renewed; i++) {
        (void)rset_comm_renew(comm, patience, &renewed, NULL);
        usleep(1000);
    }
    return renewed && rset_comm_usable(comm, NULL) == RSET_OK;
}

static void
works(rset_comm *comm)
{
    int      all[RANKS] = {0};
    rset_err err = RSET_ERR_NONE;
    bool     renewed = true;

    for (int i = 0; i < 3; i++) {
        CHECK(rset_gather_fixed(comm, RSET_OK, "",
                                &(rset_share){.bytes = &comm->rank, .len = sizeof comm->rank}, all,
                                &err) == RSET_OK);
        for (int r = 0; r < comm->size; r++)
            CHECK(all[r] == r);
        CHECK(rset_comm_renew(comm, limit, &renewed, &err) == RSET_OK && !renewed);
    }
    CHECK(err.status == RSET_OK);
}

/* Nobody takes it. */
static void
leave_a_message(rset_comm *comm)
{
    static const char word[] = "old";
    rset_message      out = {.peer = (comm->rank + 1) % comm->size,
                             .tag = RSET_TAG_RENDEZVOUS,
                             .data = word,
                             .len = sizeof word};
    rset_req          req = {0};
    bool              done = false;

    CHECK(rset_comm_isend(comm, &out, &req, NULL) == RSET_OK);
    CHECK(rset_comm_test(comm, &req, &done, NULL) == RSET_OK && done);
}

static bool
finds_a_message(rset_comm *comm)
{
    char         word[8];
    rset_message in = {.tag = RSET_TAG_RENDEZVOUS, .room = word, .len = sizeof word};
    bool         found = false;

    CHECK(rset_comm_poll(comm, &in, &found, NULL) == RSET_OK);
    return found;
}

/* One stands still in a collective, again and again. It may find all that it waits for, and not know that the others have given up. */
static void
stall_body(rset_comm *comm, void *arg)
{
    const int *who = arg;
    rset_err   err = RSET_ERR_NONE;

    for (int round = 0; round < 2; round++) {
        leave_a_message(comm);
        if (comm->rank == *who)
            usleep((useconds_t)(1e6 * (limit + 1)));
        err = RSET_ERR_NONE;
        CHECK(agree(comm, RSET_OK, &err) == RSET_PEER || comm->rank == *who);
        CHECK(is_renewed(comm, 0.05));
        CHECK(!finds_a_message(comm));
        works(comm);
    }
}

static void
test_a_rank_stands_still(void **state)
{
    (void)state;
    for (int who = 0; who < RANKS; who += 2)
        run(RANKS, limit, stall_body, &who);
}

/* Ranks of even numbers and of odd ones are two communicators: in one of them ranks lose each other, and the other one hears nothing of
 * that, nor of what was under way before. */
static void
divided_body(rset_comm *whole, void *arg)
{
    int        ranks[RANKS], n = 0;
    rset_comm  own = {0}, *comm = &own;
    const bool odd = whole->rank % 2 != 0;

    (void)arg;
    leave_a_message(whole);
    for (int r = odd; r < whole->size; r += 2)
        ranks[n++] = r;
    (void)rset_comm_divide(whole, ranks, n, comm, NULL);
    CHECK(comm->size == n && rset_comm_world(comm, comm->rank) == whole->rank);
    works(comm);
    CHECK(!finds_a_message(comm));
    if (odd) {
        works(comm);
    } else {
        if (comm->rank == 1)
            usleep((useconds_t)(1e6 * (limit + 1)));
        CHECK(agree(comm, RSET_OK, NULL) == RSET_PEER || comm->rank == 1);
        CHECK(is_renewed(comm, 0.05));
        works(comm);
    }
    together(whole, 1);
    CHECK(!whole->dead && rset_comm_usable(comm, NULL) == RSET_OK);
    rset_comm_free(comm);
}

static void
test_divided(void **state)
{
    (void)state;
    atomic_store(&arrived, 0);
    run(RANKS, limit, divided_body, NULL);
}

/* Only rank `who` does not know that it was revoked. */
static void
unaware_body(rset_comm *comm, void *arg)
{
    const int *who = arg;

    if (comm->rank != *who)
        (void)rset_comm_revoke(comm, NULL, "for a reason");
    together(comm, 1);
    CHECK(is_renewed(comm, 0));
    works(comm);
}

static void
test_a_rank_hears_of_it(void **state)
{
    (void)state;
    for (int who = 0; who < RANKS; who++) {
        atomic_store(&arrived, 0);
        run(RANKS, limit, unaware_body, &who);
    }
}

/* It never comes again: the others wait less and less, then not at all, and never go on without it. */
static void
dead_body(rset_comm *comm, void *arg)
{
    const int *who = arg;
    bool       renewed = false;
    rset_err   err = RSET_ERR_NONE;

    if (comm->rank != *who) {
        (void)rset_comm_revoke(comm, NULL, "for a reason");
        for (int i = 0; i < 20; i++) {
            err = RSET_ERR_NONE;
            CHECK(rset_comm_renew(comm, 0.1, &renewed, &err) == RSET_PEER && !renewed);
            CHECK(strstr(err.text, "for a reason") != NULL);
        }
        CHECK(comm->renewal.tries < 10);
    }
    together(comm, 1);
}

static void
test_a_rank_is_dead(void **state)
{
    (void)state;
    for (int who = 0; who < RANKS; who += 2) {
        atomic_store(&arrived, 0);
        run(RANKS, limit, dead_body, &who);
    }
}

/* A subset is dead with it, and alive again when it is reset. */
static void
subset_body(rset_comm *comm, void *arg)
{
    const int all[] = {4, 3, 2, 1, 0};
    rset_comm set = {0};

    (void)arg;
    CHECK(rset_comm_subset(comm, all, RANKS, &set, NULL) == RSET_OK);
    CHECK(agree(&set, RSET_OK, NULL) == RSET_OK);
    together(comm, 1);
    (void)rset_comm_revoke(&set, NULL, "for a reason");
    together(comm, 2);
    CHECK(is_renewed(comm, 0) && rset_comm_usable(&set, NULL) == RSET_PEER);
    rset_comm_reset(&set);
    CHECK(agree(&set, RSET_OK, NULL) == RSET_OK);
    works(comm);
    rset_comm_free(&set);
}

static void
test_subset(void **state)
{
    (void)state;
    atomic_store(&arrived, 0);
    run(RANKS, 20, subset_body, NULL);
}

/* A transport has no more tags than it has. */
static void
tags_body(rset_comm *comm, void *arg)
{
    bool renewed = false;

    (void)arg;
    comm->most_tag = 2 * RSET_TAGS; /* once */
    (void)rset_comm_revoke(comm, NULL, "for a reason");
    together(comm, 1);
    CHECK(is_renewed(comm, 0));
    works(comm);
    together(comm, 2);
    (void)rset_comm_revoke(comm, NULL, "for another reason");
    together(comm, 3);
    for (int i = 0; i < 20; i++)
        CHECK(rset_comm_renew(comm, 0.01, &renewed, NULL) == RSET_PEER && !renewed);
}

static void
test_tags(void **state)
{
    (void)state;
    atomic_store(&arrived, 0);
    run(RANKS, 20, tags_body, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_rank_stands_still),
        cmocka_unit_test(test_divided),
        cmocka_unit_test(test_a_rank_hears_of_it),
        cmocka_unit_test(test_a_rank_is_dead),
        cmocka_unit_test(test_subset),
        cmocka_unit_test(test_tags),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
