/* parts.c: see parts.h. A block begins with how many parts it has, and where each of them ends; their bytes follow. */
#include "parts.h"

#include <stdlib.h>
#include <string.h>

enum { WORD = sizeof(uint64_t) };

static uint64_t
word(const void *block, size_t i)
{
    uint64_t value;

    memcpy(&value, (const uint8_t *)block + i * WORD, sizeof value);
    return value;
}

rset_part
rset_part_of_text(const char *text)
{
    return (rset_part){.at = text, .len = text != NULL ? strlen(text) + 1 : 0};
}

const char *
rset_part_text(const rset_part *part)
{
    return part->len > 0 &&
                   memchr(part->at, '\0', part->len) == (const char *)part->at + part->len - 1
               ? part->at
               : NULL;
}

uint8_t *
rset_parts_pack(const rset_part *parts, size_t n, size_t *len_out)
{
    uint64_t end = (1 + n) * WORD, count = n;
    uint8_t *block;

    for (size_t i = 0; i < n; i++)
        end += parts[i].len;
    block = malloc(end);
    if (block == NULL)
        return NULL;
    *len_out = end;
    memcpy(block, &count, WORD);
    end = (1 + n) * WORD;
    for (size_t i = 0; i < n; i++) {
        if (parts[i].len > 0)
            memcpy(block + end, parts[i].at, parts[i].len);
        end += parts[i].len;
        memcpy(block + (1 + i) * WORD, &end, WORD);
    }
    return block;
}

bool
rset_parts_count(const void *block, size_t len, size_t *n_out)
{
    const uint64_t n = len >= WORD ? word(block, 0) : UINT64_MAX;
    uint64_t       end = n < len / WORD ? (1 + n) * WORD : UINT64_MAX;

    for (uint64_t i = 1; end <= len && i <= n; i++)
        end = word(block, i) >= end ? word(block, i) : UINT64_MAX;
    *n_out = (size_t)n;
    return end == len;
}

rset_part
rset_parts_at(const void *block, size_t i)
{
    const uint64_t from = i > 0 ? word(block, i) : (1 + word(block, 0)) * WORD;

    return (rset_part){.at = (const uint8_t *)block + from, .len = word(block, i + 1) - from};
}

bool
rset_part_copy(const rset_part *part, void *to, size_t size)
{
    if (part->len != size)
        return false;
    memcpy(to, part->at, size);
    return true;
}

bool
rset_are_bools(const void *of, const size_t *offsets, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (((const uint8_t *)of)[offsets[i]] > 1)
            return false;
    return true;
}
