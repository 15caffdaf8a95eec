/* rebuilding.c: see rebuilding.h. */
#include "rebuilding.h"

#include "common/amount.h"
#include "said.h"

#include <inttypes.h>
#include <stdio.h>

#define MUCH (UINT64_C(1) << 30)

static void
say_amount(const rset_rebuilding *what, char *buf, size_t size)
{
    char all[RSET_AMOUNT], others[64] = "";

    if (what->ranks > 1)
        snprintf(others, sizeof others, " with the files of %" PRIu64 " more rank%s",
                 what->ranks - 1, what->ranks == 2 ? "" : "s");
    snprintf(buf, size, "%s%s", rset_amount_say(what->bytes, all), others);
}

/* Called by the engine. */
static void
begins(void *arg, const rset_rebuilding *what)
{
    rset_long_rebuild *r = arg;
    char               text[2 * RSET_ERR_TEXT];
    const char        *why = what->lost ? "lost" : what->damaged ? "damaged" : "redundancy lost";

    if (what->bytes <= MUCH)
        return;
    if (r->what[0] == '\0')
        r->since = rset_clock();
    snprintf(r->what, sizeof r->what, "%s", what->name);
    say_amount(what, r->amount, sizeof r->amount);
    if (r->host != NULL)
        snprintf(r->where, sizeof r->where, " (rank %d on %s)", what->rank, r->host);
    snprintf(text, sizeof text, "%s: %s, rebuilding %s%s", r->what, why, r->amount, r->where);
    rset_said(text, RSET_SAID_MANY);
}

void
rset_long_rebuild_begin(rset_long_rebuild *r, const char *host)
{
    *r = (rset_long_rebuild){.watch = {begins, r}, .host = host};
}

void
rset_long_rebuild_end(const rset_long_rebuild *r, rset_status st)
{
    char text[2 * RSET_ERR_TEXT];

    if (st != RSET_OK || r->what[0] == '\0')
        return;
    snprintf(text, sizeof text, "%s: rebuilt %s in %.1f s%s", r->what, r->amount,
             rset_clock() - r->since, r->where);
    rset_said(text, RSET_SAID_MANY);
}
