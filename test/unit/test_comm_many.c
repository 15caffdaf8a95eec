/* test_comm_many.c: thousands of ranks in one process: who waits sleeps, no event is missed, and what is sent is what is
 * received, by the counts as well. */
#include "comm_ranks.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MANY = 2048, LARGE = 9000 };    /* a message that is lent, not copied */
enum { DEADLINE = 30, TOO_LONG = 25 }; /* seconds */
enum { BETWEEN = 10 };                 /* messages */

/* How often this thread has given its processor away. */
static long
switches(void)
{
    struct rusage usage;

    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nvcsw : -1;
}

/* C7. A wait that looked again and again would be some thousand switches long; one that missed its event would last until
 * the deadline. arg: the length of the message. Who is late: rank 0, which sends, or where that is lent, the other one. */
static void
late_body(rset_comm *comm, void *arg)
{
    const size_t   len = *(const size_t *)arg;
    const long     before = switches();
    const double   start = rset_clock();
    static uint8_t out[LARGE], in[LARGE];
    rset_message   message = {.peer = 1 - comm->rank, .tag = RSET_TAG_INFO, .len = len};
    rset_req       req = {0};
    rset_err       err = RSET_ERR_NONE;

    if (comm->rank == (len == LARGE))
        usleep(600000);
    if (comm->rank == 0) {
        message.data = out;
        CHECK(rset_comm_isend(comm, &message, &req, &err) == RSET_OK);
    } else {
        message.room = in;
        CHECK(rset_comm_irecv(comm, &message, &req, &err) == RSET_OK);
    }
    CHECK(rset_comm_wait(comm, &req, message.peer, "come", &err) == RSET_OK);
    CHECK(switches() - before < 200);
    CHECK(rset_clock() - start < TOO_LONG);
}

static void
who_waits_sleeps(void **state)
{
    static const size_t lengths[] = {4, LARGE};

    (void)state;
    for (size_t i = 0; i < 2; i++)
        run(2, DEADLINE, late_body, (void *)&lengths[i]);
}

/* One message, which comes between the look of rank 1 and its pause. *step: 1 more when it has looked and found nothing, 2 more when that is
 * sent. */
static void
send_between(rset_comm *comm, atomic_int *step, double until)
{
    const int          begun = atomic_load(step) & ~1;
    char               room[4];
    const rset_message in = {0, RSET_TAG_INFO, {.room = room}, sizeof room};
    rset_pause         pause = {.spins = 1000, .since = rset_clock(), .until = until};
    rset_req           req = {0};
    rset_err           err = RSET_ERR_NONE;
    bool               done = true;

    if (comm->rank == 0) {
        while (atomic_load(step) == begun)
            usleep(1000);
        CHECK(rset_comm_isend(comm, &(rset_message){1, RSET_TAG_INFO, {"come"}, 4}, &req, &err) ==
              RSET_OK);
        atomic_store(step, begun + 2);
        CHECK(rset_comm_wait(comm, &req, 1, "take it", &err) == RSET_OK);
        return;
    }
    CHECK(rset_comm_irecv(comm, &in, &req, &err) == RSET_OK);
    CHECK(rset_comm_test(comm, &req, &done, &err) == RSET_OK && !done);
    atomic_store(step, begun + 1);
    while (atomic_load(step) == begun + 1)
        usleep(1000);
    rset_pause_once(&pause);
    CHECK(rset_comm_test(comm, &req, &done, &err) == RSET_OK && done);
}

/* Among so many ranks, of which two take part, a pause without an event lasts for seconds: some of them take too long. */
static void
between_body(rset_comm *comm, void *arg)
{
    const double start = rset_clock();

    for (int i = 0; i < BETWEEN && comm->rank < 2; i++)
        send_between(comm, arg, start + DEADLINE);
    CHECK(rset_clock() - start < TOO_LONG);
}

static void
what_comes_before_the_pause_ends_it(void **state)
{
    atomic_int step = 0;

    (void)state;
    run(MANY, DEADLINE, between_body, &step);
}

/* A pause without a deadline ends as well when nothing happens. */
static void
alone_body(rset_comm *comm, void *arg)
{
    const double start = rset_clock();
    const long   before = switches();
    rset_pause   pause = {0};

    (void)arg;
    while (rset_clock() < start + 0.5)
        rset_pause_once(&pause);
    CHECK(rset_clock() < start + 10);
    CHECK(switches() - before < 200);
}

static void
pause_ends_without_an_event(void **state)
{
    (void)state;
    run(1, DEADLINE, alone_body, NULL);
}

/* Round and round, each waiting for the one before: a missed event is a deadline that passes. */
static void
ring_body(rset_comm *comm, void *arg)
{
    const int            next = (comm->rank + 1) % comm->size;
    const int            last = (comm->rank + comm->size - 1) % comm->size;
    static const uint8_t out[LARGE];
    static uint8_t       in[MANY][LARGE];
    const double         start = rset_clock();

    (void)arg;
    for (int i = 0; i < 4; i++) {
        const size_t       len = i % 2 == 0 ? 8 : LARGE;
        const rset_message from = {last, RSET_TAG_INFO, {.room = in[comm->rank]}, len};
        rset_req           sent = {0}, got = {0};
        rset_err           err = RSET_ERR_NONE;

        if (comm->rank == 0)
            CHECK(rset_comm_isend(comm, &(rset_message){next, RSET_TAG_INFO, {out}, len}, &sent,
                                  &err) == RSET_OK);
        CHECK(rset_comm_irecv(comm, &from, &got, &err) == RSET_OK);
        CHECK(rset_comm_wait(comm, &got, last, "pass it on", &err) == RSET_OK && got.got == len);
        if (comm->rank != 0)
            CHECK(rset_comm_isend(comm, &(rset_message){next, RSET_TAG_INFO, {out}, len}, &sent,
                                  &err) == RSET_OK);
        CHECK(rset_comm_wait(comm, &sent, next, "take it", &err) == RSET_OK);
    }
    CHECK(rset_clock() - start < TOO_LONG);
    CHECK(comm->sent_messages == 4 && comm->received_messages == 4);
    CHECK(comm->sent_bytes == 2 * 8 + 2 * LARGE && comm->received_bytes == comm->sent_bytes);
}

static void
no_event_is_missed(void **state)
{
    (void)state;
    run(MANY, DEADLINE, ring_body, NULL);
}

/* ---- what is counted ---- */

typedef struct {
    atomic_ullong sent, received, bytes_sent, bytes_received;
} totals;

static void
largest(void *into, const void *other)
{
    if (memcmp(into, other, sizeof(int)) < 0)
        memcpy(into, other, sizeof(int));
}

static void
collectives_body(rset_comm *comm, void *arg)
{
    totals              *all = arg;
    int                  value = comm->rank;
    const rset_reduction what = {&value, sizeof value, largest};
    rset_gathered        gathered = {0};
    rset_err             err = RSET_ERR_NONE;

    CHECK(agree(comm, RSET_OK, &err) == RSET_OK);
    CHECK(rset_reduce(comm, RSET_OK, "", &what, &err) == RSET_OK);
    CHECK(comm->sent_messages <= 2 * 13 && comm->received_messages <= 2 * 13);
    CHECK(rset_gather_all(comm, RSET_OK, "", &(rset_share){&value, sizeof value, SIZE_MAX},
                          &gathered, &err) == RSET_OK);
    rset_gathered_free(&gathered);
    atomic_fetch_add(&all->sent, comm->sent_messages);
    atomic_fetch_add(&all->received, comm->received_messages);
    atomic_fetch_add(&all->bytes_sent, comm->sent_bytes);
    atomic_fetch_add(&all->bytes_received, comm->received_bytes);
}

static void
what_is_sent_is_received(void **state)
{
    totals all = {0};

    (void)state;
    run(MANY, DEADLINE, collectives_body, &all);
    assert_true(all.sent >= 4 * (MANY - 1) + 2 * (MANY - 1));
    assert_int_equal(all.sent, all.received);
    assert_int_equal(all.bytes_sent, all.bytes_received);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_sleeps),
        cmocka_unit_test(what_comes_before_the_pause_ends_it),
        cmocka_unit_test(pause_ends_without_an_event),
        cmocka_unit_test(no_event_is_missed),
        cmocka_unit_test(what_is_sent_is_received),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
