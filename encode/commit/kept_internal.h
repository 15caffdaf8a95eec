/* kept_internal.h: the files of an older generation; what kept.c (adding), kept_remove.c and kept_expand.c (making one whole) share.
 * Nobody else includes this. */
#ifndef RSET_KEPT_INTERNAL_H
#define RSET_KEPT_INTERNAL_H

#include "kept.h"
#include "names/names.h"

/* What the files of one are called. Owned. */
typedef struct rset_kept_names {
    char *data; /* its data file */
    char *undo; /* what leads back to it, from that or from the next newer one; none: it is whole */
    char *prefix; /* of what protects it */
} rset_kept_names;

/* RSET_NOMEM; *out is to be freed in any case. */
rset_status rset_kept_names_of(const rset_local *local, uint64_t generation, rset_kept_names *out,
                               rset_err *err);
void        rset_kept_names_free(rset_kept_names *names);

/* A place that bytes are copied from. */
typedef struct rset_kept_source {
    const rset_layered *file;
    uint64_t            size;
    bool                may_end;  /* a file may have become shorter meanwhile: then that is all */
    bool                may_fail; /* what cannot be read is RSET_DAMAGED */
} rset_kept_source;

/* Copies what is there to the beginning of `to`. RSET_IO, RSET_NOMEM, and RSET_DAMAGED where may_fail says so. */
rset_status rset_kept_copy(const rset_kept_source *source, rset_file *to, rset_err *err);

rset_status rset_kept_no_memory(const rset_local *local, rset_err *err);

#endif
