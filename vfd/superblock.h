/* superblock.h: what HDF5's superblock says of itself, as far as a driver has to know (HDF5 File Format
 * Specification, II.A). */
#ifndef RSET_SUPERBLOCK_H
#define RSET_SUPERBLOCK_H

#include <stdbool.h>
#include <stddef.h>

enum { RSET_SUPERBLOCK_MIN = 24, RSET_SUPERBLOCK_MAX = 512 };

/* Do these bytes begin like a superblock, with room for what is looked at below? */
bool rset_superblock_is(const void *bytes, size_t size);

/* How many of these bytes, which begin like a superblock, are needed to write its flags: HDF5 never writes fewer. */
size_t rset_superblock_size(const void *bytes);

/* Do two superblocks of `size` bytes differ in nothing but the flags that say who has the file open, and
 * the checksum over them? */
bool rset_superblock_same_but_flags(const void *a, const void *b, size_t size);

/* Clears the flags, as HDF5 does when it closes the file. False: nothing was set. */
bool rset_superblock_clear_flags(void *bytes);

/* Does it say that a single writer shares the file with readers (SWMR)? */
bool rset_superblock_is_shared(const void *bytes);

#endif
