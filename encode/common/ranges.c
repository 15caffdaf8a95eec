/* ranges.c: see ranges.h. */
#include "ranges.h"

#include <assert.h>
#include <stdlib.h>

bool
rset_ranges_add(rset_ranges *ranges, uint64_t from, uint64_t to)
{
    rset_range *last = ranges->n > 0 ? &ranges->at[ranges->n - 1] : NULL;

    if (from >= to)
        return true;
    assert(last == NULL || from >= last->from); /* A3 */
    if (last != NULL && from <= last->to) {
        if (to > last->to)
            last->to = to;
        return true;
    }
    if (ranges->n == ranges->room) {
        size_t      room = ranges->room > 0 ? 2 * ranges->room : 8;
        rset_range *grown = realloc(ranges->at, room * sizeof *grown);

        if (grown == NULL)
            return false;
        ranges->at = grown;
        ranges->room = room;
    }
    ranges->at[ranges->n++] = (rset_range){from, to};
    return true;
}

bool
rset_ranges_cover(const rset_ranges *ranges, uint64_t at, uint64_t *until_out)
{
    size_t low = 0, high = ranges->n;

    while (low < high) { /* first range that ends after `at` */
        size_t mid = low + (high - low) / 2;

        if (ranges->at[mid].to <= at && ranges->at[mid].to != UINT64_MAX)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == ranges->n) {
        *until_out = UINT64_MAX;
        return false;
    }
    if (ranges->at[low].from > at) {
        *until_out = ranges->at[low].from;
        return false;
    }
    *until_out = ranges->at[low].to;
    return true;
}

void
rset_ranges_free(rset_ranges *ranges)
{
    free(ranges->at);
    *ranges = (rset_ranges){0};
}
