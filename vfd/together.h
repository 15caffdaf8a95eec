/* together.h: files of this rank that are committed together (together=, H5FDredset_group). A file that is closed waits for the
 * others of its group; with the last of them all are protected, in one commit. What waits is as it was closed, and is not protected
 * yet. All functions are called by threads of the program. */
#ifndef RSET_TOGETHER_H
#define RSET_TOGETHER_H

#include "config.h"
#include "session.h"

#include <H5FDdevelop.h>

/* How a file was closed. */
typedef struct rset_together_closed {
    const rset_config *config; /* that of the session */
    const char        *path;   /* absolute */
    H5FD_t            *guard;  /* the old file, whose lock is kept while it waits; NULL: none */
    bool               lower_ok;
} rset_together_closed;

/* The lower driver has closed the file of `session`. True: it is one of a group, the session is not the caller's any more, and
 * either waits or has ended: *st_out, with warning_out and *err as rset_sessions_close has them. False: it is not, and nothing has
 * happened. Collective where it is the last of its group. */
bool rset_together_take(rset_session *session, const rset_together_closed *how, rset_status *st_out,
                        char warning_out[RSET_ERR_TEXT], rset_err *err);

/* Does the file at `path` wait? NULL: does any? */
bool rset_together_waits(const char *path);

/* It is used again, or asked for, before the others of its group were closed: what waits of the group is protected now, and the
 * user is told which was missing. NULL: of all groups. Not RSET_OK: it could not be, and a file has required=yes. Collective. */
rset_status rset_together_end(const char *path, rset_err *err);

#endif
