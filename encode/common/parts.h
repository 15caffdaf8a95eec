/* parts.h: several pieces of memory as one block of bytes, to be sent to another process of the same program. What comes from one is
 * checked: no part lies outside of its block. Pure. */
#ifndef RSET_PARTS_H
#define RSET_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rset_part {
    const void *at; /* borrowed; of a block that was received: unaligned */
    size_t      len;
} rset_part;

/* The bytes of a text, with the one that ends it; none of NULL. */
rset_part rset_part_of_text(const char *text);

/* The text that such a part has: borrowed. NULL: it has none, where `len` is 0, or is no text. */
const char *rset_part_text(const rset_part *part);

/* A new block of them, freed with free(). NULL without memory. */
uint8_t *rset_parts_pack(const rset_part *parts, size_t n, size_t *len_out);

/* How many parts a block has that was received. False: it is none. */
bool rset_parts_count(const void *block, size_t len, size_t *n_out);

/* Part i of a block that has more of them. */
rset_part rset_parts_at(const void *block, size_t i);

/* Copies a part that is a struct of `size` bytes. False: it is none. */
bool rset_part_copy(const rset_part *part, void *to, size_t size);

/* True if each of these n bytes of a struct, whose offsets are given, is 0 or 1, as a bool has to be. */
bool rset_are_bools(const void *of, const size_t *offsets, size_t n);

#endif
