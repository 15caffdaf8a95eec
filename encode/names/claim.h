/* claim.h: what a process says to others of a data file, by a lock of our own on its names file. It holds with HDF5's locks and
 * without them (HDF5_USE_FILE_LOCKING), on the node that has the file, and goes with the process. */
#ifndef RSET_CLAIM_H
#define RSET_CLAIM_H

#include "store/store.h"

typedef enum {
    RSET_CLAIM_USE,    /* the file is open to be changed: several may */
    RSET_CLAIM_ALONE,  /* nobody has it open to be changed, and nobody begins to */
    RSET_CLAIM_COMMIT, /* it is being protected: redundancy and data are written, and get their names, by this process alone */
    RSET_CLAIM_REPAIR  /* it is being rebuilt or rolled back, by this process alone */
} rset_claim_kind;

/* *claim_out: NULL where there is no names file, so nothing that could be claimed; or where it may not be written. RSET_BUSY:
 * another process has claimed what rules this out, and *err says what that is doing with the file `path`. Local. */
rset_status rset_claim(rset_dir *dir, const char *prefix, const char *path, rset_claim_kind kind,
                       rset_file **claim_out, rset_err *err);

/* Has another process, or another part of this one, that exclusive claim, as RSET_CLAIM_COMMIT? Claims nothing. False also where that
 * cannot be told: without a names file, or where the file system has no locks. Local. */
bool rset_claim_is_held(rset_dir *dir, const char *prefix, rset_claim_kind kind);

/* RSET_BUSY: the file `path` is being committed, so it is not changed now, nor created anew. Claims nothing. Local. */
rset_status rset_claim_check_commit(rset_dir *dir, const char *prefix, const char *path,
                                    rset_err *err);

/* RSET_CLAIM_REPAIR, for which it waits at most `seconds`: one process repairs, the others look again afterwards. Where *claim_out is
 * NULL several may repair at once, and only what a process has verified itself gets a name (rset_dir_publish). Local. */
rset_status rset_claim_to_repair(rset_dir *dir, const char *prefix, const char *path, int seconds,
                                 rset_file **claim_out, rset_err *err);

/* Ends it, also for children that were forked meanwhile; of the parent's, a child only closes it. NULL is accepted. */
void rset_claim_end(rset_file *claim);

#endif
