/* gf256.c: see gf256.h.
 *
 * ISA-L's single kernels (gf_vect_mad, gf_vect_mul, xor_gen) want minimum lengths, multiples or
 * alignment; ec_encode_data and ec_encode_data_update take any length > 0 and any alignment, at the
 * same speed. Only these two are used. */
#include "gf256.h"

#include <assert.h>
#include <isa-l/erasure_code.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

enum {
    POLY_LOW = 0x1d,    /* 0x11D without x^8 */
    ORDER = 255,        /* of the multiplicative group */
    TABLE = 32,         /* bytes of an ISA-L table for one coefficient */
    ROWS = 6,           /* outputs that ISA-L's kernels make in one pass over the source */
    MAX_CALL = 1 << 30, /* bytes per ISA-L call, whose lengths are int */
    BOUNCE = 4096       /* bytes multiplied at a time when in place */
};

/* Logarithms to base 2, and of the products that Reed-Solomon coefficients are made of:
 * product_log[n][y] = log of prod_{m < n, m != y} (y ^ m). */
static uint8_t        log_table[256];
static uint8_t        exp_table[ORDER];
static uint8_t        product_log[256][256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

uint8_t
rset_gf_mul(uint8_t a, uint8_t b)
{
    unsigned product = 0, shifted = a;

    for (int bit = 0; bit < 8; bit++) {
        if ((b >> bit & 1) != 0)
            product ^= shifted;
        shifted <<= 1;
        if ((shifted & 0x100) != 0)
            shifted ^= 0x100 | POLY_LOW;
    }
    return (uint8_t)product;
}

uint8_t
rset_gf_inv(uint8_t a)
{
    uint8_t power = a, inverse = 1;

    assert(a != 0);               /* K4 */
    for (int i = 1; i < 8; i++) { /* a^254 = a^2 * a^4 * ... * a^128 */
        power = rset_gf_mul(power, power);
        inverse = rset_gf_mul(inverse, power);
    }
    return inverse;
}

void
rset_gf_mad(uint8_t *dst, const uint8_t *src, size_t len, uint8_t c)
{
    if (c != 0) /* 1 needs no path of its own: as fast as xor_gen, which wants aligned buffers */
        rset_gf_mad_rows(&dst, src, len, &c, 1);
}

/* One pass of ISA-L over at most ROWS outputs, which it adds to or sets. Tables must come from
 * ec_init_tables: what they hold differs between processors. */
static void
one_pass(bool add, uint8_t *const *dst, const uint8_t *src, size_t len, const uint8_t *c, int rows)
{
    uint8_t  tables[ROWS * TABLE], coef[ROWS];
    uint8_t *out[ROWS];

    memcpy(coef, c, (size_t)rows);
    memcpy(out, dst, (size_t)rows * sizeof *out);
    ec_init_tables(1, rows, coef, tables);
    while (len > 0) {
        size_t   part = len < MAX_CALL ? len : MAX_CALL;
        uint8_t *in = (uint8_t *)src;

        if (add)
            ec_encode_data_update((int)part, 1, rows, 0, tables, in, out);
        else
            ec_encode_data((int)part, 1, rows, tables, &in, out);
        src += part;
        len -= part;
        for (int j = 0; j < rows; j++)
            out[j] += part;
    }
}

void
rset_gf_mad_rows(uint8_t *const *dst, const uint8_t *src, size_t len, const uint8_t *c, int rows)
{
    for (int j = 0; j < rows; j += ROWS)
        one_pass(true, dst + j, src, len, c + j, rows - j < ROWS ? rows - j : ROWS);
}

void
rset_gf_mul_rows(uint8_t *const *dst, const uint8_t *src, size_t len, const uint8_t *c, int rows)
{
    for (int j = 0; j < rows; j += ROWS)
        one_pass(false, dst + j, src, len, c + j, rows - j < ROWS ? rows - j : ROWS);
}

/* ISA-L has gf_vect_mul, but that one faults on buffers that are not aligned to 32 bytes; and its
 * ec_encode_data does some bytes twice at the end of a buffer, so not in place. */
void
rset_gf_mul_buf(uint8_t *dst, const uint8_t *src, size_t len, uint8_t c)
{
    uint8_t bounce[BOUNCE], *to = bounce;

    if (dst != src) {
        rset_gf_mul_rows(&dst, src, len, &c, 1);
        return;
    }
    while (len > 0 && c != 1) {
        size_t part = len < BOUNCE ? len : BOUNCE;

        rset_gf_mul_rows(&to, dst, part, &c, 1);
        memcpy(dst, bounce, part);
        dst += part;
        len -= part;
    }
}

static void
make_tables(void)
{
    uint8_t power = 1;

    for (int i = 0; i < ORDER; i++) {
        exp_table[i] = power;
        log_table[power] = (uint8_t)i;
        power = rset_gf_mul(power, 2);
    }
    for (int n = 0; n < 255; n++) {
        for (int y = 0; y < 256; y++) {
            int factor = y != n ? log_table[y ^ n] : 0;

            product_log[n + 1][y] = (uint8_t)((product_log[n][y] + factor) % ORDER);
        }
    }
}

uint8_t
rset_gf_rs_coef(int n, int u, int j)
{
    int y = n + u, log;

    pthread_once(&tables_once, make_tables);
    /* The factor m = j of the first product does not belong to the closed form. */
    log = product_log[n][y] - log_table[y ^ j] - product_log[n][j];
    return exp_table[(log + 2 * ORDER) % ORDER];
}
