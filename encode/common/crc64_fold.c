/* crc64_fold.c: see crc64_fold.h.
 *
 * Bits are reflected: the first byte holds the highest powers. Of 16 bytes lo|hi, lo is multiplied by x^(64 + 2048) and hi by
 * x^2048, to come to lie on the 16 that follow 256 bytes later. A product of reflected numbers is one power higher than it
 * looks, so the exponents in power[] are one less. (V. Gopal and others, Fast CRC Computation for Generic Polynomials Using
 * PCLMULQDQ, Intel 2009.) */
#include "crc64_fold.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

enum { REGISTERS = RSET_CRC64_FOLD / 32 };

bool
rset_crc64_can_fold(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq");
}

#define CARRY_LESS __attribute__((target("avx2,vpclmulqdq")))

/* Brings what is in the registers to lie on the bytes at `buf`. */
CARRY_LESS static inline void
fold_onto(__m256i at[REGISTERS], __m256i by, const uint8_t *buf)
{
#pragma GCC unroll 8
    for (int i = 0; i < REGISTERS; i++) {
        const __m256i lo = _mm256_clmulepi64_epi128(at[i], by, 0x00);
        const __m256i hi = _mm256_clmulepi64_epi128(at[i], by, 0x11);
        const __m256i more = _mm256_loadu_si256((const __m256i *)buf + i);

        at[i] = _mm256_xor_si256(_mm256_xor_si256(lo, hi), more);
    }
}

CARRY_LESS void
rset_crc64_fold(uint64_t start, const uint8_t *buf, size_t len, const uint64_t power[2],
                uint8_t left[RSET_CRC64_FOLD])
{
    const long long far = (long long)power[0], near = (long long)power[1];
    const __m256i   by = _mm256_set_epi64x(near, far, near, far);
    __m256i         at[REGISTERS];

    for (int i = 0; i < REGISTERS; i++)
        at[i] = _mm256_loadu_si256((const __m256i *)buf + i);
    at[0] = _mm256_xor_si256(at[0], _mm256_set_epi64x(0, 0, 0, (long long)start));
    for (size_t off = RSET_CRC64_FOLD; off < len; off += RSET_CRC64_FOLD)
        fold_onto(at, by, buf + off);
    for (int i = 0; i < REGISTERS; i++)
        _mm256_storeu_si256((__m256i *)left + i, at[i]);
}

#else

bool
rset_crc64_can_fold(void)
{
    return false;
}

void
rset_crc64_fold(uint64_t start, const uint8_t *buf, size_t len, const uint64_t power[2],
                uint8_t left[RSET_CRC64_FOLD])
{
    (void)start, (void)buf, (void)len, (void)power, (void)left; /* nobody calls it */
}

#endif
