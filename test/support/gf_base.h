/* gf_base.h: products of buffers in GF(2^8), byte by byte: the truth that tests compare the fast ones with. */
#ifndef RSET_TEST_GF_BASE_H
#define RSET_TEST_GF_BASE_H

#include "codec/gf256.h"

/* rset_gf_mad from its definition. */
static inline void
gf_mad_base(uint8_t *dst, const uint8_t *src, size_t len, uint8_t c)
{
    for (size_t i = 0; i < len; i++)
        dst[i] ^= rset_gf_mul(c, src[i]);
}

#endif
