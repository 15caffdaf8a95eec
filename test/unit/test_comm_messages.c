/* test_comm_messages.c: messages over the transport of threads, from one rank to another, and how fast they are. */
#include "comm_ranks.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
            CHECK(rset_comm_isend(comm, &(rset_message){1, tag, {out[i]}, len}, &reqs[i], &err) ==
                  RSET_OK);
        } else {
            if (i % 50 == 0)
                usleep(1000);
            CHECK(rset_comm_irecv(comm, &(rset_message){0, tag, {.room = in[i]}, LEN}, &reqs[i],
                                  &err) == RSET_OK);
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
    int                   seen = 0;
    char                  buf[16];
    rset_message          in = {0, RSET_TAG_RENDEZVOUS, {.room = buf}, sizeof buf};
    bool                  found = false;
    rset_req              req = {0};
    rset_err              err = RSET_ERR_NONE;

    (void)arg;
    if (comm->rank != 0) {
        CHECK(rset_comm_isend(comm, &(rset_message){0, RSET_TAG_INFO, {"no"}, 2}, &req, &err) ==
              RSET_OK);
        CHECK(rset_comm_wait(comm, &req, 0, "listen", &err) == RSET_OK);
        snprintf(buf, sizeof buf, "I am %d", comm->rank);
        CHECK(rset_comm_isend(comm, &(rset_message){0, RSET_TAG_RENDEZVOUS, {buf}, strlen(buf)},
                              &req, &err) == RSET_OK);
        CHECK(rset_comm_wait(comm, &req, 0, "listen", &err) == RSET_OK);
        CHECK(agree(comm, RSET_OK, NULL) == RSET_OK);
        return;
    }
    while (seen != (1 << comm->size) - 2) {
        char text[16];

        in.len = sizeof buf;
        CHECK(transport->poll(comm->self, &in, &found, &err) == RSET_OK);
        if (!found) {
            sched_yield();
            continue;
        }
        snprintf(text, sizeof text, "I am %d", in.peer);
        CHECK(in.len == strlen(text) && memcmp(text, buf, in.len) == 0);
        CHECK((seen & 1 << in.peer) == 0);
        seen |= 1 << in.peer;
    }
    CHECK(transport->poll(comm->self, &in, &found, &err) == RSET_OK && !found);
    /* one that is longer than there is room for is an error, and out of the way */
    in = (rset_message){0, RSET_TAG_INFO, {.room = buf}, 1};
    CHECK(transport->poll(comm->self, &in, &found, &err) == RSET_PEER);
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
        CHECK(rset_comm_isend(comm, &(rset_message){1, RSET_TAG_INFO, {buf}, 10000}, &req, &err) ==
              RSET_OK);
        CHECK(rset_comm_wait(comm, &req, 1, "take it", &err) == RSET_OK);
        return;
    }
    if (!late)
        usleep(20000);
    CHECK(rset_comm_irecv(comm, &(rset_message){0, RSET_TAG_INFO, {.room = buf}, 9999}, &req,
                          &err) == RSET_OK);
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
        CHECK(rset_comm_isend(comm, &(rset_message){1, RSET_TAG_INFO, {large_buf}, 100000}, &req,
                              &err) == RSET_OK);
        CHECK(req.active && rset_comm_cancel(comm, &req) && !req.active);
        CHECK(rset_comm_irecv(comm, &(rset_message){1, RSET_TAG_INFO, {.room = large_buf}, 100000},
                              &req, &err) == RSET_OK);
        CHECK(rset_comm_cancel(comm, &req) && !req.active);
        CHECK(rset_comm_irecv(comm, &(rset_message){5, RSET_TAG_INFO, {.room = large_buf}, 1}, &req,
                              &err) == RSET_BUG);
        err = RSET_ERR_NONE;
        CHECK(rset_comm_irecv(comm, &(rset_message){1, RSET_TAG_INFO, {.room = large_buf}, 1}, &req,
                              &err) == RSET_OK);
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
            CHECK(rset_comm_isend(comm, &(rset_message){1, RSET_TAG_STREAM, {buf}, BLOCK}, &req,
                                  &err) == RSET_OK);
        else
            CHECK(rset_comm_irecv(comm,
                                  &(rset_message){0, RSET_TAG_STREAM, {.room = buf + BLOCK}, BLOCK},
                                  &req, &err) == RSET_OK);
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
