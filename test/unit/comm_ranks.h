/* comm_ranks.h: ranks that are threads, for the tests of the transport and of the collectives over it.
 *
 * cmocka's asserts must not run in other threads: bodies use CHECK, which counts, and the test looks
 * at the count. */
#ifndef RSET_TEST_COMM_RANKS_H
#define RSET_TEST_COMM_RANKS_H

#include "comm/comm.h"
#include "comm/comm_local.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include <cmocka.h>

static atomic_int failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            atomic_fetch_add(&failures, 1);                                                        \
            fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, comm->rank, #condition);   \
        }                                                                                          \
    } while (0)

static inline void
run(int size, double timeout, void (*body)(rset_comm *comm, void *arg), void *arg)
{
    rset_err err = RSET_ERR_NONE;

    atomic_store(&failures, 0);
    assert_int_equal(rset_local_run(size, timeout, body, arg, &err), RSET_OK);
    assert_int_equal(err.status, RSET_OK);
    assert_int_equal(atomic_load(&failures), 0);
}

static inline void
host_of(int rank, char *host, size_t size)
{
    snprintf(host, size, "node%d", rank);
}

static inline rset_status
agree(rset_comm *comm, rset_status st, rset_err *err)
{
    char host[32];

    host_of(comm->rank, host, sizeof host);
    return rset_agree(comm, st, host, err);
}

#endif
