/* replicas_internal.h: what the parts of replicas share, each using those below it:
 *   open.c    all ranks open a file of one rank     send.c   members get replicas
 *   copy.c    content from one rank to others       alone.c  what one rank does with its own
 * Nobody else includes this. */
#ifndef RSET_REPLICAS_INTERNAL_H
#define RSET_REPLICAS_INTERNAL_H

#include "replicas.h"

/* ---- alone.c ---- */

typedef enum rset_replica_state {
    RSET_REPLICA_NONE,  /* nothing is here */
    RSET_REPLICA_TORN,  /* a program died while it wrote one where it saw none: partially written */
    RSET_REPLICA_PLAIN, /* a file whose content nobody protects */
    RSET_REPLICA_BAD,   /* one was here, and is lost or damaged */
    RSET_REPLICA_INTACT, /* it is as it was protected */
} rset_replica_state;

typedef struct rset_replica_own {
    rset_replica_state state;
    uint64_t           generation; /* that is here, or was; 0: none */
    uint64_t
                 newest; /* of which there is a sign: an older one that is kept is one of something newer than itself */
    bool         acted;    /* it was not all in order: evidence was surveyed anew */
    bool         replaced; /* the file is another one than before, or was rolled back */
    rset_altered altered;  /* another program has changed it: BAD, or protected as it is since */
    bool         kept;     /* so it is: as changed=keep says */
    rset_err     why;      /* BAD: what was found */
} rset_replica_own;

/* Is something to be settled, so that others must not look at it at the same time? Pure. */
bool rset_replica_unsettled(const rset_evidence *ev);

/* Has the file another time than was recorded? Then its content is looked at, and by one rank. Local. */
bool rset_replica_touched(const rset_replica_args *args);

/* Settles what this rank's disk says, and looks at the content. A failure is that of looking; what is wrong with the file is
 * in *own. Local. */
rset_status rset_replica_settle(const rset_replica_args *args, rset_replica_own *own,
                                rset_err *err);

/* ---- copy.c ---- */

typedef struct rset_replica_copy {
    const rset_local *local;
    rset_evidence    *evidence;
    uint64_t          generation; /* that is meant */
    const char       *host;
    char *shadow;       /* out, not on rank 0: name of the complete, verified shadow file; owned */
    rset_identity   is; /* out, not on rank 0: that file */
    char            from[RSET_HOST_NAME]; /* out: host of rank 0 */
    rset_stamp_text stamp; /* out, not on rank 0: when and as what it was protected there */
    bool aside; /* what it replaces is put aside: nobody can tell whether that is older */
} rset_replica_copy;

/* Rank 0 has the file of this generation, all others get it as a shadow file. Collective over `comm`. The outcome is this
 * rank's own: RSET_IO, RSET_NOMEM: it cannot be read here, or written; RSET_DAMAGED: what came is not what was recorded;
 * then no shadow file is left. RSET_PEER: the communicator is dead. */
rset_status rset_replica_bring(rset_comm *comm, rset_replica_copy *copy, rset_err *err);

/* ---- alone.c ---- */

/* Protects what was brought as this rank's file, under the generation and the label of its writer. What it replaces is put aside where
 * copy->aside says so, else kept where args->keep does (RP4). Local. */
rset_status rset_replica_publish(const rset_replica_args *args, rset_replica_copy *copy,
                                 rset_err *err);

/* The content that was protected here as ev's generation is protected again, as `generation`: what was written last has the newest,
 * whatever the clocks said. *a->evidence is of what is on disk afterwards. RSET_DAMAGED: it is not what was protected. Local. */
rset_status rset_replica_renew(const rset_replica_args *a, uint64_t generation, rset_err *err);

/* This rank's share of rset_replica_restore. Local. */
rset_status rset_replica_take_back(const rset_replica_args *args, const rset_replica_older *older,
                                   rset_err *err);

#endif
