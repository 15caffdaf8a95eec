/* beside.h: a file, by its path alone: where it is, and what its directory says of it. For calls that ask nobody else. No HDF5 and
 * no MPI here. */
#ifndef RSET_BESIDE_H
#define RSET_BESIDE_H

#include "recover/recover.h"

typedef struct rset_beside {
    const char   *path, *name;              /* `path` is borrowed; the other is `base` */
    char         *dir_path, *base, *prefix; /* owned */
    rset_local    local; /* points to the rest; without a directory where that is missing */
    rset_evidence evidence;
} rset_beside;

/* The file at `path` (absolute), which need not be there, nor its directory. *out, which must stay where it is, is to be freed in
 * any case. RSET_IO, RSET_NOMEM. Local; writes nothing. */
rset_status rset_beside_look(const char *path, rset_beside *out, rset_err *err);
void        rset_beside_free(rset_beside *b);

#endif
