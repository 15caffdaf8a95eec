/* ranks_promises.c: see ranks_promises.h. */
#include "ranks_promises.h"

#include <string.h>

int
promised(const protection *by, unsigned lost)
{
    int n_lost = 0;
    int orphans = 0; /* an orphan: none of the next `count` ranks, which hold copies, is left */

    for (int r = 0; r < by->ranks; r++) {
        int copies = 0;
        if (!(lost >> r & 1))
            continue;
        n_lost++;
        for (int d = 1; d <= by->count; d++)
            copies += !(lost >> ((r + d) % by->ranks) & 1);
        orphans += copies == 0;
    }
    if (strcmp(by->scheme, "PARTNER") == 0)
        return orphans == 0;
    if (strcmp(by->scheme, "XOR") == 0)
        return n_lost <= 1;
    if (strcmp(by->scheme, "RS") == 0)
        return n_lost <= by->count;
    return n_lost == 0; /* SINGLE */
}

int
one_too_many(const protection *by, unsigned lost)
{
    for (int r = 0; r < by->ranks; r++)
        if (lost >> r & 1 && promised(by, lost & ~(1u << r)))
            return 1;
    return 0;
}
