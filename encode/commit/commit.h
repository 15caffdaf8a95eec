/* commit.h: one member's share of a commit, from the moment that all ranks have voted for it. The same steps whether the
 * program that prepared it is still there, or has died and the next one finishes what it began (P11).
 *
 *   prepared    redundancy file, or an update of it, and descriptor complete under ".new"; data complete, as a
 *               shadow file of that generation or under its name; all of it durable, names too
 *   published   the redundancy file has its name (the update: ".redo"). One published is proof that all have voted
 *   finished    the data file has its name, and the next journal is the journal; nothing of older generations is left
 *
 * Local, all of it; each may be done again. */
#ifndef RSET_COMMIT_H
#define RSET_COMMIT_H

#include "member/member.h"

typedef struct rset_commit {
    uint64_t    generation;
    const char *name, *desc_name; /* of the redundancy file and the descriptor, without suffix */
    const rset_overlay *update;   /* it is an update of the redundancy file; NULL: a whole one */
    bool                shadow;   /* the data is in the shadow file of that generation */
    bool
        next; /* the file goes on changing, and the next journal of that generation leads back to it (journal.h): the
                  redundancy file is void from the start */
} rset_commit;

/* prepared -> published. What has been published already is no error. */
rset_status rset_commit_publish(const rset_local *local, const rset_commit *commit, rset_err *err);

/* published -> finished, but for the mark of the data file. */
rset_status rset_commit_finish(const rset_local *local, const rset_commit *commit, rset_err *err);

/* Both, for a rank whose disk says that it has prepared `generation`, or published and not finished it: *ev, which is
 * surveyed anew. */
rset_status rset_commit_complete(const rset_local *local, uint64_t generation, rset_evidence *ev,
                                 rset_err *err);

/* rset_commit_complete where other processes may be at the same: one at a time finishes a commit, and who comes later finds that done.
 * Waits at most `seconds` for another one, then RSET_BUSY. */
enum { RSET_COMMIT_PATIENCE = 10 }; /* of who can do something else instead */
rset_status rset_commit_settle(const rset_local *local, uint64_t generation, int seconds,
                               rset_evidence *ev, rset_err *err);

/* Discards what was prepared, of the files that it is committed with as well (siblings.h), before anything that it belongs to is lost. */
rset_status rset_commit_discard(const rset_local *local, const rset_evidence *ev, rset_err *err);

#endif
