/* plain_drop.c: an older generation of protected files goes. See plain_internal.h. */
#include "plain_internal.h"

#include <inttypes.h>

rset_status
rset_plain_drop(rset_plain *p, rset_status before, rset_err *err)
{
    const rset_drop_args args = {.world = p->team->comm,
                                 .local = &p->files.local,
                                 .evidence = &p->files.evidence,
                                 .generation = p->job->generation,
                                 .host = p->team->host,
                                 .before = before};

    if (before == RSET_OK && p->job->open)
        before = rset_fail(err, RSET_BUSY,
                           "%s: generation %" PRIu64 " is open, and not removed: close it first",
                           p->files.paths[0], rset_generation_commits(p->job->generation));
    return rset_generation_drop(&args, err);
}
