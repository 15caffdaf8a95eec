/* remove.h: what lies beside a data file is removed, and at which moment:
 *
 *   moment                          prepared              older generations         put aside            changed by others
 *   the file is about to change     was finished before   left by failed commits    left by failed ones  -
 *   a commit has finished           -                     beyond keep=N             lost, of one before  of one before
 *   a recovery has finished         if decided against    left by failed commits    left by failed ones  -
 *   it is unprotected, or deleted   all                   all                       newer                stays
 *
 * Whoever is told to remove one of them (h5redset drop), or undoes what it has made itself (a commit or rebuild that failed), calls
 * forget.h, kept.h and newer.h. Local. */
#ifndef RSET_REMOVE_H
#define RSET_REMOVE_H

#include "member/member.h"

/* The file is about to change: what was left beside it, by commits and restorations that did not come to be, may be the same file, and
 * goes; *ev is updated. `leads_back`: as in rset_kept_part. RSET_IO, RSET_NOMEM. */
rset_status rset_remove_before_change(const rset_local *local, rset_evidence *ev, bool leads_back,
                                      rset_err *err);

/* The older files that a commit retires when it has finished. */
typedef struct rset_retired {
    uint64_t current; /* the generation that has the name now */
    int      keep;    /* older ones stay as rset_kept_retire says; 0: all that are there */
    bool     lost;    /* what was put aside since it could not be had goes */
    uint64_t
        changed_before; /* what another program had changed goes, put aside before that generation; 0: stays */
} rset_retired;

/* Best effort: what stays goes with the next commit. */
void rset_remove_after_commit(const rset_local *local, const rset_retired *what);

/* All ranks have what `found` says: all else goes, but older generations that are kept and what was put aside. *ev is updated. Best
 * effort. */
void rset_remove_after_recovery(const rset_local *local, const rset_evidence *found,
                                rset_evidence *ev);

/* Removes all that protects this rank's files: redundancy, journals, shadow files that nobody writes, whatever crashed runs
 * left, older generations, and what was newer than one that was restored; not the data files, not local->shadow, and not what was put
 * aside because it could not be had (newer.h, rset_lost_forget). */
rset_status rset_unprotect(const rset_local *local, rset_err *err);

/* Removes all that rset_unprotect does but for the descriptor file, if it is that of `rank`. Where files of several ranks are unprotected, all ranks begin before one
 * calls rset_unprotect: so until nothing else is left of any, it says of each that it is one of these. */
rset_status rset_unprotect_begin(const rset_local *local, int rank, rset_err *err);

/* Takes off each data file that is there the mark that says that it is protected: before rset_unprotect, where these files stay. RSET_IO:
 * one cannot be opened, and may still say so. */
rset_status rset_unmark(const rset_local *local, rset_err *err);

#endif
