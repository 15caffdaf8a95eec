/* sums.h: checksums of a file, made and compared. */
#ifndef RSET_TEST_SUMS_H
#define RSET_TEST_SUMS_H

#include "common/crc64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Those of n bytes, in blocks of that size. */
static inline void
sums_of(rset_sums *sums, const uint8_t *bytes, size_t n, uint64_t block)
{
    assert_int_equal(rset_sums_init(sums, n, block), 0);
    rset_sums_add(sums, 0, bytes, n);
    rset_sums_finish(sums);
}

static inline void
assert_same_sums(const rset_sums *a, const rset_sums *b)
{
    assert_true(a->size == b->size && a->block == b->block && a->nblocks == b->nblocks &&
                a->whole == b->whole);
    if (a->nblocks > 0)
        assert_memory_equal(a->crc, b->crc, a->nblocks * sizeof *a->crc);
}

#endif
