/* background.h: what is left to do for a file when H5Fclose has returned (async=yes).
 *
 * One thread does one piece of work after the other, in the order in which they were added: for the other
 * ranks that is the order of the closes. Work talks to other ranks and may not call HDF5. Who wants to talk
 * to them himself waits first until everything is done, so nothing that belongs to the conversation of the
 * ranks is ever used by two threads at a time. No HDF5 and no MPI here.
 *
 * What came of it is kept until somebody asks: a failure for the next one who asks for that file, a warning
 * for the next one who may speak. All functions but the work itself are called by threads of the program. In
 * a child that was forked there is no work: it is the parent's. */
#ifndef RSET_BACKGROUND_H
#define RSET_BACKGROUND_H

#include "common/err.h"

#include <stdbool.h>

/* Not RSET_OK: a failure, with its message in *err. warning_out is "" when called. Frees `arg`. */
typedef rset_status rset_background_work(void *arg, char warning_out[RSET_ERR_TEXT], rset_err *err);

/* Leaves `work` for the file `path` (absolute; copied) to the thread, which is started when there is none.
 * False: there can be none (any more), or no memory; nothing has happened, do it now. */
bool rset_background_add(const char *path, rset_background_work *work, void *arg);

/* Work for this file that could not be left to the thread was done by the caller, and has failed: that is kept like what the
 * thread finds. False: it cannot be kept; nothing has happened, tell it now. */
bool rset_background_owe(const char *path, const rset_err *failure);

/* Is there work for this file that is not done? Under another name of the file as well. NULL: for any. */
bool rset_background_busy(const char *path);

/* Is this the thread that works? */
bool rset_background_is_here(void);

/* Waits until there is none. */
void rset_background_wait(const char *path);
/* The same for all files; as a callback. */
void rset_background_wait_for_all(void);

/* Is there a failure that nobody has asked for? `path` as above. */
bool rset_background_owes(const char *path);

/* Takes the first of them: its status and, in *err, its message. RSET_OK: there is none. */
rset_status rset_background_take(const char *path, rset_err *err);

/* Takes the next warning; false: there is none. */
bool rset_background_warning(char text_out[RSET_ERR_TEXT]);

/* Waits until everything is done and ends the thread; no work is taken from now on. */
void rset_background_end(void);

/* The process is exiting, and the thread has not come to an end in time: it may be in the middle of a
 * conversation with the other ranks, so nobody else can begin one. */
bool rset_background_stuck(void);

#endif
