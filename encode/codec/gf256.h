/* gf256.h: arithmetic in GF(2^8), polynomial 0x11D, generator 2 (FORMAT.md 9).
 *
 * Buffers are any length and alignment. Nothing here allocates, fails or knows about files. The fast
 * versions call ISA-L; each has a _base twin that is the truth, and tests compare the two. */
#ifndef RSET_GF256_H
#define RSET_GF256_H

#include <stddef.h>
#include <stdint.h>

/* Product in the field; 83 * 202 = 143. */
uint8_t rset_gf_mul(uint8_t a, uint8_t b);

/* Inverse in the field; a != 0. 1/2 = 142. */
uint8_t rset_gf_inv(uint8_t a);

/* dst[i] ^= c * src[i] for len bytes. c = 1 is xor, c = 0 does nothing. dst and src must not
 * overlap. */
void rset_gf_mad(uint8_t *dst, const uint8_t *src, size_t len, uint8_t c);

/* For each of `rows` outputs: dst[j][i] ^= c[j] * src[i], i in 0..len-1; one pass over src when
 * that pays. rows in 1..255. */
void rset_gf_mad_rows(uint8_t *const *dst, const uint8_t *src, size_t len, const uint8_t *c,
                      int rows);

/* The same with dst[j][i] = c[j] * src[i]. No dst may overlap src. */
void rset_gf_mul_rows(uint8_t *const *dst, const uint8_t *src, size_t len, const uint8_t *c,
                      int rows);

/* dst[i] = c * src[i] for len bytes; dst == src is allowed. */
void rset_gf_mul_buf(uint8_t *dst, const uint8_t *src, size_t len, uint8_t c);

/* Entry of parity row `u` and column `j` of the Reed-Solomon matrix for n members: the closed form
 * of FORMAT.md 9,  prod_{m != j} ((n+u) ^ m) / (j ^ m),  0 <= j < n, n + u <= 255. */
uint8_t rset_gf_rs_coef(int n, int u, int j);

#endif
