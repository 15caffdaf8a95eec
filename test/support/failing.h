/* failing.h: the Nth of some kinds of file calls of one rank fails, or lies: the engine's calls, in the thread of
 * that rank. */
#ifndef FAILING_H
#define FAILING_H

#include "job.h"

enum {
    FAILING_PWRITE = 1, /* ENOSPC; the others EIO */
    FAILING_FSYNC = 2,
    FAILING_RENAME = 4,
    FAILING_CREATE = 8, /* openat with O_CREAT */
    FAILING_OPEN = 16,  /* any other */
    FAILING_PREAD = 32,
    FAILING_FSTAT = 64,
    FAILING_FSTATAT = 128,
    FAILING_LOOKS = FAILING_CREATE | FAILING_OPEN | FAILING_PREAD | FAILING_FSTAT | FAILING_FSTATAT,
    FAILING_LIE = 256, /* a pread gives a bit that is wrong */
    FAILING_UNLINK = 512,
    FAILING_LIST = 1024 /* a directory cannot be listed, or not to its end */
};

/* Runs the action while call number `at` (from 1 on; 0: none) of `calls`, counted together, fails on that rank.
 * *hit_out: it came so far. Takes the job's `before`. Fails the test where the action fails and its message does not say what the call failed
 * with. */
rset_status failing_run(job *j, rset_status (*action)(job *j), unsigned calls, int rank, int at,
                        bool *hit_out);

/* Runs the body, while call number `at` of `calls`, of whichever thread, fails, as failing_run. */
rset_status failing_here(rset_status (*body)(void *arg), void *arg, unsigned calls, int at,
                         bool *hit_out);

/* For calls that do not go through the engine's table: one is made now. True: it fails, with errno. */
bool failing_now(unsigned call);

/* All recover, and the run is killed: from call number `at` (from 1 on) on that rank can rename and remove nothing any more; rank -1:
 * each from its own. True: it came so far. */
bool failing_killed(job *j, int rank, int at);

#endif
