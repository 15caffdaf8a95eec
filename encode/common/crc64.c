/* crc64.c: see crc64.h.
 *
 * The CRC register is a polynomial over GF(2) modulo P, kept reflected: bit 63 is x^0. Appending one
 * zero byte multiplies it by x^8. With R(v, B) the register after bytes B, started at v:
 *
 *   crc(B) = ~R(~0, B)      R(v, B) = v * x^(8|B|) + R(0, B)      R(0, A|B) = R(0, A) * x^(8|B|) + R(0, B)
 *
 * While bytes are being added crc[] holds the sum R(0, block), to which fragments come in any order;
 * rset_sums_finish turns it into a CRC. */
#include "crc64.h"

#include "crc64_fold.h"
#include "phases.h"

#include <isa-l/crc.h>
#include <isa-l/crc64.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define POLY UINT64_C(0xc96c5795d7870f42) /* ECMA-182, reflected; x^64 is implied */
#define ONE  (UINT64_C(1) << 63)          /* x^0 */

enum { DIGITS = 16, DIGIT_BITS = 4, DIGIT_VALUES = 1 << DIGIT_BITS }; /* of a 64-bit length */

/* shift_table[i][d] = x^(8 * d * 16^i) mod P, so that a shift takes one product per nonzero digit. */
static uint64_t       shift_table[DIGITS][DIGIT_VALUES];
static pthread_once_t shift_table_once = PTHREAD_ONCE_INIT;

/* a * b mod P. */
static uint64_t
multiply(uint64_t a, uint64_t b)
{
    uint64_t product = 0;

    for (; a != 0; a <<= 1) {
        product ^= b & -(a >> 63);
        b = (b >> 1) ^ (POLY & -(b & 1));
    }
    return product;
}

static void
make_shift_table(void)
{
    uint64_t step = ONE >> 8;

    for (int i = 0; i < DIGITS; i++) {
        shift_table[i][0] = ONE;
        for (int d = 1; d < DIGIT_VALUES; d++)
            shift_table[i][d] = multiply(shift_table[i][d - 1], step);
        step = multiply(shift_table[i][DIGIT_VALUES - 1], step);
    }
}

/* v * x^(8 * len) mod P. */
static uint64_t
shift(uint64_t v, uint64_t len)
{
    if (len == 0 || v == 0)
        return v;
    pthread_once(&shift_table_once, make_shift_table);
    for (int i = 0; len != 0; i++, len >>= DIGIT_BITS) {
        if (len % DIGIT_VALUES != 0)
            v = multiply(shift_table[i][len % DIGIT_VALUES], v);
    }
    return v;
}

/* R(0, buf). */
static uint64_t
raw(const void *buf, size_t len)
{
    return ~rset_crc64(~UINT64_C(0), buf, len);
}

/* ---- bytes ---- */

enum { FOLD_MIN = 4 * RSET_CRC64_FOLD };

static uint64_t       fold_power[2];
static bool           can_fold;
static pthread_once_t fold_once = PTHREAD_ONCE_INIT;

static void
prepare_fold(void)
{
    const uint64_t seven = ONE >> 7; /* x^7 */

    fold_power[0] = shift(seven, RSET_CRC64_FOLD + 7);
    fold_power[1] = shift(seven, RSET_CRC64_FOLD - 1);
    can_fold = rset_crc64_can_fold();
}

uint64_t
rset_crc64(uint64_t crc, const void *buf, size_t len)
{
    const uint8_t *bytes = buf;
    const size_t   whole = len - len % RSET_CRC64_FOLD;
    uint8_t        left[RSET_CRC64_FOLD];

    pthread_once(&fold_once, prepare_fold);
    if (len >= FOLD_MIN && can_fold) {
        rset_crc64_fold(~crc, bytes, whole, fold_power, left);
        crc = crc64_ecma_refl(~UINT64_C(0), left, sizeof left);
        bytes += whole;
        len -= whole;
    }
    return len == 0 ? crc : crc64_ecma_refl(crc, bytes, len);
}

uint64_t
rset_crc64_zeros(uint64_t crc, uint64_t len)
{
    return ~shift(~crc, len);
}

uint64_t
rset_crc64_combine(uint64_t crc_a, uint64_t crc_b, uint64_t len_b)
{
    /* Both start at ~0 and end inverted; of these four only what stands below is left. */
    return shift(crc_a, len_b) ^ crc_b;
}

uint32_t
rset_crc32(uint32_t crc, const void *buf, size_t len)
{
    return len == 0 ? crc : crc32_gzip_refl(crc, buf, len);
}

uint64_t
rset_sums_block_size(uint64_t size, size_t max_blocks)
{
    uint64_t block = RSET_BLOCK_MIN;

    while (block < UINT64_C(1) << 63 && (size != 0 ? (size - 1) / block + 1 : 0) > max_blocks)
        block *= 2;
    return block;
}

int
rset_sums_init(rset_sums *sums, uint64_t size, uint64_t block)
{
    uint64_t nblocks = size / block + (size % block != 0);

    memset(sums, 0, sizeof *sums);
    if (nblocks > SIZE_MAX / sizeof *sums->crc)
        return -1;
    if (nblocks > 0) {
        sums->crc = calloc((size_t)nblocks, sizeof *sums->crc);
        if (sums->crc == NULL)
            return -1;
    }
    sums->size = size;
    sums->block = block;
    sums->nblocks = (size_t)nblocks;
    return 0;
}

void
rset_sums_free(rset_sums *sums)
{
    free(sums->crc);
    memset(sums, 0, sizeof *sums);
}

int
rset_sums_copy(const rset_sums *from, rset_sums *out)
{
    if (rset_sums_init(out, from->size, from->block) != 0)
        return -1;
    if (from->nblocks > 0)
        memcpy(out->crc, from->crc, from->nblocks * sizeof *from->crc);
    out->whole = from->whole;
    return 0;
}

/* Bytes of block `i`. */
static uint64_t
block_length(const rset_sums *sums, uint64_t i)
{
    uint64_t left = sums->size - i * sums->block;

    return left < sums->block ? left : sums->block;
}

void
rset_sums_add(rset_sums *sums, uint64_t off, const void *buf, size_t len)
{
    const uint8_t *bytes = buf;
    rset_phase     before;

    if (off >= sums->size)
        return;
    if (len > sums->size - off)
        len = (size_t)(sums->size - off);
    before = rset_phase_enter(RSET_PHASE_SUM);
    while (len > 0) {
        uint64_t i = off / sums->block;
        uint64_t room = block_length(sums, i) - off % sums->block;
        size_t   part = len < room ? len : (size_t)room;

        sums->crc[i] ^= shift(raw(bytes, part), room - part);
        bytes += part;
        off += part;
        len -= part;
    }
    rset_phase_leave(before);
}

/* Walks through the blocks with what depends on their length only, which changes at the last one. */
typedef struct stride {
    uint64_t length, factor;
} stride;

static bool
stride_to(stride *s, const rset_sums *sums, size_t i)
{
    if (block_length(sums, i) == s->length)
        return false;
    s->length = block_length(sums, i);
    s->factor = shift(ONE, s->length);
    return true;
}

/* The checksum of the whole by those of the blocks. */
static void
join(rset_sums *sums)
{
    stride s = {0, ONE};

    sums->whole = 0;
    for (size_t i = 0; i < sums->nblocks; i++) {
        stride_to(&s, sums, i);
        sums->whole = multiply(sums->whole, s.factor) ^ sums->crc[i];
    }
}

void
rset_sums_finish_blocks(rset_sums *sums)
{
    stride   s = {0, ONE};
    uint64_t start = 0;

    for (size_t i = 0; i < sums->nblocks; i++) {
        if (stride_to(&s, sums, i))
            start = multiply(s.factor, ~UINT64_C(0));
        sums->crc[i] = ~(sums->crc[i] ^ start);
    }
}

void
rset_sums_finish(rset_sums *sums)
{
    rset_sums_finish_blocks(sums);
    join(sums);
}

void
rset_sums_change(rset_sums *sums, uint64_t off, const void *difference, size_t len)
{
    const uint8_t *bytes = difference;
    const uint64_t end = off < sums->size && len > sums->size - off ? sums->size : off + len;
    rset_phase     before = rset_phase_enter(RSET_PHASE_SUM);

    for (uint64_t next; off < end && off < sums->size; off = next) {
        const uint64_t i = off / sums->block, until = i * sums->block + block_length(sums, i);
        uint64_t       differs;

        next = end < until ? end : until;
        differs = shift(raw(bytes, (size_t)(next - off)), until - next);
        sums->crc[i] ^= differs;
        sums->whole ^= shift(differs, sums->size - until);
        bytes += next - off;
    }
    rset_phase_leave(before);
}

size_t
rset_sums_differ(const rset_sums *a, const rset_sums *b, size_t from)
{
    size_t i = from < a->nblocks ? from : a->nblocks;

    while (i < a->nblocks && a->crc[i] == b->crc[i])
        i++;
    return i;
}
