/* superblock.c: see superblock.h. */
#include "superblock.h"

#include <stdint.h>
#include <string.h>

/* Versions 0 and 1 have four bytes of flags and no checksum; 2 and 3 have one, and a checksum after four
 * addresses. */
enum {
    AT_VERSION = 8,
    AT_ADDRESS_SIZE = 9,
    AT_FLAG = 11,
    AT_ADDRESSES = 12,
    AT_OLD_FLAGS = 20,
    SWMR_WRITER = 4
};

static size_t
checksum_at(const uint8_t *sb)
{
    return AT_ADDRESSES + 4 * (size_t)sb[AT_ADDRESS_SIZE];
}

bool
rset_superblock_is(const void *bytes, size_t size)
{
    const uint8_t *sb = bytes;

    if (size < RSET_SUPERBLOCK_MIN || size > RSET_SUPERBLOCK_MAX ||
        memcmp(sb, "\211HDF\r\n\032\n", AT_VERSION) != 0 || sb[AT_VERSION] > 3)
        return false;
    return sb[AT_VERSION] < 2 || checksum_at(sb) + 4 <= size;
}

size_t
rset_superblock_size(const void *bytes)
{
    const uint8_t *sb = bytes;

    return sb[AT_VERSION] < 2 ? AT_OLD_FLAGS + 4 : checksum_at(sb) + 4;
}

static bool
is_flag(const uint8_t *sb, size_t i)
{
    if (sb[AT_VERSION] < 2)
        return i >= AT_OLD_FLAGS && i < AT_OLD_FLAGS + 4;
    return i == AT_FLAG || (i >= checksum_at(sb) && i < checksum_at(sb) + 4);
}

bool
rset_superblock_same_but_flags(const void *a, const void *b, size_t size)
{
    const uint8_t *x = a, *y = b;

    for (size_t i = 0; i < size; i++)
        if (x[i] != y[i] && !is_flag(x, i))
            return false;
    return true;
}

bool
rset_superblock_is_shared(const void *bytes)
{
    const uint8_t *sb = bytes;

    return sb[AT_VERSION] == 3 && (sb[AT_FLAG] & SWMR_WRITER) != 0;
}

/* ---- the checksum: Bob Jenkins, lookup3.c, hashlittle() with initial value 0 ---- */

static uint32_t
turn(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

static void
mix(uint32_t s[3])
{
    static const int by[6] = {4, 6, 8, 16, 19, 4};

    for (int i = 0; i < 6; i++) { /* a, b, c take turns: a -= c; a ^= c turned; c += b */
        uint32_t *a = &s[i % 3], *b = &s[(i + 1) % 3], *c = &s[(i + 2) % 3];

        *a = (*a - *c) ^ turn(*c, by[i]);
        *c += *b;
    }
}

static void
finish(uint32_t s[3])
{
    static const int by[7] = {14, 11, 25, 16, 4, 14, 24};

    for (int i = 0; i < 7; i++) { /* c, a, b take turns: c ^= b; c -= b turned */
        uint32_t *c = &s[(i + 2) % 3], *b = &s[(i + 1) % 3];

        *c = (*c ^ *b) - turn(*b, by[i]);
    }
}

static uint32_t
lookup3(const uint8_t *bytes, size_t len)
{
    uint32_t start = UINT32_C(0xdeadbeef) + (uint32_t)len, s[3] = {start, start, start};

    for (; len > 0;) {
        size_t n = len < 12 ? len : 12;

        for (size_t i = 0; i < n; i++)
            s[i / 4] += (uint32_t)bytes[i] << (8 * (i % 4));
        bytes += n;
        len -= n;
        if (len > 0)
            mix(s);
        else
            finish(s);
    }
    return s[2];
}

bool
rset_superblock_clear_flags(void *bytes)
{
    uint8_t *sb = bytes;
    bool     old = sb[AT_VERSION] < 2, set = false;
    size_t   from = old ? AT_OLD_FLAGS : AT_FLAG, to = old ? AT_OLD_FLAGS + 4 : AT_FLAG + 1;
    uint32_t sum;

    for (size_t i = from; i < to; i++) {
        set = set || sb[i] != 0;
        sb[i] = 0;
    }
    if (!set || old)
        return set;
    sum = lookup3(sb, checksum_at(sb));
    for (int i = 0; i < 4; i++)
        sb[checksum_at(sb) + (size_t)i] = (uint8_t)(sum >> (8 * i));
    return true;
}
