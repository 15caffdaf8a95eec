/* recall.h: what a directory held when this process listed it last. Listing a directory takes time in proportion to all
 * that is in it, whoever it belongs to; so it is done once, and the names that may be wanted are kept.
 *
 * Kept are the latest few directories (by device and inode), of each the names that contain a word, as long as they take
 * up no more than 32 MiB; a directory with more of them is listed each time. Safe to be called by several threads. */
#ifndef RSET_RECALL_H
#define RSET_RECALL_H

#include "store.h"

#include <time.h>

typedef struct rset_recall {
    const char            *word, *prefix; /* names that begin with `prefix` and contain `word` */
    const struct timespec *since; /* listed well after this (two seconds); NULL: any time will do */
} rset_recall;

/* For `since`: list it now. */
extern const struct timespec rset_recall_now;

/* Calls visit(name, arg) for each such name until it returns false; visit makes no file calls. Names may have gone since.
 * Lists the directory where nothing that is recent enough is kept of it. `word` is a constant. RSET_IO, RSET_NOMEM. Local. */
rset_status rset_dir_recall(rset_dir *dir, const rset_recall                 *what,
                            bool (*visit)(const char *name, void *arg), void *arg, rset_err *err);

/* Forgets all directories: for tests, which change them by hand and go on in one process. */
void rset_recall_forget(void);

#endif
