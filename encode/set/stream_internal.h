/* stream_internal.h: what the loop (stream.c), what is done in its place where there is little to do (stream_small.c) and what a
 * member does in one job (stream_role.c, stream_worker.c) share. Nobody else includes this. */
#ifndef RSET_STREAM_INTERNAL_H
#define RSET_STREAM_INTERNAL_H

#include "codec/rounds.h"
#include "common/phases.h"
#include "stream.h"

#include <pthread.h>
#include <stdatomic.h>

enum { RSET_WINDOW = 4 };

typedef enum { ROLE_RECEIVE, ROLE_WORK, ROLE_GIVEN, ROLE_SEND, ROLE_DONE } rset_role_state;

/* What this member does in one job. */
typedef struct rset_role {
    const rset_solution *how;
    rset_piece           piece; /* this member's, from where the job begins */
    uint64_t        in_file;    /* where that is in its file, as far as the place of buffers goes */
    size_t          len;
    int             tag;
    int             place; /* index among sources, or among wanted; -1: it has no part in the job */
    bool            target;
    rset_role_state state;
    atomic_bool     worked; /* GIVEN: the worker has done its part */
    struct rset_role *next; /* that is given to it */
    uint8_t          *sums; /* source: nwanted pieces of len bytes; target: one */
    rset_req          in;
    rset_req         *out; /* outstanding sends */
    int               nout;
} rset_role;

typedef struct rset_round {
    size_t     nroles, left; /* left: roles not done */
    uint64_t   job;          /* its first */
    rset_role *roles;
    uint8_t   *arena; /* where the roles' sums lie: a part of the stream's room */
    size_t     arena_used;
    rset_req  *requests; /* for the sends of the last sources */
    size_t     nrequests;
} rset_round;

/* Who reads, computes and writes: the thread that moves messages, or one beside it. What is not locked belongs to whichever
 * it is; the thread of messages looks at it before it has begun, and when it has ended. */
typedef struct rset_worker {
    const rset_stream_io *io;
    uint8_t              *scratch;
    rset_status           own; /* this member's own failure, kept until the end */
    rset_err              err;
    rset_phases           spent;
    bool                  beside; /* there is a thread */
    pthread_t             thread;
    pthread_mutex_t       lock;
    pthread_cond_t        given;        /* what follows has changed */
    rset_role            *first, *last; /* roles to be worked on */
    bool                  over;
} rset_worker;

/* All sums of a small plan, and one message in and one out. */
typedef struct rset_small {
    uint8_t *room;            /* NULL: the plan is not small */
    uint8_t *sums, *in, *out; /* parts of it */
    rset_req recv, send;
} rset_small;

typedef struct rset_stream {
    rset_comm        *set;
    const rset_shape *shape;
    const rset_plan  *plan;
    rset_rounds       cut;
    uint64_t          offset; /* of the next round */
    int               stripe; /* of the next round */
    uint64_t          jobs;   /* numbered so far, the same on all members */
    size_t            arena;  /* bytes of a round's */
    uint8_t          *room;   /* with the arenas of all rounds */
    rset_worker       worker;
    rset_round        rounds[RSET_WINDOW];
    rset_small        small;
    rset_err         *err;
} rset_stream;

/* This member's part in a job, a segment's bytes between `from` and `to` of its stripe. Pure. */
rset_role rset_role_of(const rset_stream *s, const rset_segment *segment, uint64_t from,
                       uint64_t to);

/* Bytes of the role's sums, and of the message that it waits for. Pure. */
size_t rset_role_bytes(const rset_role *r);

/* Moves a role on by at most one step, as far as its messages have come; *moved tells. What this member cannot read or write
 * is kept in s->own. RSET_PEER: a neighbour sent something else, and the set is revoked; or what rset_comm_isend returns.
 * Local but for what it sends. */
rset_status rset_role_step(rset_stream *s, rset_role *r, bool *moved);

/* Works on a role: reads this member's piece and adds it to the sums, or writes what came out. What cannot be read or written
 * is kept in w->own; then others are sent zeros, and nothing more is read or written. */
void rset_worker_do(rset_worker *w, rset_role *r);

/* Starts a thread for that, which ends with rset_worker_end; without one, all stays with the caller. What it has not begun
 * by then it leaves; w->spent is then what its time went to. */
void rset_worker_begin(rset_worker *w);
void rset_worker_end(rset_worker *w);
/* Gives the thread a role, whose `worked` tells when it is done. */
void rset_worker_give(rset_worker *w, rset_role *r);

/* ---- stream_small.c ---- */

/* Is so little computed that members do it all at once? The same on all members. Pure. */
bool rset_is_small(const rset_plan *plan);

/* Takes the memory that rset_small_run needs. RSET_NOMEM. Local. */
rset_status rset_small_init(rset_stream *s);
/* Does the whole plan; what this member cannot read or write is kept in s->worker. Collective over the set. RSET_PEER. */
rset_status rset_small_run(rset_stream *s);
/* Leaves to the transport for ever what that may still touch. Local. */
void rset_small_free(rset_stream *s);

#endif
