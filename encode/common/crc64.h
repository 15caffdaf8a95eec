/* crc64.h: content checksums, CRC-64/XZ, computed in any order and one pass.
 *
 * Encoding reads a file once, in the order in which the stripes need it, not from front to back.
 * A CRC is linear, so each fragment's contribution to its block can be computed on its own, shifted
 * to its place and xor-ed in: rset_sums does that. Pure: no files, no MPI. */
#ifndef RSET_CRC64_H
#define RSET_CRC64_H

#include <stddef.h>
#include <stdint.h>

/* CRC-64/XZ of `len` bytes, continuing from `crc` (0 to begin). Check value: "123456789" gives
 * 0x995dc9bbdf1939fa. ISA-L's crc64_ecma_refl. */
uint64_t rset_crc64(uint64_t crc, const void *buf, size_t len);

/* rset_crc64 of `len` zeros, which are not read. Local, O(log len). */
uint64_t rset_crc64_zeros(uint64_t crc, uint64_t len);

/* CRC of the concatenation A|B from crc(A), crc(B) and the length of B. Local, O(log len_b). */
uint64_t rset_crc64_combine(uint64_t crc_a, uint64_t crc_b, uint64_t len_b);

/* CRC-32 of the tree container (zlib's crc32, FORMAT.md 2), continuing from `crc` (0 to begin). */
uint32_t rset_crc32(uint32_t crc, const void *buf, size_t len);

/* Checksums of one file or payload: of each block of `block` bytes, and from these of the whole. */
typedef struct rset_sums {
    uint64_t  size;    /* bytes covered */
    uint64_t  block;   /* bytes per block, the last block may be shorter; > 0 */
    size_t    nblocks; /* ceil(size / block); 0 for an empty file */
    uint64_t *crc;     /* nblocks values; owned. NULL when nblocks is 0 */
    uint64_t  whole;   /* CRC of all bytes; valid after rset_sums_finish or when read from disk */
} rset_sums;

/* Block size for a file of `size` bytes such that its checksums take at most `max_blocks` values: a
 * power of two, at least RSET_BLOCK_MIN. max_blocks > 0. */
enum { RSET_BLOCK_MIN = 64 * 1024 };
uint64_t rset_sums_block_size(uint64_t size, size_t max_blocks);

/* Starts sums of `size` bytes in blocks of `block` (> 0) with no byte added yet. Returns 0, or -1
 * when memory runs out (then *sums is empty). rset_sums_free accepts a zeroed struct. */
int  rset_sums_init(rset_sums *sums, uint64_t size, uint64_t block);
void rset_sums_free(rset_sums *sums);

/* Adds the `len` bytes at offset `off`; bytes beyond `size` are ignored. Each byte of the file must
 * be added exactly once, in any order. */
void rset_sums_add(rset_sums *sums, uint64_t off, const void *buf, size_t len);

/* Ends the adding: crc[] and whole are then CRC-64/XZ values of blocks and file. */
void rset_sums_finish(rset_sums *sums);

/* The same but for whole, which is the more expensive part. */
void rset_sums_finish_blocks(rset_sums *sums);

/* Finished sums follow a change of the `len` bytes at offset `off`: `difference` is old ^ new. Bytes beyond `size` are ignored.
 * The bytes themselves need not be read again, since R(0, old) ^ R(0, new) = R(0, old ^ new) (crc64.c). */
void rset_sums_change(rset_sums *sums, uint64_t off, const void *difference, size_t len);

/* Deep copy into *out (which holds nothing). 0, or -1 when memory runs out. */
int rset_sums_copy(const rset_sums *from, rset_sums *out);

/* Index of the first block >= `from` where the finished sums differ; nblocks if none does. The two
 * must have equal size and block. */
size_t rset_sums_differ(const rset_sums *a, const rset_sums *b, size_t from);

#endif
