/* test_comm_peers.c: ranks that do not come to a collective, come to another one, or send what they should not: deadlines
 * (P5), hostile messages (P7). */
#include "comm_ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- deadlines ---- */

static double limit;

/* A rank that gets no processor for as long as others wait is missing for them: on a busy machine all is tried again with more time. */
static void
run_in_time(int size, void (*body)(rset_comm *comm, void *arg), void *arg)
{
    rset_err err = RSET_ERR_NONE;

    for (limit = 0.4; limit < 20; limit *= 5) {
        atomic_store(&failures, 0);
        assert_int_equal(rset_local_run(size, limit, body, arg, &err), RSET_OK);
        if (atomic_load(&failures) == 0)
            return;
    }
    fail_msg("%d checks have failed, with any time limit", (int)atomic_load(&failures));
}

typedef enum { BY_AGREE, BY_GATHER, BY_LARGE_GATHER, BY_REDUCE, BY_ROUTE, BY_LARGE_ROUTE } way;

typedef struct {
    int  missing;
    way  how;
    bool late; /* one rank comes when the others have waited for a while already */
} absence;

static void
ignore(void *into, const void *other)
{
    (void)into, (void)other;
}

static rset_status
meet(rset_comm *comm, way how, rset_err *err)
{
    static const uint8_t block[50000];
    uint64_t             value = 0;
    const rset_reduction what = {&value, sizeof value, ignore};
    rset_gathered        all = {0};
    rset_status          st;

    if (how == BY_AGREE)
        return agree(comm, RSET_OK, err);
    if (how == BY_REDUCE)
        return rset_reduce(comm, RSET_OK, "", &what, err);
    if (how == BY_ROUTE || how == BY_LARGE_ROUTE) {
        rset_records list = {.size = 64};

        for (int i = how == BY_ROUTE ? 299 : 0; i < 300; i++) /* one packet, or many */
            rset_records_add(&list, (comm->rank + 3) % comm->size, block);
        st = rset_route(comm, RSET_OK, "", &list, err);
        rset_records_free(&list);
        return st;
    }
    st = rset_gather_all(comm, RSET_OK, "",
                         &(rset_share){block, how == BY_GATHER ? 8 : sizeof block, 1 << 22}, &all,
                         err);
    rset_gathered_free(&all);
    return st;
}

/* P5: everybody leaves within the limit + 1 s, names the missing rank, and does not wait again. */
static void
missing_body(rset_comm *comm, void *arg)
{
    const absence *absent = arg;
    rset_err       err = RSET_ERR_NONE, again = RSET_ERR_NONE;
    char           name[32];
    double         start;

    if (comm->rank == absent->missing)
        return;
    if (absent->late && comm->rank == (absent->missing + 1) % comm->size)
        usleep(100000);
    start = rset_clock();
    CHECK(meet(comm, absent->how, &err) == RSET_PEER);
    CHECK(rset_clock() - start < limit + 1.0);
    snprintf(name, sizeof name, "rank %d to ", absent->missing);
    CHECK(err.status == RSET_PEER && comm->dead);
    if (strstr(err.text, name) ==
        NULL) { /* its subtree is named then, as "rank 4 (which also ..." */
        snprintf(name, sizeof name, "rank %d (", absent->missing);
        CHECK(strstr(err.text, name) != NULL);
        if (strstr(err.text, name) == NULL)
            fprintf(stderr, "    missing %d, way %d: %s\n", absent->missing, (int)absent->how,
                    err.text);
    }
    if (absent->missing == 6 && comm->rank == 4 &&
        absent->how < BY_ROUTE) /* a ring has no subtrees */
        CHECK(strstr(err.text, "rank 6 (which also answers for rank 7)") != NULL);
    start = rset_clock();
    CHECK(meet(comm, absent->how, &again) == RSET_PEER);
    CHECK(strstr(again.text, "rank") != NULL && rset_comm_usable(comm, NULL) == RSET_PEER);
    CHECK(rset_clock() - start < 0.1);
}

static void
P5_missing_rank_is_named_by_all_in_time(void **state)
{
    static const way ways[] = {BY_AGREE,  BY_GATHER, BY_LARGE_GATHER,
                               BY_REDUCE, BY_ROUTE,  BY_LARGE_ROUTE};

    (void)state;
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++)
        for (int missing = 0; missing < 8; missing += w == 0 ? 1 : 2) {
            absence absent = {missing, ways[w], w == 0 && missing % 2 == 0};

            run_in_time(8, missing_body, &absent);
        }
}

/* This rank's outcome is not lost when the agreement fails. */
static void
missing_and_failed_body(rset_comm *comm, void *arg)
{
    rset_err err = RSET_ERR_NONE;

    (void)arg;
    if (comm->rank == 1)
        return;
    (void)rset_fail(&err, RSET_IO, "disk %d is full", comm->rank);
    CHECK(agree(comm, RSET_IO, &err) == RSET_PEER);
    CHECK(strstr(err.text, "rank 1 ") != NULL && err.rank == comm->rank);
    CHECK(strstr(err.text, comm->rank == 0 ? "disk 0 is full" : "disk 2 is full") != NULL);
    CHECK(agree(comm, RSET_PEER, &err) == RSET_PEER); /* said before: not said twice */
    CHECK(strstr(strstr(err.text, "rank 1 ") + 1, "rank 1 ") == NULL);
}

static void
P4_own_failure_is_told_with_the_missing_rank(void **state)
{
    (void)state;
    run_in_time(3, missing_and_failed_body, NULL);
}

static void
slow_body(rset_comm *comm, void *arg)
{
    rset_err err = RSET_ERR_NONE;

    (void)arg;
    for (int slow = 0; slow < 3; slow++) {
        if (comm->rank == slow)
            usleep((useconds_t)(limit * 0.7e6));
        CHECK(agree(comm, RSET_OK, &err) == RSET_OK);
    }
}

static void
P5_slow_rank_is_not_missing(void **state)
{
    (void)state;
    run_in_time(5, slow_body, NULL);
}

/* One that gives up on its own account: the others hear of it at once, though the limit is far away. */
static void
give_up_body(rset_comm *comm, void *arg)
{
    const bool by_subset = *(const bool *)arg;
    int        all[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    rset_comm  set;
    rset_err   err = RSET_ERR_NONE;
    double     start = rset_clock();

    CHECK(rset_comm_subset(comm, all, comm->size, &set, &err) == RSET_OK);
    if (comm->rank == 5) {
        CHECK(rset_comm_revoke(by_subset ? &set : comm, &err, "the dog of rank %d ate it", 5) ==
              RSET_PEER);
        CHECK(comm->dead && (!by_subset || set.dead));
        (void)rset_comm_revoke(comm, NULL, "later");
        CHECK(strstr(comm->why, "dog") != NULL);
        CHECK(rset_comm_usable(&set, NULL) == RSET_PEER);
    } else {
        CHECK(agree(comm, RSET_OK, &err) == RSET_PEER && comm->dead);
    }
    CHECK(strstr(err.text, "dog of rank 5") != NULL);
    CHECK(rset_clock() - start < 1.0);
    rset_comm_free(&set);
}

static void
P5_giving_up_spreads_at_once(void **state)
{
    bool by_subset = false;

    (void)state;
    run(8, 60, give_up_body, &by_subset);
    by_subset = true;
    run(8, 60, give_up_body, &by_subset);
}

static void
mismatch_body(rset_comm *comm, void *arg)
{
    rset_err err = RSET_ERR_NONE;
    uint8_t  byte = 0;
    double   start = rset_clock();

    (void)arg;
    if (comm->rank == 3)
        CHECK(rset_gather_fixed(comm, RSET_OK, "", &(rset_share){.bytes = &byte, .len = 1}, &byte,
                                &err) == RSET_PEER);
    else
        CHECK(agree(comm, RSET_OK, &err) == RSET_PEER);
    CHECK(rset_clock() - start < 1.0 && comm->dead);
    CHECK(strstr(err.text, "gathering") != NULL && strstr(err.text, "agreeing") != NULL);
}

static void
P5_mixed_up_calls_are_found_out_at_once(void **state)
{
    (void)state;
    run(4, 60, mismatch_body, NULL);
}

static void
unequal_body(rset_comm *comm, void *arg)
{
    uint8_t  mine[100] = {0}, all[400];
    rset_err err = RSET_ERR_NONE;
    double   start = rset_clock();
    bool     gather = *(const bool *)arg;

    if (gather) {
        CHECK(rset_gather_fixed(comm, RSET_OK, "",
                                &(rset_share){.bytes = mine, .len = comm->rank == 2 ? 50 : 100},
                                all, &err) == RSET_PEER);
    } else {
        const rset_reduction what = {mine, comm->rank == 2 ? 50 : 100, ignore};

        CHECK(rset_reduce(comm, RSET_OK, "", &what, &err) == RSET_PEER);
    }
    CHECK(rset_clock() - start < 1.0);
}

static void
P5_unequal_lengths_are_found_out(void **state)
{
    bool gather = true;

    (void)state;
    run(4, 60, unequal_body, &gather);
    gather = false;
    run(4, 60, unequal_body, &gather);
}

/* ---- hostile messages ---- */

static void
garbage_body(rset_comm *comm, void *arg)
{
    const size_t  len = *(const size_t *)arg;
    uint8_t       junk[3000];
    rset_gathered all = {0};
    rset_req      req = {0};
    rset_err      err = RSET_ERR_NONE;
    double        start = rset_clock();

    memset(junk, 0xee, sizeof junk);
    if (comm->rank == 1) {
        CHECK(rset_comm_isend(comm, &(rset_message){0, RSET_TAG_COLL, {junk}, len}, &req, &err) ==
              RSET_OK);
        CHECK(rset_comm_wait(comm, &req, 0, "read", &err) == RSET_OK);
        return;
    }
    CHECK(rset_gather_all(comm, RSET_OK, "", &(rset_share){junk, 10, 1000}, &all, &err) ==
          RSET_PEER);
    CHECK(all.bytes == NULL && all.offs == NULL && comm->dead &&
          strstr(err.text, "rank 1") != NULL);
    CHECK(rset_clock() - start < 1.0);
}

static void
P7_garbage_from_a_peer_is_refused(void **state)
{
    static size_t lengths[] = {0, 1, 23, 24, 100, 1124, 1125, 3000};

    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        run(2, 20, garbage_body, &lengths[i]);
}

/* Headers like ours (comm_internal.h) with one lie each. */
typedef struct {
    uint32_t magic, kind, call;
    int32_t  status;
    uint64_t len;
    uint8_t  data[sizeof(rset_err)];
    bool     cut; /* only the header is sent */
} forged;

static void
forged_body(rset_comm *comm, void *arg)
{
    const forged *lie = arg;
    uint8_t       byte = 7;
    rset_gathered all = {0};
    rset_req      req = {0};
    rset_err      err = RSET_ERR_NONE;
    double        start = rset_clock();

    if (comm->rank == 1) {
        const uint64_t inside = 1492;
        const size_t   len = lie->len <= sizeof lie->data && !lie->cut ? (size_t)lie->len : 0;

        CHECK(rset_comm_isend(
                  comm, &(rset_message){0, RSET_TAG_COLL, {lie}, offsetof(forged, data) + len},
                  &req, &err) == RSET_OK);
        if (lie->len > sizeof lie->data) /* a body of its own, too short */
            CHECK(rset_comm_isend(comm, &(rset_message){0, RSET_TAG_COLL, {&inside}, sizeof inside},
                                  &req, &err) == RSET_OK);
        return;
    }
    CHECK(rset_gather_all(comm, RSET_OK, "", &(rset_share){&byte, 1, 2000}, &all, &err) != RSET_OK);
    CHECK(err.status > RSET_OK && err.status <= RSET_BUG && all.bytes == NULL);
    CHECK(rset_clock() - start < 1.0);
    CHECK(memchr(err.text, '\0', sizeof err.text) != NULL);
}

static void
P7_forged_lengths_and_statuses_are_refused(void **state)
{
    enum { COUNT = 14 };
    static forged lies[COUNT];
    const forged  good = {.magic = 0x54455352, .kind = 2, .call = 1, .len = 9, .data = {1}};

    (void)state;
    for (int i = 0; i < COUNT; i++)
        lies[i] = good;
    lies[0].len = UINT64_MAX;      /* longer than memory */
    lies[1].len = 5000;            /* longer than max */
    lies[2].len = 3;               /* too short for a length */
    lies[3].data[0] = 200;         /* record longer than the message */
    memset(lies[4].data, 0xff, 8); /* record longer than memory */
    lies[5].len = 64;              /* bytes left over */
    lies[6].status = 77;           /* no such status, and no message */
    lies[7].status = -1;
    lies[8].kind = 4; /* no such kind */
    lies[9].kind = 0; /* gives up, with text that does not end */
    lies[9].len = sizeof lies[9].data;
    memset(lies[9].data, 'x', sizeof lies[9].data);
    lies[10].call = 2;
    lies[11].magic = 0x52534554;
    lies[12].len = 1500;
    lies[13].len = 8;
    lies[13].cut = true;
    for (int i = 0; i < COUNT; i++)
        run(2, 20, forged_body, &lies[i]);
}

/* The root answers with a value of another size. */
static void
forged_root_body(rset_comm *comm, void *arg)
{
    static const forged  answer = {.magic = 0x54455352, .kind = 3, .call = 1, .len = 50};
    uint8_t              mine[100] = {0};
    const rset_reduction what = {mine, sizeof mine, ignore};
    rset_req             req = {0};
    rset_err             err = RSET_ERR_NONE;

    (void)arg;
    if (comm->rank == 0)
        CHECK(rset_comm_isend(
                  comm, &(rset_message){1, RSET_TAG_COLL, {&answer}, offsetof(forged, data) + 50},
                  &req, &err) == RSET_OK);
    else
        CHECK(rset_reduce(comm, RSET_OK, "", &what, &err) == RSET_PEER &&
              strstr(err.text, "rank 0 gave 50 bytes instead of 100") != NULL);
}

static void
P7_root_with_another_size_is_refused(void **state)
{
    (void)state;
    run(2, 20, forged_root_body, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(P5_missing_rank_is_named_by_all_in_time),
        cmocka_unit_test(P4_own_failure_is_told_with_the_missing_rank),
        cmocka_unit_test(P5_slow_rank_is_not_missing),
        cmocka_unit_test(P5_giving_up_spreads_at_once),
        cmocka_unit_test(P5_mixed_up_calls_are_found_out_at_once),
        cmocka_unit_test(P5_unequal_lengths_are_found_out),
        cmocka_unit_test(P7_garbage_from_a_peer_is_refused),
        cmocka_unit_test(P7_forged_lengths_and_statuses_are_refused),
        cmocka_unit_test(P7_root_with_another_size_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
