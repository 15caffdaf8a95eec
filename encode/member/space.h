/* space.h: how much of the disk a data file takes, with all that lies beside it. Local. */
#ifndef RSET_SPACE_H
#define RSET_SPACE_H

#include "member.h"

/* What was counted already: a file with several names takes its space once. Zeroed: nothing. */
typedef struct rset_space {
    size_t n, room;
    struct rset_counted {
        dev_t dev;
        ino_t ino;
    } * at; /* owned */
} rset_space;

/* Bytes on disk of the data files of `local` and of all names of ours beside them, but for older generations and those that were put
 * aside, which are files of their own (kept.h, newer.h), and for what was counted before. RSET_IO, RSET_NOMEM. */
rset_status rset_space_of(rset_space *counted, const rset_local *local, uint64_t *bytes_out,
                          rset_err *err);
/* The same of one file, added to *bytes. What is gone meanwhile takes nothing. */
rset_status rset_space_add(rset_space *counted, rset_dir *dir, const char *name, uint64_t *bytes,
                           rset_err *err);
void        rset_space_free(rset_space *counted);

#endif
