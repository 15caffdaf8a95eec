/* buffer.h: where bytes lie on their way from one file to another.
 *
 * Some processors copy several times slower when, modulo the page size, the destination is 1 to 31 bytes behind the source
 * (measured on AMD Zen 3: 1.3 instead of 6 GB/s, of pread, pwrite, memcpy and process_vm_readv alike). What malloc gives for
 * large buffers is 16 bytes into a page, so that reading a file from its beginning is such a copy. A buffer here is begun
 * where neither its file nor another buffer of this kind is that near.
 *
 * Many buffers that are used together lie in large pages where the system has them: fewer faults, and less to pin for whoever copies
 * from another process's memory (XOR, 8 ranks on 2 cores: an encode takes 0.84 of the time). Local. */
#ifndef RSET_BUFFER_H
#define RSET_BUFFER_H

#include <stddef.h>
#include <stdint.h>

enum {
    RSET_BUFFER_PAGE = 4096,
    RSET_BUFFER_NEAR = 32,               /* as near is slow */
    RSET_BUFFER_LARGE = 2 * 1024 * 1024, /* bytes of a large page */
    RSET_FILE_AT_ONCE =
        64 *
        1024 /* bytes to read or write at a time where they are worked on at once: they stay in the
                                   * core's own cache from one to the other */
};

/* How many bytes to allocate for a buffer of `len` bytes that may begin wherever rset_buffer_for_read or _write say. Pure, as the next three. */
static inline size_t
rset_buffer_size(size_t len)
{
    return len + 2 * RSET_BUFFER_PAGE;
}

/* The first page in `room`, or half of one further where that is too near to `distance`: from the source to the destination,
 * modulo the page size, if the buffer began at a page. */
static inline uint8_t *
rset_buffer_begin(void *room, uint64_t distance)
{
    const uintptr_t page =
        ((uintptr_t)room + RSET_BUFFER_PAGE - 1) / RSET_BUFFER_PAGE * RSET_BUFFER_PAGE;
    const uint64_t behind = distance % RSET_BUFFER_PAGE;

    return (uint8_t *)room + (page - (uintptr_t)room) +
           (behind > 0 && behind < RSET_BUFFER_NEAR ? RSET_BUFFER_PAGE / 2 : 0);
}

/* Where in `room` (rset_buffer_size bytes) to have what is read from offset `off` of a file on, or is to be written there. */
static inline uint8_t *
rset_buffer_for_read(void *room, uint64_t off)
{
    return rset_buffer_begin(room, UINT64_C(0) - off);
}

static inline uint8_t *
rset_buffer_for_write(void *room, uint64_t off)
{
    return rset_buffer_begin(room, off);
}

/* Allocates memory for many buffers, `bytes` in all, that are written and read again and again; NULL: there is none. They begin at
 * *begin_out. The caller owns what is returned, and frees it with free(). */
uint8_t *rset_buffers_alloc(size_t bytes, uint8_t **begin_out);

#endif
