/* move_internal.h: what bringing files to the ranks that have moved consists of:
 *   lodgers.c   which files of other ranks lie in this rank's directory
 *   copy.c      brings one rank's files, with all that lies beside them, from one rank to another
 *   move.c      who takes which from whom; publishing, removing
 * Nobody else includes this. */
#ifndef RSET_MOVE_INTERNAL_H
#define RSET_MOVE_INTERNAL_H

#include "move.h"

#include <limits.h>

/* ---- lodgers.c ---- */

/* What a rank says of another rank's file that lies in its directory. Sent as it is. And what it has of its own. */
typedef struct rset_move_offer {
    int32_t  rank;       /* that wrote it */
    int32_t  data;       /* is the data file there? */
    uint64_t name;       /* hash of its base name */
    uint64_t dir;        /* tells the directories of a job apart */
    uint64_t generation; /* the newest that is published or prepared beside it */
} rset_move_offer;

/* One of them. */
typedef struct rset_move_lodger {
    char           *prefix; /* owned, as `base`, which is the data file's name */
    char           *base;
    uint64_t        inode; /* of the data file, where it is there */
    rset_move_offer offer;
} rset_move_lodger;

typedef struct rset_move_lodgers {
    size_t            n, room;
    rset_move_lodger *at; /* owned */
} rset_move_lodgers;

/* The files of other ranks in the directory of `local` that were protected with as many ranks as `ranks`, under names that
 * differ from its own in their numbers only. `host` names this process's. Local. RSET_IO, RSET_NOMEM; *out is to be freed in
 * any case. */
rset_status rset_move_lodgers_find(const rset_local *local, int ranks, const char *host,
                                   rset_move_lodgers *out, rset_err *err);
void        rset_move_lodgers_free(rset_move_lodgers *all);

/* Is the data file still the one that was offered? Else another rank has given its copy that name: both look at one directory
 * of a network file system. Local. */
bool rset_move_lodger_is_same(const rset_local *local, const rset_move_lodger *lodger);

/* Tells the directory of `local` on this host from others. Local. */
uint64_t rset_move_lodgers_dir(const rset_local *local, const char *host);

/* ---- copy.c ---- */

/* One file that has come, under a temporary name. */
typedef struct rset_move_file {
    char name[NAME_MAX + 1];
    char temp[NAME_MAX + 1]; /* "": it has its name */
} rset_move_file;

/* What a rank gives, and what it takes. */
typedef struct rset_move_job {
    rset_comm        *world;
    const rset_local *local; /* the taker's */
    const char       *host;
    /* giving: to[i] gets gives[i], with what lies beside it; both freed by the caller */
    const rset_move_lodger **gives;
    int                     *to;
    size_t                   ngives;
    /* taking */
    int             from;     /* -1: nothing */
    bool            complete; /* all has come, synced and closed */
    char            from_host[RSET_HOST_NAME];
    rset_move_file *files; /* that have come, the data file as the last; freed by the caller */
    size_t          nfiles;
} rset_move_job;

/* Brings the files over, under temporary names. Collective over the world; the outcome is this rank's own. A file that its giver
 * cannot read leaves the taker without (`complete` false), and is no error: it is lost, and may be rebuilt. RSET_IO, RSET_NOMEM:
 * it cannot be written; RSET_PEER: a name that is none of this rank's files, or the communicator is revoked. */
rset_status rset_move_copy(rset_move_job *m, rset_err *err);

#endif
