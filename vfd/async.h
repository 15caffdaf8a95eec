/* async.h: async=yes, from HDF5's side: what H5Fclose leaves to the thread of background.h, and how its
 * outcome comes back. Called by handle.c, finalize.c and the slots. */
#ifndef RSET_ASYNC_H
#define RSET_ASYNC_H

#include "session.h"

#include <H5FDdevelop.h>

/* Can the end of a session be left to the thread? Asked when the file is opened: H5Fclose has little time. */
bool rset_async_possible(const rset_config *config);

/* Leaves the end of `session` to the thread; the lower driver has closed the file. True: done, the session is not
 * the caller's any more. False: rset_session_close it now. `config` is that of the session. `guard`: the old file,
 * or NULL; its lock is held until the end of the session although the caller closes it. Waits for the other ranks
 * only when these come together for the first time: collective calls on the program's own communicator
 * are made in the program's own thread. */
bool rset_async_hand_over(rset_session *session, const rset_config *config, const char *path,
                          H5FD_t *guard);

/* Leaves a commit of a file that stays open to the thread: of what it is now. True: done. False: rset_session_commit it. Waits as
 * above. `config` is that of the session. */
bool rset_async_commit(rset_session *session, rset_commit_by by, const rset_config *config,
                       const char *path);

/* A close, or commit, of the file `path` was done in this thread and came to `st`, with its message in *err. `behind`: other ranks
 * leave theirs to the background, and hear of a failure in their next call about the file: so does this one, and RSET_OK is
 * returned. Otherwise `st`, which is to be told now. */
rset_status rset_async_tell_later(bool behind, const char *path, rset_status st, rset_err *err);

/* Says all warnings that have come up. */
void rset_async_speak(void);

/* The same, and says failures that nobody has asked for. */
void rset_async_speak_all(void);

#endif
