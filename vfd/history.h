/* history.h: what this process has done with a file last: what its open did, whether it is being changed, and why it could not be
 * opened or protected.
 *
 * Filled by sessions, in the program's thread and in the background's; read at any time, under a lock that nobody holds for
 * long. The files used last are known, RSET_HISTORY_FILES of them at least, and all that are being changed. No HDF5 and no
 * MPI here. */
#ifndef RSET_HISTORY_H
#define RSET_HISTORY_H

#include "protect/protect.h"

#include <stdbool.h>
#include <stdint.h>

enum { RSET_HISTORY_FILES = 256 };

/* What an open has done about this rank's data file; of several things the last one here. */
typedef enum rset_did {
    RSET_DID_NOT_ASK,  /* nobody protects it, or it was created */
    RSET_DID_NOTHING,  /* it was as it should be, or nothing could be done about it */
    RSET_DID_COPY,     /* it lay where another rank runs, and was copied here */
    RSET_DID_MOVE,     /* and was moved here */
    RSET_DID_REBUILD,  /* it was lost or damaged, and is back */
    RSET_DID_FORWARD,  /* a commit that had been cut short was finished */
    RSET_DID_BACK,     /* it was rolled back to what was protected last */
    RSET_DID_REFUSE,   /* it was not opened */
    RSET_DID_FALL_BACK /* an older generation was opened, since the newest cannot be had */
} rset_did;

typedef struct rset_opened {
    rset_did did;
    uint64_t concerned; /* ranks whose open did more than nothing, 0 where it was refused */
    uint64_t rebuilt;   /* ranks whose data file was lost or damaged, and is back */
    uint64_t generation,
        time; /* that was opened, and when it was protected; 0: nothing records it */
    char label[RSET_STAMP_TEXT + 1]; /* and what it is called */
} rset_opened;

typedef struct rset_history {
    rset_opened opened;
    bool changing; /* it was created or changed, and what became of its close is not known yet */
    char why[RSET_ERR_TEXT]; /* it was refused, or could not be protected: why; "": neither */
    char in_place
        [RSET_ERR_TEXT]; /* it is being changed, and cannot be rolled back: why; "": it can, or need not */
} rset_history;

/* An open of `path` (absolute) has come to its end; `why` NULL unless it was refused. Like the others, what there is no memory
 * for is not kept. Local, all of them. */
void rset_history_opened(const char *path, const rset_opened *opened, const rset_err *why);

/* It has begun to change. */
void rset_history_changes(const char *path);

/* What it changes since cannot be rolled back, until it is closed or protected: `why`. */
void rset_history_in_place(const char *path, const rset_err *why);

/* It was closed, or protected while it is open; `why`: it could not be protected, else NULL. */
void rset_history_closed(const char *path, const rset_err *why);

/* Was the last open of it refused because what was protected could not be had, and has nothing been opened or protected under this name
 * since? */
bool rset_history_lost(const char *path);

/* What is known of it; all zero: nothing. */
void rset_history_get(const char *path, rset_history *out);

#endif
