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
 * A rank that was expected and did not come, nor has sent anything since, is waited for a quarter as
 * long the next time: one that is dead does not cost the timeout at every file. A sign of life resets
 * that.
 *
 * What turned out not to be done by all ranks - closing, or opening, this kind of file - is remembered
 * on all ranks: the same does not wait again. What was met once is never remembered so: one late rank
 * does not end protection for the rest of the run. And a protected file that was opened by some ranks
 * only is waited for again, but not for long: the next time it may be opened by all, because one of them
 * has lost its own. */
#ifndef RSET_MEET_H
#define RSET_MEET_H

#include "comm/comm.h"

enum { RSET_KIND_MAX = 128 };

typedef enum {
    RSET_MEET_OPEN = 1, /* look at a file together, rebuild if needed */
    RSET_MEET_CLOSE     /* protect a file together */
} rset_meet_op;

typedef struct rset_proposal {
    rset_meet_op op;
    char         kind[RSET_KIND_MAX]; /* rset_meet_kind */
    uint64_t     key;                 /* configuration; must be equal on all ranks */
    uint64_t     bits;                /* or-ed over all ranks */
    uint64_t     most;                /* the largest of all ranks is returned */
    bool required;   /* a disagreement is an error for everyone, nobody goes on without; or-ed */
    bool evidence;   /* this rank's file is protected, or was begun: it is done together */
    bool protected_; /* it is protected; out, when refused: or that of one who proposed the same */
    bool told;       /* out, when refused: another rank tells the user, or one has before */
    bool vain;       /* out, when refused: after the whole timeout, and for the first time */
} rset_proposal;

typedef struct rset_meeting rset_meeting;

/* The meeting place of a communicator; one per communicator, made and used by one thread. RSET_NOMEM.
 * `host` is copied. */
rset_status rset_meeting_new(rset_comm *comm, const char *host, rset_meeting **out, rset_err *err);
void        rset_meeting_free(rset_meeting *meeting);

/* The kind of a file: base name with each run of digits folded to '#', but for a suffix like .h5. */
void rset_meet_kind(const char *path, char kind_out[RSET_KIND_MAX]);

/* Proposes and waits. RSET_OK: every rank has proposed the same and has the same answer; bits and most
 * are then those of all, *nonce_out is a random number, the same on all. RSET_PEER: not so, the message
 * says who does what instead or has not come; *known_out: this kind was known before not to be one per
 * rank, and nothing was waited for. All who proposed the same have the same answer, when rank 0 gave
 * it; one of them shall tell the user (`told` is false there). Collective, but not matched by count. */
rset_status rset_meet(rset_meeting *meeting, rset_proposal *proposal, uint64_t *nonce_out,
                      bool *known_out, rset_err *err);

/* Is this remembered as not being done by all ranks? Takes in what other ranks have learned. Local. */
bool rset_meet_known(rset_meeting *meeting, rset_meet_op op, const char *kind);

/* Tells all ranks that this is not done by all, as was found out before there was a meeting. `evidence` as
 * in rset_proposal. Local. */
void rset_meet_teach(rset_meeting *meeting, rset_meet_op op, const char *kind, bool evidence);

/* Seconds that an open of a protected file waits which was waited for in vain before: at most this. */
#define RSET_MEET_SHORT 2.0

/* Ends the meetings, in MPI_Finalize: ranks that wait for us are told, messages under way are taken
 * in. Collective, bounded by the timeout. */
void rset_meet_end(rset_meeting *meeting);

#endif
