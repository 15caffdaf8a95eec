/* meet.h: ranks find out that all of them have come to do the same thing, before any of them waits
 * for data (D6, P5).
 *
 * Applications open and close files that are not one per rank: a log of rank 0, an input that all
 * read, files written in turn. Nothing may be matched by counting calls. So a rank that wants to do
 * something together proposes it - an operation on a kind of file, the kind being the base name with
 * digit runs folded - and waits, at most the timeout, until every rank proposes the same. Rank 0
 * collects the proposals and answers; it does so only while it is in a meeting itself, there is no
 * helper thread.
 *
 *   all propose the same         everyone goes
 *   all have come, not the same  the smaller groups go on without (or all, when one insists)
 *   somebody does not come       those who wait are told who is missing
 *
 * A kind that turned out not to be one per rank is remembered on all ranks: the same kind does not
 * wait again. A kind that was met once is never remembered so: one late rank does not end protection
 * for the rest of the run. */
#ifndef RSET_MEET_H
#define RSET_MEET_H

#include "comm.h"

enum { RSET_KIND_MAX = 128 };

typedef enum {
    RSET_MEET_OPEN = 1, /* look at a file together, rebuild if needed */
    RSET_MEET_CLOSE     /* protect a file together */
} rset_meet_op;

typedef struct rset_proposal {
    rset_meet_op op;
    char         kind[RSET_KIND_MAX]; /* rset_meet_kind */
    uint64_t     key;      /* configuration; must be equal on all ranks */
    uint64_t     bits;     /* or-ed over all ranks */
    uint64_t     most;     /* the largest of all ranks is returned */
    bool         required; /* a disagreement is an error for everyone, nobody goes on without */
} rset_proposal;

typedef struct rset_meeting rset_meeting;

/* The meeting place of a communicator; one per communicator, made and used by one thread. RSET_NOMEM.
 * `host` is copied. */
rset_status rset_meeting_new(rset_comm *comm, const char *host, rset_meeting **out, rset_err *err);
void        rset_meeting_free(rset_meeting *meeting);

/* The kind of a file: base name with each run of digits folded to '#'. */
void rset_meet_kind(const char *path, char kind_out[RSET_KIND_MAX]);

/* Proposes and waits. RSET_OK: every rank has proposed the same and has the same answer; bits and most
 * are then those of all, *nonce_out is a random number, the same on all. RSET_PEER: not so, the message
 * says who does what instead or has not come; *known_out: this was known before, nothing was waited
 * for, and there is no need to say it again. Collective, but not matched by count. */
rset_status rset_meet(rset_meeting *meeting, rset_proposal *proposal, uint64_t *nonce_out,
                      bool *known_out, rset_err *err);

/* Is this kind remembered as not one per rank? Takes in what other ranks have learned. Local. */
bool rset_meet_known(rset_meeting *meeting, const char *kind);

/* Ends the meetings, in MPI_Finalize: ranks that wait for us are told, messages under way are taken
 * in. Collective, bounded by the timeout. */
void rset_meet_end(rset_meeting *meeting);

#endif
