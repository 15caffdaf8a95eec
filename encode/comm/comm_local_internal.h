/* comm_local_internal.h: what ranks that are threads share. Nobody else includes this. Each of these uses those below it:
 *   comm_hosted.c      some of the ranks are in other processes
 *   comm_local.c       ranks as threads
 *   comm_local_move.c  their mailboxes, and the transport over these */
#ifndef RSET_COMM_LOCAL_INTERNAL_H
#define RSET_COMM_LOCAL_INTERNAL_H

#include "comm.h"

#include <pthread.h>
#include <stdatomic.h>

/* Messages of at most so many bytes are copied, and their sender is done at once. */
enum { RSET_LOCAL_EAGER = 4096 };

/* A send or a receive. `state` hands it, and the buffer, back to its rank. */
typedef struct rset_local_op {
    struct rset_local_op *next;
    int                   from, tag;
    char                 *buf; /* of the message or for it; not written when it is a message */
    size_t                len, got;
    bool                  eager; /* a message that its sender has forgotten; data below */
    struct rset_local_box
        *box; /* where it waits; or of the rank that it is from, when it goes to another process */
    /* of a message from or to a rank of another process */
    bool far, given_up; /* `given_up`: its sender has forgotten it; whoever carries it frees it */
    int  to;            /* rank */
    int  process;       /* that it came from */
    uint64_t   receipt; /* what that waits for until somebody has taken it; 0: nothing */
    atomic_int state;
    char       data[];
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

/* What goes to ranks of other processes, and how they are called there. See comm_hosted.c. */
typedef struct rset_local_post {
    pthread_mutex_t lock; /* of the list */
    rset_local_op  *out, **out_end;
    const int      *slot; /* number of each rank's mailbox; -1: it is in another process */
    atomic_bool     cut;  /* the other processes cannot be reached any more */
    rset_err        why;  /* then; written before `cut` */
} rset_local_post;

typedef struct rset_local_world {
    int             size;   /* ranks */
    int             nboxes; /* those of this process */
    double          timeout;
    rset_local_box *boxes;
    rset_local_post
              *post; /* NULL: all are in this process, and have the numbers of their mailboxes */
    atomic_int mute; /* rank + 1 of one without memory for a message; 0: nobody */
    void (*body)(rset_comm *comm, void *arg);
    void           *arg;
    pthread_mutex_t gate;
    pthread_cond_t  opened;
    int             verdict; /* 0: wait, 1: run, -1: go home */
    atomic_int      running; /* threads that are not at their end */
} rset_local_world;

/* One rank; the `self` of the transport. */
typedef struct rset_local_member {
    rset_local_world *world;
    rset_local_box   *box;
    int               rank;
    pthread_t         thread;
} rset_local_member;

extern const rset_transport rset_local_transport;

/* The mailboxes, all->nboxes of them, made and freed by one thread while no rank runs. False without memory: there are none. */
bool rset_local_boxes_init(rset_local_world *all);
void rset_local_boxes_free(rset_local_world *all);

/* A message from a rank of another process has come for the rank of mailbox `at`. It is eager, owned by the mailbox from now
 * on; with a receipt, that goes to the post as soon as somebody has taken it. Local. */
void rset_local_deliver(rset_local_world *all, rset_local_box *at, rset_local_op *message);

/* A long message that went to another process was taken there: its sender is told, and it is the carrier's no more. */
void rset_local_arrived(rset_local_op *message);

/* The other processes cannot be reached any more: all ranks of this one are told why, once. */
void rset_local_cut(rset_local_world *all, const rset_err *why);

/* Runs the members, which have their mailboxes: the first in this thread, unless `pump` is given, which then runs in it
 * beside them all. RSET_NOMEM: nothing was run. */
typedef struct rset_local_crew {
    rset_local_member *members;
    int                n;
    void (*pump)(void *arg);
    void *arg;
} rset_local_crew;
rset_status rset_local_run_crew(rset_local_world *all, const rset_local_crew *crew, rset_err *err);

/* Blocks this rank's thread until something has happened to its mailbox since the last call, at most so many seconds.
 * `self` is its member; see rset_pause_in. */
void rset_local_wait(void *self, double seconds);

#endif
