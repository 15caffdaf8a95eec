/* rebuilding.h: an open that rebuilds more than 1 GiB says so on stderr when it begins, and how long it took when it has ended.
 * Of all ranks that open together one says it, for all. */
#ifndef RSET_VFD_REBUILDING_H
#define RSET_VFD_REBUILDING_H

#include "recover/recover.h"

/* One open. Begun: what the engine is to be given is rebuilding->watch; the struct stays where it is until the end. */
typedef struct rset_long_rebuild {
    rset_rebuild_watch watch;
    const char *
        host; /* of this process, borrowed; NULL: without other ranks, and nothing is said of ranks */
    double since;
    char   what[RSET_ERR_TEXT]; /* "": nothing was said */
    char   where[RSET_HOST_NAME + 32];
    char   amount[96];
} rset_long_rebuild;

void rset_long_rebuild_begin(rset_long_rebuild *r, const char *host);

/* `st`: what came of it. Where that is not RSET_OK, it is not said that anything was rebuilt. */
void rset_long_rebuild_end(const rset_long_rebuild *r, rset_status st);

#endif
