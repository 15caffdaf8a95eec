/* bytes.h: 64-bit numbers of our own files and marks, little endian whatever the machine. */
#ifndef RSET_BYTES_H
#define RSET_BYTES_H

#include <stdint.h>

static inline void
rset_put64(uint8_t *to, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

static inline uint64_t
rset_get64(const uint8_t *from)
{
    uint64_t value = 0;

    for (int i = 0; i < 8; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

#endif
