/* amount.c: see amount.h. */
#include "amount.h"

#include <stddef.h>
#include <stdio.h>

const char *
rset_amount_say(uint64_t bytes, char buf[RSET_AMOUNT])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double                   value = (double)bytes;
    size_t                   u = 0;

    for (; value >= 1024 && u + 1 < sizeof units / sizeof *units; u++)
        value /= 1024;
    snprintf(buf, RSET_AMOUNT, u == 0 || value >= 100 ? "%.0f %s" : "%.1f %s", value, units[u]);
    return buf;
}
