/* store_holes.c: what of a new file has been written, so that zeros elsewhere need not be. See store_sys.h. Pure. */
#include "store_sys.h"

#include "common/bytes.h"

#include <string.h>

enum { BLOCK = 32 << 10 };

/* How many end before `at`. */
static size_t
before(const rset_written *w, uint64_t at)
{
    size_t i = 0;

    while (i < w->n && w->at[i].to < at)
        i++;
    return i;
}

bool
rset_written_has(const rset_written *w, uint64_t from, uint64_t to)
{
    const size_t i = before(w, from + 1);

    return i < w->n && w->at[i].from < to;
}

void
rset_written_note(rset_written *w, uint64_t from, uint64_t to)
{
    size_t i = before(w, from), last;

    if (from >= to)
        return;
    if (i == w->n || w->at[i].from > to) { /* apart from all others */
        if (w->n < RSET_WRITTEN_MAX) {
            memmove(&w->at[i + 1], &w->at[i], (w->n - i) * sizeof w->at[0]);
            w->at[i] = (rset_range){from, to};
            w->n++;
            return;
        }
        i -= i == w->n; /* what lies between counts as written */
    }
    if (from < w->at[i].from)
        w->at[i].from = from;
    for (last = i; last + 1 < w->n && w->at[last + 1].from <= to;)
        last++;
    to = to > w->at[last].to ? to : w->at[last].to;
    w->at[i].to = to;
    memmove(&w->at[i + 1], &w->at[last + 1], (w->n - last - 1) * sizeof w->at[0]);
    w->n -= last - i;
}

size_t
rset_run_of(const uint8_t *buf, size_t len, bool zeros)
{
    size_t n = 0;

    while (n < len) {
        const size_t block = len - n < BLOCK ? len - n : BLOCK;

        if (rset_is_zeros(buf + n, block) != zeros)
            break;
        n += block;
    }
    return n;
}
