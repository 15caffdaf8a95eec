/* test_comm.c: the collectives over the transport of threads: results, deadlines, hostile peers.
 *
 * cmocka's asserts must not run in other threads: bodies use CHECK, which counts, and the test looks
 * at the count. */
#include "comm.h"
#include "comm_local.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MAX_RANKS = 17 };

static const int  sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 17};
static atomic_int failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            atomic_fetch_add(&failures, 1);                                                        \
            fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, comm->rank, #condition);   \
        }                                                                                          \
    } while (0)

static void
run(int size, double timeout, void (*body)(rset_comm *comm, void *arg), void *arg)
{
    rset_err err = RSET_ERR_NONE;

    atomic_store(&failures, 0);
    assert_int_equal(rset_local_run(size, timeout, body, arg, &err), RSET_OK);
    assert_int_equal(err.status, RSET_OK);
    assert_int_equal(atomic_load(&failures), 0);
}

static void
run_all_sizes(void (*body)(rset_comm *comm, void *arg))
{
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        run(sizes[i], 20, body, NULL);
}

static void
host_of(int rank, char *host, size_t size)
{
    snprintf(host, size, "node%d", rank);
}

/* ---- agree ---- */

static rset_status
agree(rset_comm *comm, rset_status st, rset_err *err)
{
    char host[32];

    host_of(comm->rank, host, sizeof host);
    return rset_agree(comm, st, host, err);
}

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
    const size_t len = length(comm->rank);
    uint8_t     *mine = malloc(len + 1), *all = NULL;
    size_t      *offs = NULL, total = 0;
    rset_err     err = RSET_ERR_NONE;

    for (size_t i = 0; i < len; i++)
        mine[i] = byte_of(comm->rank, i);
    CHECK(rset_gather_all(comm, mine, len, 100 << 20, &all, &offs, &err) == RSET_OK);
    for (int r = 0; r < comm->size && offs != NULL; r++) {
        bool same = offs[r] == total && offs[r + 1] - offs[r] == length(r);

        for (size_t i = 0; same && i < length(r); i++)
            same = all[offs[r] + i] == byte_of(r, i);
        CHECK(same);
        total += length(r);
    }
    free(mine);
    free(all);
    free(offs);
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
    CHECK(rset_gather_fixed(comm, mine, sizeof mine, all, &err) == RSET_OK);
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
    uint8_t  mine[1000] = {0}, *all = NULL;
    size_t  *offs = NULL;
    rset_err err = RSET_ERR_NONE;

    (void)arg;
    /* each fits, all together do not */
    CHECK(rset_gather_all(comm, mine, 1000, 1000 * (size_t)comm->size - 1, &all, &offs, &err) ==
          RSET_PEER);
    CHECK(err.status == RSET_PEER && all == NULL && offs == NULL);
    /* one alone does not */
    err = RSET_ERR_NONE;
    CHECK(rset_gather_all(comm, mine, comm->rank == comm->size / 2 ? 1000 : 1, 999, &all, &offs,
                          &err) == RSET_PEER);
    CHECK(!comm->dead && agree(comm, RSET_OK, NULL) == RSET_OK);
    CHECK(rset_gather_all(comm, mine, 1000, 1000 * (size_t)comm->size, &all, &offs, &err) ==
          RSET_OK);
    free(all);
    free(offs);
}

static void
P9_gather_is_bounded_and_stays_usable(void **state)
{
    (void)state;
    run_all_sizes(gather_too_much);
}

static void
bcast_body(rset_comm *comm, void *arg)
{
    static const size_t lengths[] = {0, 1, 1100, 1101, 300000};

    (void)arg;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        uint8_t *buf = calloc(1, lengths[i] + 1);
        bool     same = true;
        rset_err err = RSET_ERR_NONE;

        for (size_t j = 0; comm->rank == 0 && j < lengths[i]; j++)
            buf[j] = byte_of(3, j);
        CHECK(rset_bcast(comm, buf, lengths[i], &err) == RSET_OK);
        for (size_t j = 0; j < lengths[i]; j++)
            same = same && buf[j] == byte_of(3, j);
        CHECK(same && buf[lengths[i]] == 0);
        free(buf);
    }
}

static void
bcast_all_sizes(void **state)
{
    (void)state;
    run_all_sizes(bcast_body);
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
        CHECK(rset_gather_fixed(&set, &comm->rank, sizeof comm->rank, all, &err) == RSET_OK);
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
    CHECK(!comm->dead);
}

static void
subset_must_make_sense(void **state)
{
    (void)state;
    run(3, 20, bad_subset_body, NULL);
}

/* ---- deadlines ---- */

static const double limit = 0.4;

typedef enum { BY_AGREE, BY_GATHER, BY_LARGE_GATHER, BY_BCAST, WAYS } way;

typedef struct {
    int  missing;
    way  how;
    bool late; /* one rank comes when the others have waited for a while already */
} absence;

static rset_status
meet(rset_comm *comm, way how, rset_err *err)
{
    static const uint8_t block[50000];
    uint8_t              buf[8] = {0}, *all = NULL;
    size_t              *offs = NULL;
    rset_status          st;

    if (how == BY_AGREE)
        return agree(comm, RSET_OK, err);
    if (how == BY_BCAST)
        return rset_bcast(comm, buf, sizeof buf, err);
    st = rset_gather_all(comm, block, how == BY_GATHER ? 8 : sizeof block, 1 << 22, &all, &offs,
                         err);
    free(all);
    free(offs);
    return st;
}

/* G8: everybody leaves within the limit + 1 s, names the missing rank, and does not wait again. */
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
    if (absent->missing == 6 && comm->rank == 4)
        CHECK(strstr(err.text, "rank 6 (which also answers for rank 7)") != NULL);
    start = rset_clock();
    CHECK(meet(comm, absent->how, &again) == RSET_PEER);
    CHECK(strstr(again.text, "rank") != NULL && rset_comm_usable(comm, NULL) == RSET_PEER);
    CHECK(rset_clock() - start < 0.1);
}

static void
P5_missing_rank_is_named_by_all_in_time(void **state)
{
    static const way ways[] = {BY_AGREE, BY_GATHER, BY_LARGE_GATHER};

    (void)state;
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++)
        for (int missing = 0; missing < 8; missing += w == 0 ? 1 : 2) {
            absence absent = {missing, ways[w], w == 0 && missing % 2 == 0};

            run(8, limit, missing_body, &absent);
        }
}

static void
P5_missing_root_of_broadcast(void **state)
{
    absence absent = {0, BY_BCAST, false};

    (void)state;
    run(7, limit, missing_body, &absent);
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
    run(3, limit, missing_and_failed_body, NULL);
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
    run(5, limit, slow_body, NULL);
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
        CHECK(rset_comm_set_aside(by_subset ? &set : comm, &err, "the dog of rank %d ate it", 5) ==
              RSET_PEER);
        CHECK(comm->dead && (!by_subset || set.dead));
        (void)rset_comm_set_aside(comm, NULL, "later");
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
        CHECK(rset_gather_fixed(comm, &byte, 1, &byte, &err) == RSET_PEER);
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
        CHECK(rset_gather_fixed(comm, mine, comm->rank == 2 ? 50 : 100, all, &err) == RSET_PEER);
    } else if (rset_bcast(comm, all, comm->rank == 0 ? 50 : 100, &err) == RSET_OK) {
        CHECK(comm->rank == 0); /* it sends and is done */
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
    const size_t len = *(const size_t *)arg;
    uint8_t      junk[3000], *all = NULL;
    size_t      *offs = NULL;
    rset_req     req = {0};
    rset_err     err = RSET_ERR_NONE;
    double       start = rset_clock();

    memset(junk, 0xee, sizeof junk);
    if (comm->rank == 1) {
        CHECK(rset_comm_isend(comm, 0, RSET_TAG_COLL, junk, len, &req, &err) == RSET_OK);
        CHECK(rset_comm_wait(comm, &req, 0, "read", &err) == RSET_OK);
        return;
    }
    CHECK(rset_gather_all(comm, junk, 10, 1000, &all, &offs, &err) == RSET_PEER);
    CHECK(all == NULL && offs == NULL && comm->dead && strstr(err.text, "rank 1") != NULL);
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

/* Headers like ours (comm_coll.h) with one lie each. */
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
    uint8_t       byte = 7, *all = NULL;
    size_t       *offs = NULL;
    rset_req      req = {0};
    rset_err      err = RSET_ERR_NONE;
    double        start = rset_clock();

    if (comm->rank == 1) {
        const uint64_t inside = 1492;
        const size_t   len = lie->len <= sizeof lie->data && !lie->cut ? (size_t)lie->len : 0;

        CHECK(rset_comm_isend(comm, 0, RSET_TAG_COLL, lie, offsetof(forged, data) + len, &req,
                              &err) == RSET_OK);
        if (lie->len > sizeof lie->data) /* a body of its own, too short */
            CHECK(rset_comm_isend(comm, 0, RSET_TAG_COLL, &inside, sizeof inside, &req, &err) ==
                  RSET_OK);
        return;
    }
    CHECK(rset_gather_all(comm, &byte, 1, 2000, &all, &offs, &err) != RSET_OK);
    CHECK(err.status > RSET_OK && err.status <= RSET_BUG && all == NULL);
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

/* ---- point to point ---- */

static void
order_body(rset_comm *comm, void *arg)
{
    enum { COUNT = 200, LEN = 9000 };
    static uint8_t out[COUNT][LEN]; /* one thread writes, one reads */
    static uint8_t in[COUNT][LEN];
    rset_req       reqs[COUNT] = {0};
    rset_err       err = RSET_ERR_NONE;

    (void)arg;
    for (int i = 0; i < COUNT; i++) {
        /* small ones are copied, large ones lent; neither may overtake */
        const size_t len = i % 3 == 0 ? LEN : 10;
        const int    tag = RSET_TAG_STREAM + i % 2;

        if (comm->rank == 0) {
            memset(out[i], i, len);
            CHECK(rset_comm_isend(comm, 1, tag, out[i], len, &reqs[i], &err) == RSET_OK);
        } else {
            if (i % 50 == 0)
                usleep(1000);
            CHECK(rset_comm_irecv(comm, 0, tag, in[i], LEN, &reqs[i], &err) == RSET_OK);
        }
    }
    for (int i = 0; i < COUNT; i++) {
        CHECK(rset_comm_wait(comm, &reqs[i], 1 - comm->rank, "go on", &err) == RSET_OK);
        CHECK(!reqs[i].active);
        if (comm->rank == 1)
            CHECK(reqs[i].got == (i % 3 == 0 ? LEN : 10) && in[i][0] == (uint8_t)i &&
                  in[i][reqs[i].got - 1] == (uint8_t)i);
    }
}

static void
messages_do_not_overtake(void **state)
{
    (void)state;
    run(2, 20, order_body, NULL);
}

static void
poll_body(rset_comm *comm, void *arg)
{
    const rset_transport *transport = comm->transport;
    int                   seen = 0, from = -1;
    size_t                got = 0;
    char                  buf[16];
    bool                  found = false;
    rset_req              req = {0};
    rset_err              err = RSET_ERR_NONE;

    (void)arg;
    if (comm->rank != 0) {
        CHECK(rset_comm_isend(comm, 0, RSET_TAG_INFO, "no", 2, &req, &err) == RSET_OK);
        CHECK(rset_comm_wait(comm, &req, 0, "listen", &err) == RSET_OK);
        snprintf(buf, sizeof buf, "I am %d", comm->rank);
        CHECK(rset_comm_isend(comm, 0, RSET_TAG_MEET, buf, strlen(buf), &req, &err) == RSET_OK);
        CHECK(rset_comm_wait(comm, &req, 0, "listen", &err) == RSET_OK);
        CHECK(agree(comm, RSET_OK, NULL) == RSET_OK);
        return;
    }
    while (seen != (1 << comm->size) - 2) {
        char text[16];

        CHECK(transport->poll(comm->self, RSET_TAG_MEET, buf, sizeof buf, &from, &got, &found,
                              &err) == RSET_OK);
        if (!found) {
            sched_yield();
            continue;
        }
        snprintf(text, sizeof text, "I am %d", from);
        CHECK(got == strlen(text) && memcmp(text, buf, got) == 0 && (seen & 1 << from) == 0);
        seen |= 1 << from;
    }
    CHECK(transport->poll(comm->self, RSET_TAG_MEET, buf, sizeof buf, &from, &got, &found, &err) ==
              RSET_OK &&
          !found);
    /* one that is longer than there is room for is an error, and out of the way */
    CHECK(transport->poll(comm->self, RSET_TAG_INFO, buf, 1, &from, &got, &found, &err) ==
          RSET_PEER);
    CHECK(!found && err.text[0] != '\0');
    CHECK(agree(comm, RSET_OK, NULL) == RSET_OK);
}

static void
poll_from_any_source(void **state)
{
    (void)state;
    run(6, 20, poll_body, NULL);
}

static void
too_long_body(rset_comm *comm, void *arg)
{
    const bool late = *(const bool *)arg;
    char       buf[10000] = {0};
    rset_req   req = {0};
    rset_err   err = RSET_ERR_NONE;

    if (comm->rank == 0) {
        if (late)
            usleep(20000);
        CHECK(rset_comm_isend(comm, 1, RSET_TAG_INFO, buf, 10000, &req, &err) == RSET_OK);
        CHECK(rset_comm_wait(comm, &req, 1, "take it", &err) == RSET_OK);
        return;
    }
    if (!late)
        usleep(20000);
    CHECK(rset_comm_irecv(comm, 0, RSET_TAG_INFO, buf, 9999, &req, &err) == RSET_OK);
    CHECK(rset_comm_wait(comm, &req, 0, "send", &err) == RSET_PEER);
    CHECK(strstr(err.text, "10000") != NULL && comm->dead && !req.active);
}

static void
P7_message_longer_than_the_buffer_is_an_error(void **state)
{
    bool late = false;

    (void)state;
    run(2, 20, too_long_body, &late);
    late = true;
    run(2, 20, too_long_body, &late);
}

static void
cancel_body(rset_comm *comm, void *arg)
{
    char    *large_buf = calloc(1, 100000);
    rset_req req = {0};
    rset_err err = RSET_ERR_NONE;

    (void)arg;
    if (comm->rank == 0) { /* nobody takes it, nobody sends it */
        CHECK(rset_comm_isend(comm, 1, RSET_TAG_INFO, large_buf, 100000, &req, &err) == RSET_OK);
        CHECK(req.active && rset_comm_cancel(comm, &req) && !req.active);
        CHECK(rset_comm_irecv(comm, 1, RSET_TAG_INFO, large_buf, 100000, &req, &err) == RSET_OK);
        CHECK(rset_comm_cancel(comm, &req) && !req.active);
        CHECK(rset_comm_irecv(comm, 5, RSET_TAG_INFO, large_buf, 1, &req, &err) == RSET_BUG);
        err = RSET_ERR_NONE;
        CHECK(rset_comm_irecv(comm, 1, RSET_TAG_INFO, large_buf, 1, &req, &err) == RSET_OK);
        CHECK(rset_comm_wait(comm, &req, 1, "speak", &err) == RSET_PEER);
        CHECK(strstr(err.text, "waiting for rank 1 to speak") != NULL && !req.active && comm->dead);
    }
    free(large_buf); /* under ASan: nobody touches it now */
}

static void
P5_cancelled_buffers_are_free(void **state)
{
    (void)state;
    run(2, 0.1, cancel_body, NULL);
}

static void
signals_body(rset_comm *comm, void *arg)
{
    sigset_t set;

    (void)arg;
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    CHECK((sigismember(&set, SIGUSR1) == 1) == (comm->rank != 0));
}

static void
threads_leave_signals_to_the_program(void **state)
{
    sigset_t set;

    (void)state;
    run(3, 20, signals_body, NULL);
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    assert_false(sigismember(&set, SIGUSR1));
}

static void
no_body(rset_comm *comm, void *arg)
{
    (void)comm;
    (void)arg;
}

static void
no_ranks_is_a_bug(void **state)
{
    rset_err err = RSET_ERR_NONE;

    (void)state;
    assert_int_equal(rset_local_run(0, 1, no_body, NULL, &err), RSET_BUG);
}

/* ---- speed, only told ---- */

static void
speed_body(rset_comm *comm, void *arg)
{
    enum { ROUNDS = 1000, BLOCK = 256 * 1024, BLOCKS = 2000 };
    uint8_t *buf = calloc(2, BLOCK);
    rset_err err = RSET_ERR_NONE;
    double   start = rset_clock();

    (void)arg;
    for (int i = 0; i < ROUNDS; i++)
        CHECK(agree(comm, RSET_OK, NULL) == RSET_OK);
    if (comm->rank == 0)
        print_message("agree, %d threads: %.1f us\n", comm->size,
                      (rset_clock() - start) / ROUNDS * 1e6);
    start = rset_clock();
    for (int i = 0; i < BLOCKS && comm->rank < 2; i++) {
        rset_req req = {0};

        if (comm->rank == 0)
            CHECK(rset_comm_isend(comm, 1, RSET_TAG_STREAM, buf, BLOCK, &req, &err) == RSET_OK);
        else
            CHECK(rset_comm_irecv(comm, 0, RSET_TAG_STREAM, buf + BLOCK, BLOCK, &req, &err) ==
                  RSET_OK);
        CHECK(rset_comm_wait(comm, &req, 1 - comm->rank, "go on", &err) == RSET_OK);
    }
    if (comm->rank == 0)
        print_message("messages of 256 KiB: %.1f GB/s\n",
                      (double)BLOCKS * BLOCK / (rset_clock() - start) * 1e-9);
    free(buf);
}

static void
speed(void **state)
{
    (void)state;
    run(8, 60, speed_body, NULL);
    run(2, 60, speed_body, NULL);
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
        cmocka_unit_test(bcast_all_sizes),
        cmocka_unit_test(subset_views),
        cmocka_unit_test(subset_must_make_sense),
        cmocka_unit_test(P5_missing_rank_is_named_by_all_in_time),
        cmocka_unit_test(P5_missing_root_of_broadcast),
        cmocka_unit_test(P4_own_failure_is_told_with_the_missing_rank),
        cmocka_unit_test(P5_slow_rank_is_not_missing),
        cmocka_unit_test(P5_giving_up_spreads_at_once),
        cmocka_unit_test(P5_mixed_up_calls_are_found_out_at_once),
        cmocka_unit_test(P5_unequal_lengths_are_found_out),
        cmocka_unit_test(P7_garbage_from_a_peer_is_refused),
        cmocka_unit_test(P7_forged_lengths_and_statuses_are_refused),
        cmocka_unit_test(messages_do_not_overtake),
        cmocka_unit_test(poll_from_any_source),
        cmocka_unit_test(P7_message_longer_than_the_buffer_is_an_error),
        cmocka_unit_test(P5_cancelled_buffers_are_free),
        cmocka_unit_test(threads_leave_signals_to_the_program),
        cmocka_unit_test(no_ranks_is_a_bug),
        cmocka_unit_test(speed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
