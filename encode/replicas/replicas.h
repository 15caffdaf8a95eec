/* replicas.h: files of one rank. One rank writes such a file and protects it by itself (SINGLE), other members of its set get
 * replicas, and all ranks may open it: whoever misses it, or has an older or damaged one, gets the newest there is.
 *
 * A replica is protected like the file of its writer, by its rank alone and under the generation of the writer. So the newest
 * generation counts, wherever it lies, and generations have to be newer than any that the writer may have lost: they are
 * made of the time (rset_generation_at, member/member.h). */
#ifndef RSET_REPLICAS_H
#define RSET_REPLICAS_H

#include "comm/comm.h"
#include "member/member.h"
#include "protect/protect.h"

/* ---- all ranks open it ---- */

typedef struct rset_replica_args {
    rset_comm        *world;
    const rset_local *local;    /* one data file; its directory is there */
    rset_evidence    *evidence; /* from rset_survey; of what is on disk now, afterwards */
    const char       *host;
    rset_status       before;   /* this rank's failure so far (its message in *err), or RSET_OK */
    rset_content      content;  /* how closely this rank looks at what it has */
    bool              readonly; /* nothing may be written here */
    bool              tidy;     /* remove what crashed runs left behind */
    uint64_t
        written; /* generation that this process has written under this name, 0: none that it knows of */
    int keep; /* generations of it that can be had, the newest counted; 0: it has none */
    bool
        keep_changed; /* what another program has changed is wanted as it is: it is protected so, and the newest */
} rset_replica_args;

typedef struct rset_replica_outcome {
    uint64_t generation; /* the one that all have; 0: nobody has protected such a file */
    bool     never;      /* with RSET_ABSENT: the same */
    bool     gone;       /* with RSET_LOST: the newest is whole nowhere; the same */
    bool     acted;      /* some rank's files are others now; the same on all */
    bool     replaced;   /* this rank's is */
    bool     renewed;    /* this rank's was written last, and has got that generation for it */
    rset_identity
         verified; /* this rank: the file that was verified, or copied here; zeros: another rank has brought it */
    char from[RSET_HOST_NAME]; /* where it came from, "": it was here */
    uint64_t
        aside; /* with `from`: generation of the one that was here and is put aside (newer.h, `lost`), 0: none. The two were written
                       apart: neither writer knew of the other's, and of a smaller number is not always what is older */
    rset_altered
        altered; /* with `changed`: what another program had made of the one that was here */
    uint64_t
        changed; /* with `from`: that was put aside under this number (rset_changed_put), 0: it was not */
    uint64_t aside_time,
        time; /* when that was protected, and when the one that all have; seconds since 1970, by their writers' clocks */
} rset_replica_outcome;

/* Sees to it that each rank has the newest generation that any rank knows of. What a rank has written itself is the newest, whatever
 * numbers the clocks have made: it is protected again, as a newer one than any that lies anywhere. Each first settles what its own disk says, as
 * one process alone does (rset_recover); ranks that look at one directory leave that to the first of them. Collective over
 * world, and all come to the same outcome. RSET_ABSENT and out->never: nobody has ever protected such a file. RSET_LOST: the
 * newest is whole nowhere, or a rank has a file that nobody protects in its place, or it is missing where nothing may be
 * written; nothing was brought anywhere. RSET_IO, RSET_NOMEM, RSET_DAMAGED: it could not be brought to some rank, and no
 * replica has its name there. RSET_USAGE: names differ, or the file belongs to several ranks. */
rset_status rset_replica_open(const rset_replica_args *args, rset_replica_outcome *out,
                              rset_err *err);

/* ---- an older one becomes the newest ---- */

typedef struct rset_replica_older {
    const rset_local      *kept;   /* the older one, as all ranks have opened it (kept.h) */
    uint64_t               newest; /* what is to be put aside, where it is there (newer.h) */
    const rset_stamp_text *stamp;
    uint64_t generation; /* this rank's proposal; out: that of the restored one, the same on all */
} rset_replica_older;

/* All ranks have *older whole, and nobody has the newest: each makes it the newest here, by itself (rset_protect_restored);
 * args->local is of the file itself, args->evidence is not used. Whatever is cut short leaves ranks with the restored one, which
 * is the newest then, and others get it when all open it. Collective over world. RSET_USAGE: no links on this file system. */
rset_status rset_replica_restore(const rset_replica_args *args, rset_replica_older *older,
                                 rset_err *err);

/* ---- and other members get replicas ---- */

/* A file that this rank has written and protected. */
typedef struct rset_replica {
    char path[RSET_PATH_MAX + 1];
    uint64_t
            generation; /* in and out: it may have to be protected again, to be newer than what a neighbour has */
    int32_t copies; /* wanted */
    int32_t keep;   /* generations of it that can be had where it is copied to, this one counted */
    int32_t
        done; /* out: as many members as possible have it, or it is not of this generation here any more */
    rset_err why; /* out: else why not, with rank and host */
} rset_replica;

enum {
    RSET_REPLICAS_AT_ONCE = 16, /* files of a rank; the rest the next time */
    RSET_REPLICAS_MOST = 32     /* replicas of a file */
};

typedef struct rset_replicas {
    rset_comm    *set; /* members in different failure groups */
    const char   *host;
    rset_replica *mine; /* `n` of them, at most RSET_REPLICAS_AT_ONCE are tried */
    size_t        n;
    /* May a file that another member has written be stored at this path here? With a message if not. */
    rset_status (*may)(void *arg, const char *path, rset_err *err);
    void *arg;
} rset_replicas;

/* The files of each member go to as many right neighbours of it as are wanted, at most all others. A member that has the
 * generation keeps what it has. Each has written its files itself just now: where a neighbour has one of a newer generation, a clock
 * was wrong, and the writer protects its own again, as a newer one than that. What fails for one file, or on one member, is in `why` of that file, and
 * the others go on. Collective over the set. RSET_PEER: the communicator is of no use any more; RSET_NOMEM on all. */
rset_status rset_replicas_send(const rset_replicas *args, rset_err *err);

#endif
