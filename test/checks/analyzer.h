/* analyzer.h: included before everything else when an analyzer reads the engine. Analyzers look at one file
 * at a time, and do not know that a failure that is recorded, or agreed on, is a failure that is returned. */
#ifndef RSET_TEST_ANALYZER_H
#define RSET_TEST_ANALYZER_H

#include "comm/comm.h"
#include "common/err.h"

#define rset_fail(err, status, ...)                                                                \
    ((void)rset_fail(err, status, __VA_ARGS__), (rset_status)(status))
#define rset_fail_errno(err, status, ...)                                                          \
    ((void)rset_fail_errno(err, status, __VA_ARGS__), (rset_status)(status))

static inline rset_status
analyzed_agree(rset_comm *comm, rset_status own, const char *host, rset_err *err)
{
    rset_status all = rset_agree(comm, own, host, err);

    if (own != RSET_OK && all == RSET_OK)
        __builtin_unreachable();
    return all;
}

#ifndef ANALYZER_DEFINES_AGREE
#define rset_agree analyzed_agree
#endif

#endif
