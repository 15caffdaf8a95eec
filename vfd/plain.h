/* plain.h: files that HDF5 does not open, of any format, which a program hands over as they lie on disk: protected, rebuilt
 * where they are lost, let go. What applications call (plain_calls.c) asks here; the engine behind it is that of the driver. No HDF5 here.
 *
 * A rank has one or more files, wherever they are. They have one generation on all ranks. The redundancy lies beside the first
 * of them, and is called after it. */
#ifndef RSET_PLAIN_H
#define RSET_PLAIN_H

#include "config.h"
#include "protect/protect.h"

/* ---- plain_files.c: the files of this rank ---- */

/* A directory with files of this rank. */
typedef struct rset_plain_place {
    char     *path;
    char     *made; /* topmost directory that had to be made for it; NULL: none */
    rset_dir *dir;  /* NULL while it is missing */
} rset_plain_place;

/* Zeroed: none. All of it is owned; `local` points to the rest. */
typedef struct rset_plain_files {
    int               n, nplaces;
    char            **paths, **names; /* absolute; the same without the directory */
    rset_plain_place *places; /* the first is that of the first file, and of the redundancy */
    int              *at;     /* of each file, which of them */
    rset_dir        **dirs;   /* the same */
    char             *prefix;
    rset_local        local;
    rset_evidence     evidence; /* what the disk says of the first, and so of all */
} rset_plain_files;

/* The files at these paths: absolute, with links followed, and all that the directory of the first says. None need be there. *out is
 * to be freed in any case. RSET_USAGE: the paths are not such that they could be protected together; RSET_IO, RSET_NOMEM.
 * Local. */
rset_status rset_plain_files_take(const char *const *paths, int n, rset_plain_files *out,
                                  rset_err *err);
void        rset_plain_files_free(rset_plain_files *files);

/* May they be protected as they are now, by `ranks` ranks in sets of `members`? RSET_IO: a program has the first one open
 * for change through the driver, or died meanwhile; RSET_USAGE: no room for the names of the redundancy. Local. */
rset_status rset_plain_files_may_protect(const rset_plain_files *files, int ranks, int members,
                                         rset_err *err);

/* Are they those that were protected together, in that order, as far as this rank has a record? RSET_USAGE. Local. */
rset_status rset_plain_files_check_record(const rset_plain_files *files, rset_err *err);

/* Makes their directories where they are missing, as on a node that is new. `unmake` removes those again, where nothing has
 * come into them. Local. */
rset_status rset_plain_files_make_dirs(rset_plain_files *files, rset_err *err);
void        rset_plain_files_unmake_dirs(rset_plain_files *files);

/* Removes all that protects them, and the mark that they carry; they stay. Local. */
rset_status rset_plain_files_let_go(const rset_plain_files *files, rset_err *err);

/* Bytes in all of them that are there. Local. */
uint64_t rset_plain_files_bytes(const rset_plain_files *files);

/* "PATH", or "PATH and 2 more", for messages. */
void rset_plain_files_say(const rset_plain_files *files, char *buf, size_t size);

/* ---- plain.c: with the other ranks ---- */

typedef enum rset_plain_call {
    RSET_PLAIN_PROTECT,
    RSET_PLAIN_RECOVER,
    RSET_PLAIN_UNPROTECT,
    RSET_PLAIN_RENAME,
    RSET_PLAIN_DROP
} rset_plain_call;

/* What applications know it as. */
const char *rset_plain_call_name(rset_plain_call call);

typedef struct rset_plain_outcome {
    bool never;               /* RECOVER: no rank has any sign of protection, nothing was done */
    char note[RSET_ERR_TEXT]; /* what the user should know although nothing failed; "" if nothing */
} rset_plain_outcome;

/* Does it with the files at these paths. Collective over config->comm, matched with the same call on all ranks; waits at
 * most the timeout for each of them. The same status on all ranks that have met, with rank and host of the one that failed;
 * RSET_PEER: they have not, nothing was done. Any failure is one, whatever config->required says. `paths` of `n` strings is
 * borrowed. */
typedef struct rset_plain_job {
    rset_plain_call    call;
    const rset_config *config;
    const char *const *paths;
    int                n;
    const char        *to;         /* RENAME: the new path of the one file; else NULL; borrowed */
    uint64_t           generation; /* DROP: which one goes */
    bool               open;       /* DROP: this process has that open */
} rset_plain_job;

rset_status rset_plain_do(const rset_plain_job *job, rset_plain_outcome *out, rset_err *err);

#endif
