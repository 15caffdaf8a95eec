/* test_comm.c: what comes of the collectives over the transport of threads, and of subsets of the ranks. Peers that do
 * not come, or send what they should not, are in test_comm_peers.c, messages by themselves in test_comm_messages.c. */
#include "comm_ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 17 };

static const int sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 17};

static void
run_all_sizes(void (*body)(rset_comm *comm, void *arg))
{
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        run(sizes[i], 20, body, NULL);
}

/* ---- agree ---- */

static void
agree_ok(rset_comm *comm, void *arg)
{
    (void)arg;
    for (int i = 0; i < 10; i++) {
        rset_err err = RSET_ERR_NONE;

        CHECK(agree(comm, RSET_OK, &err) == RSET_OK);
        CHECK(err.status == RSET_OK && err.rank == -1);
        CHECK(agree(comm, RSET_OK, NULL) == RSET_OK);
    }
}

static void
P4_agree_on_ok(void **state)
{
    (void)state;
    run_all_sizes(agree_ok);
}

/* Every rank fails in turn alone. */
static void
agree_one(rset_comm *comm, void *arg)
{
    (void)arg;
    for (int bad = 0; bad < comm->size; bad++) {
        rset_err    err = RSET_ERR_NONE;
        rset_status st = RSET_OK;
        char        host[32], text[64];

        snprintf(text, sizeof text, "/local/f.h5: rank %d has no space", bad);
        if (comm->rank == bad)
            st = rset_fail(&err, RSET_IO, "%s", text);
        CHECK(agree(comm, st, &err) == RSET_IO);
        host_of(bad, host, sizeof host);
        CHECK(err.status == RSET_IO && err.rank == bad);
        CHECK(strcmp(err.text, text) == 0 && strcmp(err.host, host) == 0);
        CHECK(!comm->dead);
    }
}

static void
P4_agree_gives_message_rank_and_host_to_all(void **state)
{
    (void)state;
    run_all_sizes(agree_one);
}

/* Many fail: worst status first, then the lowest rank. */
static void
agree_many(rset_comm *comm, void *arg)
{
    static const rset_status outcome[] = {RSET_OK,   RSET_ABSENT,  RSET_USAGE, RSET_IO,
                                          RSET_LOST, RSET_DAMAGED, RSET_LOST,  RSET_PEER};
    (void)arg;
    for (int shift = 0; shift < 8; shift++) {
        rset_err    err = RSET_ERR_NONE;
        rset_status st = outcome[(comm->rank + shift) % 8], worst = RSET_OK;
        int         who = -1;
        char        text[32];

        for (int r = comm->size - 1; r >= 0; r--)
            if (outcome[(r + shift) % 8] >= worst && outcome[(r + shift) % 8] != RSET_OK) {
                worst = outcome[(r + shift) % 8];
                who = r;
            }
        if (st != RSET_OK)
            (void)rset_fail(&err, st, "rank %d says %d", comm->rank, (int)st);
        CHECK(agree(comm, st, &err) == worst);
        CHECK(err.rank == who && err.status == worst);
        snprintf(text, sizeof text, "rank %d says %d", who, (int)worst);
        CHECK(strcmp(err.text, who < 0 ? "" : text) == 0);
    }
}

static void
P4_agree_picks_worst_status_then_lowest_rank(void **state)
{
    (void)state;
    run_all_sizes(agree_many);
}

static void
agree_twice(rset_comm *comm, void *arg)
{
    rset_err    err = RSET_ERR_NONE, longest = RSET_ERR_NONE;
    rset_status st = RSET_OK;

    (void)arg;
    if (comm->rank == comm->size - 1)
        st = rset_fail(&err, RSET_LOST, "gone");
    st = agree(comm, st, &err);
    /* who found it, and where, survives a second agreement */
    st = rset_agree(comm, comm->rank == 0 ? st : RSET_OK, "elsewhere", &err);
    CHECK(st == RSET_LOST && err.rank == comm->size - 1 && strncmp(err.host, "node", 4) == 0);
    /* a message that fills all there is, and a status without any message */
    memset(longest.text, 'x', sizeof longest.text - 1);
    longest.status = RSET_NOMEM;
    CHECK(agree(comm, comm->rank == 0 ? RSET_NOMEM : RSET_OK, &longest) == RSET_NOMEM);
    CHECK(strlen(longest.text) == sizeof longest.text - 1);
    err = RSET_ERR_NONE;
    CHECK(agree(comm, RSET_BUG, &err) == RSET_BUG && err.rank == 0 && err.text[0] != '\0');
    CHECK(agree(comm, RSET_IO, NULL) == RSET_IO);
    /* what may follow from it is worse, and comes from a lower rank */
    err = RSET_ERR_NONE;
    st = comm->rank == comm->size - 1 ? rset_fail(&err, RSET_IO, "cannot be read")
                                      : rset_fail(&err, RSET_LOST, "does not fit");
    err.follows = comm->rank != comm->size - 1;
    CHECK(agree(comm, st, &err) == RSET_IO && strcmp(err.text, "cannot be read") == 0);
    err = RSET_ERR_NONE;
    st = rset_fail(&err, RSET_LOST, "does not fit");
    err.follows = 1; /* of nothing that anybody knows */
    CHECK(agree(comm, st, &err) == RSET_LOST && err.rank == 0);
}

static void
P4_agree_keeps_first_finder(void **state)
{
    (void)state;
    run_all_sizes(agree_twice);
}

/* ---- gather, broadcast ---- */

typedef size_t length_of(int rank);

static size_t
small_or_none(int rank)
{
    return (size_t)(rank * 5 % 7);
}

static size_t
only_last(int rank)
{
    return rank % 3 == 2 ? 3000 : 0;
}

static size_t
large(int rank)
{
    return (size_t)rank * 30011 + 1;
}

static size_t
nothing(int rank)
{
    (void)rank;
    return 0;
}

static uint8_t
byte_of(int rank, size_t i)
{
    return (uint8_t)((size_t)rank * 31 + i * 7 + i / 251);
}

static void
gather_lengths(rset_comm *comm, length_of *length)
{
    const size_t  len = length(comm->rank);
    uint8_t      *mine = malloc(len + 1);
    rset_gathered all = {0};
    size_t        total = 0;
    rset_err      err = RSET_ERR_NONE;

    for (size_t i = 0; i < len; i++)
        mine[i] = byte_of(comm->rank, i);
    CHECK(rset_gather_all(comm, RSET_OK, "", &(rset_share){mine, len, 100 << 20}, &all, &err) ==
          RSET_OK);
    for (int r = 0; r < comm->size && all.offs != NULL; r++) {
        bool same = all.offs[r] == total && all.offs[r + 1] - all.offs[r] == length(r);

        for (size_t i = 0; same && i < length(r); i++)
            same = all.bytes[all.offs[r] + i] == byte_of(r, i);
        CHECK(same);
        total += length(r);
    }
    free(mine);
    rset_gathered_free(&all);
}

static void
gather_body(rset_comm *comm, void *arg)
{
    (void)arg;
    gather_lengths(comm, nothing);
    gather_lengths(comm, small_or_none);
    gather_lengths(comm, only_last);
    gather_lengths(comm, large);
}

static void
gather_unequal_and_zero_lengths(void **state)
{
    (void)state;
    run_all_sizes(gather_body);
}

static void
gather_fixed_body(rset_comm *comm, void *arg)
{
    char     mine[64] = {0}, all[MAX_RANKS][64];
    rset_err err = RSET_ERR_NONE;

    (void)arg;
    host_of(comm->rank, mine, sizeof mine);
    CHECK(rset_gather_fixed(comm, RSET_OK, "", &(rset_share){.bytes = mine, .len = sizeof mine},
                            all, &err) == RSET_OK);
    for (int r = 0; r < comm->size; r++) {
        host_of(r, mine, sizeof mine);
        CHECK(memcmp(mine, all[r], sizeof mine) == 0);
    }
}

static void
gather_fixed_of_all_sizes(void **state)
{
    (void)state;
    run_all_sizes(gather_fixed_body);
}

static void
gather_too_much(rset_comm *comm, void *arg)
{
    uint8_t       mine[1000] = {0};
    rset_gathered all = {0};
    rset_err      err = RSET_ERR_NONE;

    (void)arg;
    /* each fits, all together do not */
    CHECK(rset_gather_all(comm, RSET_OK, "",
                          &(rset_share){mine, 1000, 1000 * (size_t)comm->size - 1}, &all,
                          &err) == RSET_PEER);
    CHECK(err.status == RSET_PEER && all.bytes == NULL && all.offs == NULL);
    /* one alone does not */
    err = RSET_ERR_NONE;
    CHECK(rset_gather_all(comm, RSET_OK, "",
                          &(rset_share){mine, comm->rank == comm->size / 2 ? 1000 : 1, 999}, &all,
                          &err) == RSET_PEER);
    CHECK(!comm->dead && agree(comm, RSET_OK, NULL) == RSET_OK);
    CHECK(rset_gather_all(comm, RSET_OK, "", &(rset_share){mine, 1000, 1000 * (size_t)comm->size},
                          &all, &err) == RSET_OK);
    rset_gathered_free(&all);
}

static void
P9_gather_is_bounded_and_stays_usable(void **state)
{
    (void)state;
    run_all_sizes(gather_too_much);
}

typedef struct {
    uint64_t sum;
    uint8_t  ranks[MAX_RANKS]; /* that have added something, once each */
    uint8_t  more[200];
} addend;

static void
add(void *into_arg, const void *other_arg)
{
    addend       *into = into_arg;
    const addend *other = other_arg;

    into->sum += other->sum;
    for (int r = 0; r < MAX_RANKS; r++)
        into->ranks[r] = (uint8_t)(into->ranks[r] + other->ranks[r]);
    for (size_t i = 0; i < sizeof into->more; i++)
        into->more[i] = into->more[i] > other->more[i] ? into->more[i] : other->more[i];
}

static rset_status
add_up(rset_comm *comm, rset_status own, addend *mine, rset_err *err)
{
    const rset_reduction what = {mine, sizeof *mine, add};
    char                 host[16];

    snprintf(host, sizeof host, "node%d", comm->rank);
    return rset_reduce(comm, own, host, &what, err);
}

/* Each rank's value counts once, whatever the shape of the tree. */
static void
reduce_body(rset_comm *comm, void *arg)
{
    (void)arg;
    for (int round = 0; round < 3; round++) {
        const uint64_t n = (uint64_t)comm->size;
        addend         mine = {.sum = (uint64_t)(comm->rank + round)};
        rset_err       err = RSET_ERR_NONE;

        mine.ranks[comm->rank] = 1;
        mine.more[199] = (uint8_t)(comm->rank + 1);
        CHECK(add_up(comm, RSET_OK, &mine, &err) == RSET_OK && err.text[0] == '\0');
        CHECK(mine.sum == n * (n - 1) / 2 + n * (uint64_t)round);
        for (int r = 0; r < comm->size; r++)
            CHECK(mine.ranks[r] == 1);
        CHECK(mine.more[199] == comm->size && mine.more[0] == 0);
    }
}

static void
reduce_all_sizes(void **state)
{
    (void)state;
    run_all_sizes(reduce_body);
}

/* P4: it agrees, too: where one rank has failed all get that, and its message. */
static void
reduce_failing(rset_comm *comm, void *arg)
{
    (void)arg;
    for (int bad = 0; bad < comm->size; bad++) {
        addend   mine = {.sum = 1};
        rset_err err = RSET_ERR_NONE;
        char     host[16];

        snprintf(host, sizeof host, "node%d", bad);
        if (comm->rank == bad)
            rset_fail(&err, RSET_IO, "disk of rank %d", bad);
        CHECK(add_up(comm, comm->rank == bad ? RSET_IO : RSET_OK, &mine, &err) == RSET_IO);
        CHECK(err.rank == bad && strcmp(err.host, host) == 0);
        CHECK(strncmp(err.text, "disk of rank", 12) == 0);
        err = RSET_ERR_NONE;
        mine.sum = 1;
        CHECK(add_up(comm, RSET_OK, &mine, &err) == RSET_OK && mine.sum == (uint64_t)comm->size);
    }
}

static void
P4_reduce_agrees_on_failures(void **state)
{
    (void)state;
    run_all_sizes(reduce_failing);
}

/* ---- subsets ---- */

/* Odd and even ranks, the even ones in falling order, each with a world of their own. */
static void
subset_body(rset_comm *comm, void *arg)
{
    int        ranks[MAX_RANKS], n = 0, all[MAX_RANKS];
    const bool odd = comm->rank % 2 == 1;
    rset_comm  set, inner;
    rset_err   err = RSET_ERR_NONE;

    (void)arg;
    for (int r = 0; r < comm->size; r++)
        if ((r % 2 == 1) == odd)
            ranks[n++] = r;
    for (int i = 0; !odd && i < n / 2; i++) {
        int swap = ranks[i];

        ranks[i] = ranks[n - 1 - i];
        ranks[n - 1 - i] = swap;
    }
    CHECK(rset_comm_subset(comm, ranks, n, &set, &err) == RSET_OK);
    CHECK(set.size == n && ranks[set.rank] == comm->rank);
    for (int round = 0; round < 3; round++) {
        CHECK(rset_gather_fixed(&set, RSET_OK, "",
                                &(rset_share){.bytes = &comm->rank, .len = sizeof comm->rank}, all,
                                &err) == RSET_OK);
        for (int i = 0; i < n; i++)
            CHECK(all[i] == ranks[i]);
        CHECK(agree(comm, RSET_OK, NULL) == RSET_OK);
    }
    /* a failure names the rank of the world */
    err = RSET_ERR_NONE;
    CHECK(rset_agree(&set, set.rank == n - 1 ? rset_fail(&err, RSET_IO, "x") : RSET_OK, "h",
                     &err) == RSET_IO);
    CHECK(err.rank == ranks[n - 1]);
    /* a view on a view */
    CHECK(rset_comm_subset(&set, &set.rank, 1, &inner, &err) == RSET_OK);
    CHECK(rset_agree(&inner, RSET_OK, "h", NULL) == RSET_OK && inner.world[0] == comm->rank);
    rset_comm_free(&inner);
    rset_comm_free(&set);
    CHECK(agree(comm, RSET_OK, NULL) == RSET_OK);
    CHECK(comm->size == 1 || comm->sent_messages > 0);
}

static void
subset_views(void **state)
{
    (void)state;
    run_all_sizes(subset_body);
}

static void
bad_subset_body(rset_comm *comm, void *arg)
{
    const int twice[] = {0, 1, comm->rank, comm->rank}, outside[] = {comm->rank, 9},
              without[] = {9};
    rset_comm set;

    (void)arg;
    CHECK(rset_comm_subset(comm, twice, 4, &set, NULL) == RSET_BUG);
    CHECK(rset_comm_subset(comm, outside, 2, &set, NULL) == RSET_BUG);
    CHECK(rset_comm_subset(comm, without, 1, &set, NULL) == RSET_BUG);
    CHECK(rset_comm_subset(comm, NULL, 0, &set, NULL) == RSET_BUG);
    CHECK(rset_comm_subset_of(comm, calloc(1, sizeof(int)), 0, &set, NULL) == RSET_BUG);
    CHECK(!comm->dead);
}

static void
subset_must_make_sense(void **state)
{
    (void)state;
    run(3, 20, bad_subset_body, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(P4_agree_on_ok),
        cmocka_unit_test(P4_agree_gives_message_rank_and_host_to_all),
        cmocka_unit_test(P4_agree_picks_worst_status_then_lowest_rank),
        cmocka_unit_test(P4_agree_keeps_first_finder),
        cmocka_unit_test(gather_unequal_and_zero_lengths),
        cmocka_unit_test(gather_fixed_of_all_sizes),
        cmocka_unit_test(P9_gather_is_bounded_and_stays_usable),
        cmocka_unit_test(reduce_all_sizes),
        cmocka_unit_test(P4_reduce_agrees_on_failures),
        cmocka_unit_test(subset_views),
        cmocka_unit_test(subset_must_make_sense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
