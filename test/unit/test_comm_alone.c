/* test_comm_alone.c: what comes of the collectives, and of a rendezvous, in a communicator of one rank whose transport sends
 * nothing. */
#include "comm/comm_alone.h"
#include "rendezvous/rendezvous.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static rset_comm comm;

static int
begin(void **state)
{
    (void)state;
    rset_comm_alone(&comm, 1);
    return 0;
}

static int
end(void **state)
{
    (void)state;
    rset_comm_free(&comm);
    return 0;
}

static void
P5_collectives_come_to_an_end(void **state)
{
    rset_err      err = RSET_ERR_NONE;
    rset_gathered all = {0};
    rset_records  records = {.size = sizeof(int)};
    int           value = 7, copy = 0;
    bool          is = true;

    (void)state;
    assert_int_equal(comm.size, 1);
    assert_int_equal(rset_agree(&comm, RSET_OK, "here", &err), RSET_OK);
    assert_int_equal(rset_gather_all(&comm, RSET_OK, "", &(rset_share){"abc", 3, 16}, &all, &err),
                     RSET_OK);
    assert_memory_equal(all.bytes, "abc", 3);
    rset_gathered_free(&all);
    assert_int_equal(rset_gather_fixed(&comm, RSET_OK, "",
                                       &(rset_share){.bytes = &value, .len = sizeof value}, &copy,
                                       &err),
                     RSET_OK);
    assert_int_equal(copy, 7);
    assert_int_equal(rset_any(&comm, RSET_OK, "here", &is, &err), RSET_OK);
    assert_true(is);
    rset_records_add(&records, 0, &value);
    assert_int_equal(rset_route(&comm, RSET_OK, "here", &records, &err), RSET_OK);
    assert_int_equal(records.n, 1);
    rset_records_free(&records);
    assert_int_equal(rset_comm_find_spare(&comm, RSET_OK, "here", &err), RSET_OK);
    assert_false(rset_comm_has_spare(&comm));
    assert_int_equal(comm.sent_messages, 0);
}

static void
P4_a_failure_is_ones_own(void **state)
{
    rset_err err = RSET_ERR_NONE;

    (void)state;
    rset_fail(&err, RSET_IO, "no space");
    assert_int_equal(rset_agree(&comm, RSET_IO, "here", &err), RSET_IO);
    assert_string_equal(err.text, "no space");
    assert_int_equal(err.rank, 0);
    assert_string_equal(err.host, "here");
    assert_int_equal(rset_agree(&comm, RSET_OK, "here", &err), RSET_OK);
}

/* A message has nobody to go to, and none comes. */
static void
nothing_is_sent(void **state)
{
    rset_err     err = RSET_ERR_NONE;
    char         byte = 0;
    rset_message message = {.peer = 0, .tag = RSET_TAG_INFO, .room = &byte, .len = 1};
    rset_req     req = {0};
    bool         found = true, done = false;

    (void)state;
    assert_int_equal(rset_comm_poll(&comm, &message, &found, &err), RSET_OK);
    assert_false(found);
    assert_int_equal(rset_comm_test(&comm, &req, &done, &err), RSET_OK);
    assert_true(done);
    assert_int_not_equal(rset_comm_isend(&comm, &message, &req, &err), RSET_OK);
    assert_false(req.active);
    assert_non_null(strstr(err.text, "alone"));
}

/* Opened and closed, each more than once: the answer is there at once, and it is one's own proposal. */
static void
P5_a_rendezvous_waits_for_nobody(void **state)
{
    rset_rendezvous *place = NULL;
    rset_err         err = RSET_ERR_NONE;
    uint64_t         nonce = 0;
    bool             known = true;

    (void)state;
    assert_int_equal(rset_rendezvous_new("here", 1, &place, &err), RSET_OK);
    assert_int_equal(rset_rendezvous_attach(place, &comm, &err), RSET_OK);
    for (int i = 0; i < 6; i++) {
        rset_proposal p = {.op = i % 2 == 0 ? RSET_RENDEZVOUS_OPEN : RSET_RENDEZVOUS_CLOSE,
                           .bits = 5,
                           .most = 77,
                           .least_base = 9,
                           .most_base = 9,
                           .evidence = i > 2};

        rset_kind_of(i < 4 ? "/d/a_1.h5" : "/d/b.h5", &p.kind);
        assert_int_equal(rset_rendezvous_meet(place, &p, &nonce, &known, &err), RSET_OK);
        assert_false(known);
        assert_int_equal(p.bits, 5);
        assert_int_equal(p.most, 77);
        assert_int_equal(p.least_base, 9);
    }
    rset_rendezvous_end(place);
    rset_rendezvous_free(place);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(P5_collectives_come_to_an_end, begin, end),
        cmocka_unit_test_setup_teardown(P4_a_failure_is_ones_own, begin, end),
        cmocka_unit_test_setup_teardown(nothing_is_sent, begin, end),
        cmocka_unit_test_setup_teardown(P5_a_rendezvous_waits_for_nobody, begin, end)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
