/* test_comm_hosted.c: ranks that processes host talk as if each had a process of its own (comm/comm_hosted.h); here the processes are
 * threads themselves. C7: nobody waits for ranks that cannot be reached any more, and a sender keeps what its receiver
 * has not taken. */
#include "comm/comm_hosted.h"
#include "comm/comm_local.h"
#include "comm_ranks.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 7, PROCESSES = 3, LONG = 70001, DEADLINE = 30 };

typedef struct world {
    const int *host_of;
    int        ranks;
    void (*body)(rset_comm *comm, void *arg);
    double      timeout;
    int         fails; /* process that has failed before; -1: none */
    rset_status st[PROCESSES];
    rset_err    err[PROCESSES];
    atomic_int  ran[RANKS], ended;
} world;

static void
process(rset_comm *outer, void *arg)
{
    world             *w = arg;
    const rset_hosting how = {.outer = outer,
                              .ranks = w->ranks,
                              .host_of = w->host_of,
                              .host = "here",
                              .own = outer->rank == w->fails ? RSET_IO : RSET_OK};

    w->err[outer->rank] = (rset_err)RSET_ERR_NONE;
    if (how.own != RSET_OK)
        (void)rset_fail(&w->err[outer->rank], RSET_IO, "no disk");
    outer->timeout = w->timeout;
    w->st[outer->rank] = rset_hosted_run(&how, w->body, w, &w->err[outer->rank]);
}

static void
start(world *w)
{
    run(PROCESSES, w->timeout, process, w);
}

static uint8_t
byte_of(int from, int to, size_t i)
{
    return (uint8_t)((size_t)(from * 31 + to * 7) + i * 13 + (i >> 8));
}

/* Each to each, a short message and a long one under one tag: they come in the order in which they were sent. */
static void
exchange(rset_comm *comm, int other)
{
    static const size_t lengths[] = {5, LONG, 0, 4097, 4096};
    uint8_t            *out = malloc(LONG), *in = malloc(LONG);
    rset_err            err = RSET_ERR_NONE;

    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        const size_t n = lengths[k];
        rset_req     s = {0}, r = {0};

        for (size_t i = 0; i < n; i++)
            out[i] = byte_of(comm->rank, other, i + k);
        memset(in, 0, LONG);
        CHECK(rset_comm_isend(
                  comm, &(rset_message){.peer = other, .tag = RSET_TAG_INFO, .data = out, .len = n},
                  &s, &err) == RSET_OK);
        CHECK(rset_comm_irecv(
                  comm, &(rset_message){.peer = other, .tag = RSET_TAG_INFO, .room = in, .len = n},
                  &r, &err) == RSET_OK);
        CHECK(rset_comm_wait(comm, &r, other, "send", &err) == RSET_OK);
        CHECK(r.got == n);
        for (size_t i = 0; i < n; i++)
            CHECK(in[i] == byte_of(other, comm->rank, i + k));
        CHECK(rset_comm_wait(comm, &s, other, "take", &err) == RSET_OK);
    }
    free(out);
    free(in);
}

static void
talk(rset_comm *comm, void *arg)
{
    world         *w = arg;
    rset_gathered  all = {0};
    rset_records   list = {.size = sizeof(int)};
    rset_err       err = RSET_ERR_NONE;
    bool           is = comm->rank == comm->size - 1;
    const uint64_t mine = (uint64_t)comm->rank * 3;

    atomic_fetch_add(&w->ran[comm->rank], 1);
    CHECK(comm->size == w->ranks);
    for (int step = 1; step < comm->size; step++) {
        const int other = (step - comm->rank + comm->size) % comm->size;

        if (other != comm->rank)
            exchange(comm, other);
    }
    CHECK(rset_gather_all(comm, RSET_OK, "", &(rset_share){&mine, sizeof mine, 1 << 20}, &all,
                          &err) == RSET_OK);
    for (int r = 0; r < comm->size; r++)
        CHECK(memcmp(all.bytes + all.offs[r], &(uint64_t){(uint64_t)r * 3}, sizeof mine) == 0);
    rset_gathered_free(&all);
    CHECK(rset_any(comm, RSET_OK, "here", &is, &err) == RSET_OK && is);
    for (int r = 0; r < comm->size; r++)
        rset_records_add(&list, r, &(int){comm->rank * 100 + r});
    CHECK(rset_route(comm, RSET_OK, "here", &list, &err) == RSET_OK);
    CHECK(list.n == (size_t)comm->size);
    rset_records_free(&list);
    CHECK(rset_agree(comm, comm->rank == 1 ? RSET_LOST : RSET_OK, "here", &err) ==
          (comm->size > 1 ? RSET_LOST : RSET_OK));
}

static void
C7_ranks_of_other_processes(void **state)
{
    static const int maps[][RANKS] = {
        {0, 1, 2, 0, 1, 2, 0}, {2, 2, 2, 2, 2, 2, 2}, {1, 1, 1, 0, 0, 0, 0}, {2, 1, 0, 0, 0, 1, 2}};

    (void)state;
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        for (int n = 1; n <= RANKS; n += 3) {
            world w = {
                .host_of = maps[i], .ranks = n, .body = talk, .timeout = DEADLINE, .fails = -1};

            start(&w);
            for (int p = 0; p < PROCESSES; p++)
                assert_int_equal(w.st[p], RSET_OK);
            for (int r = 0; r < RANKS; r++)
                assert_int_equal(w.ran[r], r < n);
        }
}

/* A process that has failed before: nothing is run on any. */
static void
C7_nothing_runs_after_a_failure(void **state)
{
    static const int map[RANKS] = {0, 1, 2, 0, 1, 2, 0};
    world w = {.host_of = map, .ranks = RANKS, .body = talk, .timeout = DEADLINE, .fails = 1};

    (void)state;
    start(&w);
    for (int p = 0; p < PROCESSES; p++) {
        assert_int_equal(w.st[p], RSET_IO);
        assert_string_equal(w.err[p].text, "no disk");
    }
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(w.ran[r], 0);
}

/* Rank 3 comes to nothing: the others give up after the timeout, and all processes come to the end. */
static void
one_is_silent(rset_comm *comm, void *arg)
{
    world   *w = arg;
    rset_err err = RSET_ERR_NONE;

    if (comm->rank != 3)
        CHECK(rset_agree(comm, RSET_OK, "here", &err) == RSET_PEER);
    atomic_fetch_add(&w->ended, 1);
}

static void
C7_a_silent_rank_is_given_up(void **state)
{
    static const int map[RANKS] = {0, 1, 2, 0, 1, 2, 0};
    world w = {.host_of = map, .ranks = RANKS, .body = one_is_silent, .timeout = 0.3, .fails = -1};

    (void)state;
    start(&w);
    assert_int_equal(w.ended, RANKS);
}

/* What is not taken stays with its sender: it is not over before rank 1 receives. */
static void
send_before_it_is_wanted(rset_comm *comm, void *arg)
{
    world         *w = arg;
    static uint8_t out[LONG], in[LONG];
    rset_message   m = {.peer = 1 - comm->rank, .tag = RSET_TAG_INFO, .len = LONG};
    rset_req       req = {0};
    rset_err       err = RSET_ERR_NONE;
    rset_pause     pause = {0};
    bool           done = false;
    const double   start_at = rset_clock();

    if (comm->rank == 0) {
        m.data = out;
        CHECK(rset_comm_isend(comm, &m, &req, &err) == RSET_OK);
        while (!done && rset_clock() < start_at + 0.3) {
            CHECK(rset_comm_test(comm, &req, &done, &err) == RSET_OK);
            rset_pause_once(&pause);
        }
        CHECK(!done);
        atomic_store(&w->ended, 1);
    } else {
        while (atomic_load(&w->ended) == 0)
            rset_pause_once(&pause);
        m.room = in;
        CHECK(rset_comm_irecv(comm, &m, &req, &err) == RSET_OK);
    }
    CHECK(rset_comm_wait(comm, &req, 1 - comm->rank, "go on", &err) == RSET_OK);
}

static void
C7_a_sender_waits_for_its_receiver(void **state)
{
    static const int map[2] = {0, 1};
    world            w = {.host_of = map,
                          .ranks = 2,
                          .body = send_before_it_is_wanted,
                          .timeout = DEADLINE,
                          .fails = -1};

    (void)state;
    start(&w);
    for (int p = 0; p < PROCESSES; p++)
        assert_int_equal(w.st[p], RSET_OK);
}

/* A packet that makes no sense: all ranks are told, on all processes, before their time is up. */
static void
wait_for_nothing(rset_comm *comm, void *arg)
{
    static char  room[4];
    rset_message m = {
        .peer = (comm->rank + 1) % comm->size, .tag = RSET_TAG_INFO, .room = room, .len = 4};
    rset_req req = {0};
    rset_err err = RSET_ERR_NONE;

    (void)arg;
    CHECK(rset_comm_irecv(comm, &m, &req, &err) == RSET_OK);
    CHECK(rset_comm_wait(comm, &req, m.peer, "send", &err) == RSET_PEER);
    CHECK(strstr(err.text, "makes no sense") != NULL);
}

static void
process_with_a_liar(rset_comm *comm, void *arg)
{
    const rset_message lie = {.peer = 1, .tag = RSET_TAG_HOSTED, .data = "lie", .len = 3};
    rset_err           err = RSET_ERR_NONE;
    rset_req           req = {0};

    if (comm->rank == 2)
        CHECK(rset_comm_isend(comm, &lie, &req, &err) == RSET_OK);
    process(comm, arg);
    (void)rset_comm_cancel(comm, &req);
}

static void
C7_all_are_told_of_nonsense(void **state)
{
    static const int map[RANKS] = {0, 1, 2, 0, 1, 2, 0};
    world            w = {
                   .host_of = map, .ranks = RANKS, .body = wait_for_nothing, .timeout = DEADLINE, .fails = -1};

    (void)state;
    run(PROCESSES, DEADLINE, process_with_a_liar, &w);
    for (int p = 0; p < PROCESSES; p++)
        assert_int_equal(w.st[p], RSET_PEER);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C7_ranks_of_other_processes),
        cmocka_unit_test(C7_nothing_runs_after_a_failure),
        cmocka_unit_test(C7_a_silent_rank_is_given_up),
        cmocka_unit_test(C7_a_sender_waits_for_its_receiver),
        cmocka_unit_test(C7_all_are_told_of_nonsense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
