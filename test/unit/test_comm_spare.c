/* test_comm_spare.c: who has a processor to spare (rset_comm_find_spare): ranks that may run on the same processors are
 * counted together, those of another host or on other processors are not. */
#include "comm_ranks.h"

#include <sched.h>
#include <string.h>

enum { DEADLINE = 30 };

/* Where each rank is, and whether it is bound to one processor; and who has one to spare where there are `p`. */
static const struct {
    const char *host;
    bool        bound;
    int         needed; /* processors; 0: none would do */
} ranks[] = {
    {"a", false, 4}, {"a", false, 4}, /* two that share all */
    {"b", false, 2},                  /* one that has all */
    {"c", true, 0},                   /* one that has but one */
    {"d", false, 2}, {"d", true, 0},  /* two that are not counted together */
};
enum { RANKS = sizeof ranks / sizeof *ranks };

static void
bind_to_one(void)
{
    cpu_set_t mask, one;

    CPU_ZERO(&mask);
    CPU_ZERO(&one);
    (void)sched_getaffinity(0, sizeof mask, &mask);
    for (int c = 0; c < CPU_SETSIZE && CPU_COUNT(&one) == 0; c++)
        if (CPU_ISSET(c, &mask))
            CPU_SET(c, &one);
    (void)sched_setaffinity(0, sizeof one, &one);
}

/* Rank 0 is the test's own thread, and is not bound. Threads of one process know that they have none to spare: asked anew. */
static void
spare_body(rset_comm *comm, void *arg)
{
    const int  processors = *(const int *)arg, needed = ranks[comm->rank].needed;
    const bool expected = needed > 0 && processors >= needed;
    const int  all[RANKS] = {5, 4, 3, 2, 1, 0};
    rset_comm  set = {0};
    rset_err   err = RSET_ERR_NONE;

    CHECK(comm->spare == RSET_SPARE_NO);
    comm->spare = RSET_SPARE_UNKNOWN;
    CHECK(!rset_comm_has_spare(comm));
    if (ranks[comm->rank].bound)
        bind_to_one();
    CHECK(rset_comm_find_spare(comm, RSET_OK, ranks[comm->rank].host, &err) == RSET_OK);
    CHECK(rset_comm_has_spare(comm) == expected);
    CHECK(rset_comm_subset(comm, all, RANKS, &set, &err) == RSET_OK);
    CHECK(rset_comm_has_spare(&set) == expected);
    rset_comm_free(&set);
}

static void
ranks_on_the_same_processors_are_counted(void **state)
{
    cpu_set_t mask;
    int       processors;

    (void)state;
    CPU_ZERO(&mask);
    assert_int_equal(sched_getaffinity(0, sizeof mask, &mask), 0);
    processors = CPU_COUNT(&mask);
    run(RANKS, DEADLINE, spare_body, &processors);
}

/* Asked again, it is an agreement; a rank that has failed fails all, and nothing is known. */
static void
failing_body(rset_comm *comm, void *arg)
{
    rset_err    err = RSET_ERR_NONE;
    rset_status own = comm->rank == 1 ? rset_fail(&err, RSET_IO, "disk") : RSET_OK;

    (void)arg;
    comm->spare = RSET_SPARE_UNKNOWN;
    CHECK(rset_comm_find_spare(comm, own, "a", &err) == RSET_IO);
    CHECK(comm->spare == RSET_SPARE_UNKNOWN && strstr(err.text, "disk") != NULL);
    err = RSET_ERR_NONE;
    CHECK(rset_comm_find_spare(comm, RSET_OK, "a", &err) == RSET_OK);
    CHECK(comm->spare != RSET_SPARE_UNKNOWN);
    own = comm->rank == 1 ? rset_fail(&err, RSET_IO, "disk") : RSET_OK;
    CHECK(rset_comm_find_spare(comm, own, "a", &err) == RSET_IO);
    CHECK(comm->spare != RSET_SPARE_UNKNOWN);
}

static void
a_failure_is_told_to_all(void **state)
{
    (void)state;
    run(3, DEADLINE, failing_body, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_on_the_same_processors_are_counted),
        cmocka_unit_test(a_failure_is_told_to_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
