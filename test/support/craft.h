/* craft.h: containers written by hand, right or wrong, for tests: bytes are appended as told, then
 * length and checksum are made to fit, so that only the damage meant is there. */
#ifndef RSET_TEST_CRAFT_H
#define RSET_TEST_CRAFT_H

#include "common/crc64.h"
#include "format/tree.h"

#include <stdlib.h>
#include <string.h>

typedef struct craft {
    uint8_t *buf;
    size_t   len, room;
} craft;

static inline void
craft_bytes(craft *c, const void *bytes, size_t n)
{
    if (c->len + n > c->room) {
        c->room = 2 * (c->len + n) + 64;
        c->buf = realloc(c->buf, c->room);
        if (c->buf == NULL)
            abort();
    }
    memcpy(c->buf + c->len, bytes, n);
    c->len += n;
}

static inline void
craft_number_at(uint8_t *at, size_t bytes, uint64_t value)
{
    for (size_t i = bytes; i-- > 0; value >>= 8)
        at[i] = (uint8_t)value;
}

static inline void
craft_count(craft *c, uint32_t count)
{
    uint8_t bytes[4];

    craft_number_at(bytes, 4, count);
    craft_bytes(c, bytes, 4);
}

static inline void
craft_key(craft *c, const char *key)
{
    craft_bytes(c, key, strlen(key) + 1);
}

static inline void
craft_begin(craft *c)
{
    static const uint8_t head[RSET_TREE_HEAD] = {0x95, 0x1f, 0xc3, 0xf5, 0, 1, 0, 1, 0, 0,
                                                 0,    0,    0,    0,    0, 0, 0, 0, 0, 1};

    c->len = 0;
    craft_bytes(c, head, sizeof head);
}

/* Makes the checksum of a container fit again. */
static inline void
craft_seal(uint8_t *buf, size_t len)
{
    craft_number_at(buf + len - 4, 4, rset_crc32(0, buf, len - 4));
}

static inline void
craft_end(craft *c)
{
    craft_count(c, 0); /* place of the checksum */
    craft_number_at(c->buf + 8, 8, c->len);
    craft_seal(c->buf, c->len);
}

static inline void
craft_free(craft *c)
{
    free(c->buf);
    *c = (craft){.buf = NULL};
}

/* A repeatable source of numbers (splitmix64). */
static inline uint64_t
craft_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

#endif
