/* grains.c: see grains.h. */
#include "grains.h"

#include <stdlib.h>

/* Bytes of a grain, and the most grains that are counted: 8 MiB of bits. */
enum { GRAIN_MIN = 4096, GRAINS_MAX = 1 << 26 };

bool
rset_grains_make(rset_grains *g, uint64_t size, const rset_overlay *kept)
{
    size_t bytes;

    *g = (rset_grains){.size = size, .each = GRAIN_MIN};
    while (size / g->each >= GRAINS_MAX)
        g->each *= 2;
    bytes = (size_t)(size / g->each / 8) + 1;
    g->kept = calloc(bytes, 1);
    g->written = calloc(bytes, 1);
    if (g->kept == NULL || g->written == NULL)
        return false;
    for (size_t i = 0; i < kept->n; i++) /* entries begin and end with grains, or with the file */
        rset_grains_note_kept(g, kept->runs[i].off, kept->runs[i].off + kept->runs[i].len);
    return true;
}

void
rset_grains_free(rset_grains *g)
{
    free(g->kept);
    free(g->written);
    *g = (rset_grains){0};
}

static bool
is_set(const uint8_t *bits, uint64_t i)
{
    return (bits[i / 8] & (1u << (i % 8))) != 0;
}

static void
set(uint8_t *bits, uint64_t i)
{
    bits[i / 8] |= (uint8_t)(1u << (i % 8));
}

bool
rset_grains_is_kept(const rset_grains *g, uint64_t grain)
{
    return is_set(g->kept, grain);
}

void
rset_grains_note_kept(rset_grains *g, uint64_t from, uint64_t to)
{
    for (uint64_t i = from / g->each; i * g->each < to; i++)
        set(g->kept, i);
}

void
rset_grains_note_written(rset_grains *g, uint64_t from, uint64_t to)
{
    if (from != g->last_to)
        g->last_from = from;
    g->last_to = to;
    for (uint64_t i = from / g->each; i * g->each < to; i++)
        if (i * g->each >= g->last_from && ((i + 1) * g->each <= to || to == g->size))
            set(g->written, i);
}

bool
rset_grains_are_written(const rset_grains *g, uint64_t from, uint64_t to)
{
    for (uint64_t i = from / g->each; i * g->each < to; i++)
        if (!is_set(g->written, i))
            return false;
    return true;
}
