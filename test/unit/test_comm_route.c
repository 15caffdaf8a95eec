/* test_comm_route.c: rset_route: every record comes to the rank that it is for, once, in few messages; and what is
 * not right is found out by all. */
#include "comm_ranks.h"

#include <stdlib.h>
#include <string.h>

enum { DEADLINE = 30 };

typedef struct {
    int32_t from, to, number;
} parcel;

/* How many records rank `from` has for rank `to`: none for most, one for some, many for a few. */
static int
how_many(int from, int to, int seed)
{
    uint32_t h = (uint32_t)(from * 7919 + to * 104729 + seed * 31337);

    h ^= h >> 13;
    h *= 0x5bd1e995;
    h ^= h >> 15;
    return h % 16 == 0 ? 40 : h % 3 == 0 ? 1 : 0;
}

static void
all_arrive_body(rset_comm *comm, void *arg)
{
    const int    seed = *(const int *)arg;
    rset_records list = {.size = sizeof(parcel)};
    rset_err     err = RSET_ERR_NONE;
    parcel       p;
    size_t       i = 0;

    for (int to = comm->size - 1; to >= 0; to--)
        for (int k = how_many(comm->rank, to, seed) - 1; k >= 0; k--)
            rset_records_add(&list, to, &(parcel){comm->rank, to, k});
    CHECK(rset_route(comm, RSET_OK, "", &list, &err) == RSET_OK);
    for (int from = 0; from < comm->size; from++)
        for (int k = 0; k < how_many(from, comm->rank, seed); k++, i++) {
            CHECK(i < list.n && rset_records_get(&list, i, &p) == from);
            CHECK(i < list.n && p.from == from && p.to == comm->rank && p.number == k);
        }
    CHECK(i == list.n);
    rset_records_free(&list);
    CHECK(list.n == 0 && list.size == sizeof(parcel));
}

static void
C3_every_record_arrives_once_in_order(void **state)
{
    (void)state;
    for (int n = 1; n <= 33; n++)
        run(n, DEADLINE, all_arrive_body, &n);
    run(200, DEADLINE, all_arrive_body, &(int){200});
}

/* What few ranks have to say costs the others a packet for each step. */
static void
few_body(rset_comm *comm, void *arg)
{
    rset_records list = {.size = sizeof(parcel)};
    rset_err     err = RSET_ERR_NONE;
    parcel       p = {comm->rank, 17, 0};

    (void)arg;
    if (comm->rank == 900)
        rset_records_add(&list, 17, &p);
    CHECK(rset_route(comm, RSET_OK, "", &list, &err) == RSET_OK);
    CHECK(list.n == (comm->rank == 17));
    CHECK(list.n == 0 || (rset_records_get(&list, 0, &p) == 900 && p.from == 900));
    CHECK(comm->received_messages <= 10 + 2 * 11 && comm->received_bytes <= 32 * 64);
    rset_records_free(&list);
}

static void
what_few_say_is_cheap(void **state)
{
    (void)state;
    run(1024, DEADLINE, few_body, NULL);
}

/* One rank has failed, or one's list: all hear of it, and the list is empty. */
static void
failed_body(rset_comm *comm, void *arg)
{
    rset_records list = {.size = sizeof(parcel), .nomem = arg != NULL && comm->rank == 5};
    rset_err     err = RSET_ERR_NONE;
    rset_status  own =
        arg == NULL && comm->rank == 5 ? rset_fail(&err, RSET_IO, "bad disk") : RSET_OK;
    rset_status want = arg == NULL ? RSET_IO : RSET_NOMEM;
    char        host[32];

    host_of(comm->rank, host, sizeof host);
    for (int to = 0; to < comm->size; to++)
        rset_records_add(&list, to, &(parcel){comm->rank, to, 0});
    CHECK(rset_route(comm, own, host, &list, &err) == want);
    CHECK(err.status == want && err.rank == 5 && strcmp(err.host, "node5") == 0);
    CHECK(list.n == 0 && list.at == NULL);
    CHECK(agree(comm, RSET_OK, &err) == RSET_OK); /* nothing is out of step */
}

static void
C3_a_failed_rank_is_told_to_all(void **state)
{
    (void)state;
    run(9, DEADLINE, failed_body, NULL);
    run(9, DEADLINE, failed_body, (void *)"memory");
}

/* A record for a rank that there is none of, and records of another size. */
static void
hostile_body(rset_comm *comm, void *arg)
{
    const bool   size = arg != NULL;
    rset_records list = {.size = size && comm->rank == 2 ? 5 : sizeof(parcel)};
    rset_err     err = RSET_ERR_NONE;
    parcel       p = {0};

    rset_records_add(&list, comm->rank == 2 && !size ? 1000 : (comm->rank + 1) % comm->size, &p);
    if (rset_route(comm, RSET_OK, "", &list, &err) ==
        RSET_OK) /* it was over before that was seen */
        CHECK(agree(comm, RSET_OK, &err) == RSET_PEER);
    rset_records_free(&list);
    CHECK(strstr(err.text, size ? "bytes of records" : "for rank 1000") != NULL);
    if (strstr(err.text, size ? "bytes of records" : "for rank 1000") == NULL)
        fprintf(stderr, "    %s\n", err.text);
    CHECK(list.n == 0 && comm->dead);
}

static void
P7_what_makes_no_sense_is_found_out(void **state)
{
    (void)state;
    run(6, 5, hostile_body, NULL);
    run(6, 5, hostile_body, (void *)"size");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C3_every_record_arrives_once_in_order),
        cmocka_unit_test(what_few_say_is_cheap),
        cmocka_unit_test(C3_a_failed_rank_is_told_to_all),
        cmocka_unit_test(P7_what_makes_no_sense_is_found_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
