/* buffer.c: see buffer.h. */
#include "buffer.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

/* A system that has no large pages, or none left, gives others: nothing but time depends on them. */
uint8_t *
rset_buffers_alloc(size_t bytes, uint8_t **begin_out)
{
    const bool     large = bytes >= RSET_BUFFER_LARGE;
    const size_t   pages = (bytes + RSET_BUFFER_LARGE - 1) / RSET_BUFFER_LARGE * RSET_BUFFER_LARGE;
    uint8_t *const room = malloc(large ? pages + RSET_BUFFER_LARGE : bytes);

    *begin_out = room;
    if (room == NULL || !large)
        return room;
    *begin_out += RSET_BUFFER_LARGE - (uintptr_t)room % RSET_BUFFER_LARGE;
    (void)madvise(*begin_out, pages, MADV_HUGEPAGE);
    return room;
}
