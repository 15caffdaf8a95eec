/* comm_mpi_first_internal.h: what the parts of a first coming share:
 *   comm_mpi_first_words.c  words between the ranks, and for the user
 *   comm_mpi_first_root.c   rank 0, which hears who has come, and answers
 *   comm_mpi_first_rank.c   each other rank, which tells rank 0, and waits for its answer
 *   comm_mpi_first.c        the door
 *
 * Where some have not come, those that open files of one kind meet once more, by way of rank 0 (rset_first_confer): each has found out
 * meanwhile whether it can do without the others. */
#ifndef RSET_COMM_MPI_FIRST_INTERNAL_H
#define RSET_COMM_MPI_FIRST_INTERNAL_H

#include "comm/comm.h"
#include "comm_mpi_first.h"

/* How long a rank that has withdrawn waits for what rank 0 has to say to that: it may have called
 * everybody in that very moment. */
#define RSET_FIRST_GRACE 0.5

/* Looks in a row without a message after which none is under way, as far as one can tell. */
enum { RSET_FIRST_QUIET = 3, RSET_FIRST_NAMED = 8 };

typedef enum {
    RSET_WORD_HERE = 1, /* to rank 0: I have come */
    RSET_WORD_WITHDRAW, /* to rank 0: I do not wait any longer */
    RSET_WORD_FAILED,   /* to rank 0: I will not come for `what` */
    RSET_WORD_KNOWS,    /* to rank 0: I know now whether I need the others, as `need` says */
    RSET_WORD_GO,       /* from rank 0: all are here */
    RSET_WORD_NO,       /* from rank 0: not so; who is missing */
    RSET_WORD_KNOWN     /* from rank 0: so do all that came; `needy` */
} rset_word_type;

typedef struct rset_word {
    int32_t  type;
    uint32_t seq;   /* of the coming that this is or answers */
    uint32_t taken; /* to rank 0: answers that this rank has received */
    int32_t  missing, missed[RSET_FIRST_NAMED];
    int32_t  failed; /* NO: 1 + the rank that has failed; 0: none */
    int32_t  need;   /* an rset_need of its sender */
    int32_t  came;   /* NO: so many of those that open files of the kind `opens` are to confer */
    int32_t  needy;  /* NO, KNOWN: 1 + the first of these that needs the others; 0: none */
    uint64_t what;   /* that its sender comes for */
    uint64_t opens;  /* as in rset_purpose; NO: as rank 0 does */
    uint64_t team;   /* as in rset_purpose; GO: 1: not all have the same */
} rset_word;
_Static_assert(sizeof(rset_word) == (8 + RSET_FIRST_NAMED) * 4 + 3 * 8,
               "no holes: nothing uninitialised is sent");

/* A message that may still be under way. */
typedef struct rset_first_sent {
    struct rset_first_sent *next;
    MPI_Request             request;
    rset_word               word;
    bool                    kept; /* one of rset_first's blanks */
    bool                    busy; /* and under way */
} rset_first_sent;

/* Rank 0's view of one rank. */
typedef struct rset_first_guest {
    uint32_t  here;     /* seq while it waits, else 0 */
    bool      left;     /* has come, and timed out */
    bool      confers;  /* is to say whether it needs the others */
    uint32_t  knows;    /* seq of that, until it is answered, else 0 */
    uint32_t  answered; /* how often */
    uint32_t  taken;    /* answers that it had received when it said it */
    rset_need need;
    uint64_t  what;   /* that it comes for, or came for last */
    uint64_t  opens;  /* the same */
    uint64_t  failed; /* that it has failed in last */
    uint64_t  team;   /* that it comes with */
} rset_first_guest;

struct rset_first {
    MPI_Comm         parent;
    int              rank, size, tag; /* to rank 0; answers have the next one */
    uint32_t         seq;
    uint32_t         taken; /* answers of rank 0 */
    rset_word        in;    /* of the receive that is always posted, so that nobody else gets it */
    MPI_Request      posted;
    rset_first_sent *sent;
    rset_first_sent
        *blanks; /* for each rank that is spoken to, where there is no memory: else it would wait */
    bool told;   /* by rank 0 that somebody is missing */
    rset_apart        apart; /* why they have not come together the last time */
    rset_mpi_others   others;
    rset_purpose      purpose; /* of the last coming */
    rset_word         missing; /* who had not come then, */
    double            waited;  /* and for how many seconds they were waited for */
    rset_first_guest *guests;  /* rank 0's */
    bool              teams;   /* all have come, and not all with one team */
    bool              enough;  /* rank 0: one that it is to confer with does not wait any longer */
};

/* ---- comm_mpi_first_words.c ---- */

/* Fails with what MPI says went wrong: RSET_PEER. */
rset_status rset_first_failed(const rset_first *f, int rc, rset_err *err);
/* Posts the receive that takes the next word. */
rset_status rset_first_listen(rset_first *f, rset_err *err);
/* Frees what was sent, and is not under way any more. */
void rset_first_reap(rset_first *f);
/* Sends without waiting. */
rset_status rset_first_say(rset_first *f, int to, rset_word w, rset_err *err);
/* The next message, if there is one. */
rset_status rset_first_hear(rset_first *f, rset_word *out, int *from_out, bool *found_out,
                            rset_err *err);
/* The failure of a coming that waited for `waited` seconds, for those that *no names; both are kept for rset_first_confer. */
rset_status rset_first_missing(rset_first *f, const rset_word *no, double waited, rset_err *err);
/* Tells the user, once it takes long. */
void rset_first_say_waiting(const rset_first *f, double start, double timeout, const rset_word *no);

/* ---- comm_mpi_first_root.c, comm_mpi_first_rank.c ---- */

/* Do what rset_first_come does for f->purpose, on rank 0 and on each other rank. */
rset_status rset_first_gather(rset_first *f, double timeout, rset_err *err);
rset_status rset_first_report(rset_first *f, double timeout, rset_err *err);

/* Do what rset_first_confer does, on rank 0 and on each other rank; f->others has what came of it. RSET_OK also where some have not
 * said in time what they need. */
rset_status rset_first_confer_root(rset_first *f, double timeout, bool needs, rset_err *err);
rset_status rset_first_confer_rank(rset_first *f, double timeout, bool needs, rset_err *err);

#endif
