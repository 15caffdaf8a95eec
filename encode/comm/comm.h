/* comm.h: how members of a set, and ranks of a job, talk: few calls, every wait bounded (P5).
 *
 * A transport (comm_mpi.c, comm_local.c) only moves messages between two ranks without blocking.
 * Everything else here - waiting with a deadline, gathering, agreeing - is written once over that,
 * so parallel and serial rebuild are one code, and tests run the same protocol on threads.
 *
 * A wait that runs into the deadline, or a transport that fails, revokes the communicator: it is
 * `dead`, each later use returns RSET_PEER at once with the reason. */
#ifndef RSET_COMM_H
#define RSET_COMM_H

#include "common/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A message under way. Zeroed: none. `h` belongs to the transport. */
typedef struct rset_req {
    uintptr_t h;
    bool      active;
    bool      receives; /* counted as received when it is over */
    size_t    got;      /* bytes received, once done */
} rset_req;

/* What one rank sends and another receives. The bytes are the caller's, and stay in place until the request is over;
 * the struct itself is not needed any more when the call that gets it has returned. */
typedef struct rset_message {
    int peer; /* rank that it goes to or comes from */
    int tag;
    union {
        const void *data; /* what is sent */
        void       *room; /* where it is received */
    };
    size_t len; /* bytes that are sent, or that there is room for */
} rset_message;

/* Ranks in these calls are the transport's own (world) ranks. All return RSET_OK or RSET_PEER (or
 * RSET_NOMEM) with a message; none blocks. `self` is the transport's state. */
typedef struct rset_transport {
    rset_status (*isend)(void *self, const rset_message *message, rset_req *req, rset_err *err);
    /* A message longer than there is room for is an error of test(). */
    rset_status (*irecv)(void *self, const rset_message *message, rset_req *req, rset_err *err);
    /* *done: the request is over, req->active is false and the buffer is the caller's again. A request
     * that is not active is done. After a failure it is over as well; or it stays active, and was
     * given up like one that cancel returns false for. */
    rset_status (*test)(void *self, rset_req *req, bool *done, rset_err *err);
    /* The same for `n` active requests at once; those that are over are not active afterwards. After a
     * failure those that still are have to be cancelled. */
    rset_status (*test_all)(void *self, rset_req *const *reqs, int n, rset_err *err);
    /* Receives one waiting message with this tag from anyone, if there is one, and if there is room for it: then
     * *found_out, and message->peer and len are its own. */
    rset_status (*poll)(void *self, rset_message *message, bool *found_out, rset_err *err);
    /* Gives up a request, which is then over (active false); true when the buffer will not be touched
     * any more, else the caller must leave the buffer alone for ever: leak it. */
    bool (*cancel)(void *self, rset_req *req);
} rset_transport;

/* Has a rank's process a processor beside the one that it runs on, which no other rank uses? */
typedef enum rset_spare { RSET_SPARE_UNKNOWN, RSET_SPARE_NO, RSET_SPARE_YES } rset_spare;

/* How far the ranks of a revoked communicator are with renewing it. Zeroed: it was not revoked. */
typedef struct rset_renewal {
    bool said;  /* this rank has said that it is here; rank 0, that it calls all others */
    bool go;    /* all have, and rank 0 has told them to go on */
    int  here;  /* rank 0: so many others are */
    int  tries; /* how often this rank has waited for that */
} rset_renewal;

typedef struct rset_comm {
    const rset_transport *transport;
    void                 *self;
    int                   rank, size;
    int                  *world;   /* transport rank of each rank; owned; NULL: the same numbers */
    double                timeout; /* seconds that any wait may take without progress, > 0 */
    struct rset_comm     *parent;  /* of a subset: whose `dead` it shares */
    rset_spare            spare;   /* see rset_comm_find_spare; a subset asks its parent */
    bool                  dead;
    char                  why[RSET_ERR_TEXT]; /* what made it dead */
    /* counted for the benchmark, subsets included */
    uint64_t          sent_bytes, sent_messages, received_bytes, received_messages;
    uint32_t          calls; /* collectives so far: ranks that mix up their order are found out */
    struct rset_coll *coll;  /* buffers of the collectives, made at the first one */
    /* of a communicator that is no subset */
    int          most_tag; /* the largest that the transport has */
    int          tags;     /* the first one: another one after each renewal */
    rset_renewal renewal;  /* since it was revoked */
} rset_comm;

enum {
    RSET_TAG_RENDEZVOUS = 1, /* rendezvous/, any source */
    RSET_TAG_COLL = 2,       /* collectives; subsets use the same tag: calls are ordered per pair */
    RSET_TAG_INFO = 3,       /* set/exchange.c */
    RSET_TAG_MOVE = 5,       /* files that go where their ranks are */
    RSET_TAG_HOSTED = 6,     /* between processes that host ranks, any source */
    RSET_TAG_HOSTED_BODY = 7,
    RSET_TAG_REPLICA = 8,   /* files of one rank */
    RSET_TAG_RENEW = 9,     /* comm_renew.c, any source */
    RSET_TAG_STREAM = 1024, /* stream.c: RSET_TAG_STREAM + job number % RSET_STREAM_TAGS */
    RSET_STREAM_TAGS = 16384,
    RSET_TAGS = RSET_TAG_STREAM + RSET_STREAM_TAGS /* all of them */
};

/* Makes a communicator of a transport of `size` ranks, whose state `self` stays the caller's; `timeout` in seconds.
 * rset_comm_free takes what was initialised or made by rset_comm_subset; zeroed or NULL: nothing. Both local. */
void rset_comm_init(rset_comm *comm, const rset_transport *transport, void *self, int rank,
                    int size, double timeout);
void rset_comm_free(rset_comm *comm);

/* A view on `n` ranks of `parent` (its ranks, ascending or not; the caller is one of them, each named
 * once; else RSET_BUG). No communication; local. Lives no longer than `parent`, at its place in memory.
 * RSET_NOMEM. */
rset_status rset_comm_subset(rset_comm *parent, const int *ranks, int n, rset_comm *out,
                             rset_err *err);

/* rset_comm_subset of a list that the caller has allocated: the view owns `ranks` from now on, and they are freed where it fails. */
rset_status rset_comm_subset_of(rset_comm *parent, int *ranks, int n, rset_comm *out,
                                rset_err *err);

/* *out is a communicator of these ranks of `whole`, as rset_comm_subset makes one, which shares nothing with it but the transport: it is
 * revoked and renewed by itself. No rank may be in two such, and `whole`, which has not been renewed, is not used afterwards. */
rset_status rset_comm_divide(const rset_comm *whole, const int *ranks, int n, rset_comm *out,
                             rset_err *err);

/* Transport rank of `rank`, as messages give it. */
int rset_comm_world(const rset_comm *comm, int rank);

/* Point to point in ranks of `comm`; non-blocking. A failure of the transport sets the communicator
 * aside. Messages and rset_err.rank always give transport (world) ranks. rset_comm_cancel: see
 * rset_transport.cancel; true for a request that is not active. */
rset_status rset_comm_isend(rset_comm *comm, const rset_message *message, rset_req *req,
                            rset_err *err);
rset_status rset_comm_irecv(rset_comm *comm, const rset_message *message, rset_req *req,
                            rset_err *err);
rset_status rset_comm_test(rset_comm *comm, rset_req *req, bool *done, rset_err *err);
bool        rset_comm_cancel(rset_comm *comm, rset_req *req);

/* Looks after up to RSET_TEST_MOST active requests at once: asking one by one, MPI looks for messages each
 * time. *moved: at least one is over. */
enum { RSET_TEST_MOST = 64 };
rset_status rset_comm_test_all(rset_comm *comm, rset_req *const *reqs, int n, bool *moved,
                               rset_err *err);

/* Receives one waiting message with message->tag from any rank, if there is one; message->peer is its rank in `comm` then, -1:
 * it is not one of a subset. See rset_transport.poll. */
rset_status rset_comm_poll(rset_comm *comm, rset_message *message, bool *found_out, rset_err *err);

/* Waits for one request within comm->timeout. `doing` completes "waiting for rank 3 to ..." in the
 * message. On failure the communicator is dead and the request was cancelled; req->active is then
 * true when its buffer may still be touched and must be leaked. */
rset_status rset_comm_wait(rset_comm *comm, rset_req *req, int peer, const char *doing,
                           rset_err *err);

/* Waiting loops: a clock, and a pause that is short at first and grows with the time waited, to 1.6 ms at most, so that ranks
 * that share a core do not starve each other. Zero-initialise, but for `until` where the loop has a deadline. `spins` 0: the
 * wait begins anew. */
typedef struct rset_pause {
    unsigned spins;
    double   since; /* when it began */
    double   until; /* when the loop gives up, by rset_clock; 0: unknown here */
} rset_pause;
double rset_clock(void); /* seconds, monotonic */
void   rset_pause_once(rset_pause *pause);

/* For a transport that can block: from now on a pause of this thread is wait(self, seconds), which returns when something
 * has happened that this rank may be waiting for since the last wait, or after so many seconds. A pause then lasts until
 * the deadline at most; where that is unknown, an eighth of the time waited so far, and a tenth of a second at most.
 * NULL: pauses are sleeps again. Local to the thread. */
void rset_pause_in(void (*wait)(void *self, double seconds), void *self);

/* A job that stands still says why, once in a process: a rank asks whether it has waited for `after` seconds since `start`
 * and is to say so, and then says for whom, to `say` as set; it is not asked to where none is set. The text goes on after
 * "waiting". Cheap to ask in a loop. */
#define RSET_LONG_WAIT 5.0
void rset_comm_on_long_wait(void (*say)(const char *text));
bool rset_comm_long_wait(double start, double after);
void rset_comm_say_waiting(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Declares the communicator, and what it is a subset of, dead with this message; tells the neighbours
 * in the tree of collectives, which find the message in their next collective instead of waiting for
 * us; returns RSET_PEER. The first reason stays. Does not block (at most some ms). */
rset_status rset_comm_revoke(rset_comm *comm, rset_err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Who is revoked may still tell ranks that wait for a message of it what has happened: sends them, if that can be done at once. `reqs`:
 * room for `n`. False: the transport may go on reading the bytes, which have to stay for ever. Local. */
bool rset_comm_tell(const rset_comm *comm, const rset_message *messages, rset_req *reqs, int n);
/* RSET_OK, or RSET_PEER with the reason when dead. */
rset_status rset_comm_usable(const rset_comm *comm, rset_err *err);

/* ---- and after that ----
 *
 * A rank that stood still has the communicator revoked, and is there again a minute later. Each rank says to rank 0, once, that
 * it knows of the revocation and is here; whoever does not know hears of it from rank 0. When all are here rank 0 tells them to
 * go on. From then on a rank uses other tags, so that no message of before is taken for one of after. A rank that is dead never
 * says that it is here. */

/* Has a communicator (no subset) been revoked, and are all ranks here again? To be called when nothing is under way, before each thing
 * that ranks do together: it looks, and waits only where it is revoked, for at most `patience` seconds, half as long each time. Less than 0: all end, and go on only
 * where they have been told to before.
 * *renewed_out: this rank goes on from here; its subsets are to be dropped, or passed to rset_comm_reset. RSET_PEER: it is revoked,
 * as rset_comm_usable says. Local. */
rset_status rset_comm_renew(rset_comm *comm, double patience, bool *renewed_out, rset_err *err);

/* As it was when it was made, but for its tags. Local. */
void rset_comm_reset(rset_comm *comm);

/* ---- the tree ----
 *
 * The binomial tree with root 0: the children of `rank` are rank + 1, rank + 2, rank + 4 ...; each answers for the ranks up
 * to its next sibling. The parent of 0 is 0. Local. */
enum { RSET_TREE_MAX = 31 }; /* children of a rank, and levels, that an int can have */
int rset_coll_parent(int rank);
/* Child number k (from 0), or -1 when there are fewer. */
int rset_coll_child(const rset_comm *comm, int rank, int k);

/* ---- collective: every rank of `comm` calls them in the same order ----
 *
 * Two sweeps over a binomial tree, 2 log2(size) messages long. A rank waits comm->timeout for the next
 * step of another, plus a share of 0.8 s that grows along the tree: so who sits next to a missing rank
 * gives up first and its message, which names it, reaches the others before they give up themselves. */

/* All leave by the same door (P4): returns the worst status of all ranks, the same on each, and *err
 * is then the message of the lowest rank that has it, with rank and host set (those that an earlier
 * agreement has set stay). What may follow from another failure (rset_err.follows) counts only where there
 * is no other. `host` names this process's host. `st` and *err are this rank's own outcome;
 * when all is well *err is left as it is; err may be NULL. When the agreement itself fails: RSET_PEER,
 * and *err tells that, and then what this rank had to say. */
rset_status rset_agree(rset_comm *comm, rset_status st, const char *host, rset_err *err);

/* This rank's failure as an agreement says it to the others: *err, of this rank on `host` unless it says of which; RSET_ERR_NONE where
 * `st` is RSET_OK. Local. */
rset_err rset_own_verdict(const rset_comm *comm, rset_status st, const char *host,
                          const rset_err *err);

/* What all ranks have given: bytes + offs[r] up to bytes + offs[r + 1] are those of rank r. Owned; zeroed: nothing. */
typedef struct rset_gathered {
    uint8_t *bytes;
    size_t  *offs; /* size + 1 entries */
} rset_gathered;
void rset_gathered_free(rset_gathered *all); /* zeroes it; local */

/* The bytes that a rank gives to a gather; borrowed. */
typedef struct rset_share {
    const void *bytes;
    size_t      len;
    size_t      max; /* of all ranks together, in rset_gather_all */
} rset_share;

/* Each rank gives bytes (lengths may differ) and gets those of all, in *all_out, which holds nothing before; it is filled on
 * success only. Agrees as rset_agree does, in the same messages: where any rank has failed (`own`), or all together have more than
 * `max`, all get that. */
rset_status rset_gather_all(rset_comm *comm, rset_status own, const char *host,
                            const rset_share *mine, rset_gathered *all_out, rset_err *err);

/* A gather in which each rank gives as many bytes (else RSET_PEER), into all[size * len]; `all` NULL: this rank takes part without taking them
 * in. */
rset_status rset_gather_fixed(rset_comm *comm, rset_status own, const char *host,
                              const rset_share *mine, void *all, rset_err *err);

/* Merges one value of each rank into one that all get: `merge` is associative and commutative, so that a tree may do it.
 * Agrees as rset_agree does, in the same messages: where any rank has failed (`own`), that is what all get, and *value is
 * of no use. */
typedef void rset_merge_fn(void *into, const void *other);
typedef struct rset_reduction {
    void          *value; /* this rank's; then that of all */
    size_t         len;   /* at most sizeof(rset_err) */
    rset_merge_fn *merge;
} rset_reduction;
rset_status rset_reduce(rset_comm *comm, rset_status own, const char *host,
                        const rset_reduction *what, rset_err *err);

/* rset_any reduces one question: *is becomes whether it is so on any rank. rset_any_of reduces several at once: each bit of *are is
 * one. */
rset_status rset_any(rset_comm *comm, rset_status own, const char *host, bool *is, rset_err *err);
rset_status rset_any_of(rset_comm *comm, rset_status own, const char *host, uint64_t *are,
                        rset_err *err);

/* Records of one size, each with the rank that it goes to or comes from. Zeroed but for `size`: none. */
typedef struct rset_records {
    size_t   size; /* bytes of one, without the two ranks */
    size_t   n, room;
    uint8_t *at; /* owned */
    bool     nomem;
} rset_records;
/* Adds a copy of `record` for rank `to`. No memory is kept in mind until the list is routed. Local, as the three after it. */
void rset_records_add(rset_records *list, int to, const void *record);
/* Adds it for the rank that keeps `key`. All records of one key come to one rank, whoever adds them. */
void rset_records_add_by_key(rset_records *list, const rset_comm *comm, uint64_t key,
                             const void *record);
/* Copies record number i; returns the rank that it comes from. */
int  rset_records_get(const rset_records *list, size_t i, void *record);
void rset_records_free(rset_records *list); /* no record is left; the size stays */

/* Each rank gives records for any ranks, and gets those for itself in their place: in the order of the ranks that they
 * come from, and of their bytes. Nobody has to know who sends it something. log2(size) messages of each rank: a record
 * goes on by each power of two that its distance is made of (J. Bruck and others, Efficient Algorithms for All-to-All
 * Communications in Multiport Message-Passing Systems, 1997). Agrees as rset_agree does, in the same messages: where any rank has failed
 * (`own`, or memory for its list), all get that, and nothing in the list. Who has no memory for what comes revokes. A record has at most
 * RSET_RECORD_MAX bytes. */
enum { RSET_RECORD_MAX = sizeof(rset_err) - 2 * sizeof(int32_t) };
rset_status rset_route(rset_comm *comm, rset_status own, const char *host, rset_records *list,
                       rset_err *err);

/* Finds out, once, whether each rank of `comm` has a processor to spare: where the ranks of one host that may run on the
 * same processors have at least twice as many of them. `host` is the name of this process's. The answer may differ between
 * ranks. Agrees as rset_agree does, and is no more than that where the answer is known. */
rset_status rset_comm_find_spare(rset_comm *comm, rset_status own, const char *host, rset_err *err);
/* What was found out of `comm`, or of what it is a subset of; false where nobody has asked. Local. */
bool rset_comm_has_spare(const rset_comm *comm);

#endif
