/* comm_local_internal.h: what the two parts of comm_local share. Nobody else includes this.
 *   comm_local.c  ranks as threads    comm_local_move.c  their mailboxes, and the transport over these */
#ifndef RSET_COMM_LOCAL_INTERNAL_H
#define RSET_COMM_LOCAL_INTERNAL_H

#include "comm.h"

#include <pthread.h>
#include <stdatomic.h>

/* A send or a receive. `state` hands it, and the buffer, back to its rank. */
typedef struct rset_local_op {
    struct rset_local_op  *next;
    int                    from, tag;
    char                  *buf; /* of the message or for it; not written when it is a message */
    size_t                 len, got;
    bool                   eager; /* a message that its sender has forgotten; data below */
    struct rset_local_box *box;   /* where it waits */
    atomic_int             state;
    char                   data[];
} rset_local_op;

/* The mailbox of one rank. */
typedef struct rset_local_box {
    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t  event;
    uint64_t events, seen; /* so many were there; so many were there when its rank paused last */
    bool     asleep;       /* its rank waits for the next one */
    rset_local_op *messages, **messages_end;
    rset_local_op *receives, **receives_end;
} rset_local_box;

typedef struct rset_local_world {
    int             size;
    double          timeout;
    rset_local_box *boxes;
    atomic_int      mute; /* rank + 1 of one without memory for a message; 0: nobody */
    void (*body)(rset_comm *comm, void *arg);
    void           *arg;
    pthread_mutex_t gate;
    pthread_cond_t  opened;
    int             verdict; /* 0: wait, 1: run, -1: go home */
} rset_local_world;

/* One rank; the `self` of the transport. */
typedef struct rset_local_member {
    rset_local_world *world;
    int               rank;
    pthread_t         thread;
} rset_local_member;

extern const rset_transport rset_local_transport;

/* The mailboxes of all ranks, made and freed by one thread while no rank runs. */
void rset_local_boxes_init(rset_local_world *all);
void rset_local_boxes_free(rset_local_world *all);

/* Blocks this rank's thread until something has happened to its mailbox since the last call, at most so many seconds.
 * `self` is its member; see rset_pause_in. */
void rset_local_wait(void *self, double seconds);

#endif
