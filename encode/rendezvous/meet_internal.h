/* meet_internal.h: what the parts of the meetings share: meet.c, the door of each rank, meet_root.c, where rank 0
 * answers, and meet_kinds.c, what is known of kinds of files. All messages have one form and one tag; rank 0 keeps a table of who proposes
 * what, the others talk to rank 0 only. */
#ifndef RSET_MEET_INTERNAL_H
#define RSET_MEET_INTERNAL_H

#include "meet.h"

enum { RSET_NOTE_TEXT = 512 };

typedef enum {
    NOTE_PROPOSE = 1, /* to rank 0: I want to do this */
    NOTE_WITHDRAW,    /* to rank 0: I do not wait any longer; answered, unless it was already */
    NOTE_GO,          /* from rank 0: all are here */
    NOTE_NO,          /* from rank 0: it will not be; text says why */
    NOTE_LEARN,       /* to and from rank 0: this is not done by all ranks */
    NOTE_BYE,         /* to rank 0: I am in MPI_Finalize */
    NOTE_BYE_ALL      /* from rank 0: all are; no message follows */
} rset_note_type;

/* Sent as it is: all ranks run the same program. */
typedef struct rset_note {
    int32_t  type, op;
    uint32_t seq; /* of the proposal that this is or answers */
    int32_t  required;
    int32_t  evidence, protected_; /* as in rset_proposal; NO: those of all who proposed the same */
    int32_t  told, known; /* NO: another rank says so to the user; the kind was known before */
    int32_t  vain;        /* NO: as in rset_proposal */
    int32_t  unused;
    uint64_t key, bits, most, nonce;
    char     kind[RSET_KIND_MAX];
    char     host[RSET_HOST_NAME];
    char     text[RSET_NOTE_TEXT];
} rset_note;
_Static_assert(sizeof(rset_note) ==
                   10 * 4 + 4 * 8 + RSET_KIND_MAX + RSET_HOST_NAME + RSET_NOTE_TEXT,
               "no holes: nothing uninitialised is sent");

typedef struct rset_known_kind {
    char kind[RSET_KIND_MAX];
    int  op; /* what was met; -op: not done by all ranks; RSET_SELDOM - op: of a protected file, not
                always */
    bool insisted; /* one of the ranks wanted it as an error when they do not come together */
} rset_known_kind;

enum { RSET_SELDOM = -100, RSET_KINDS = 256 };

/* Rank 0's view of one rank. */
typedef struct rset_seat {
    bool      here, gone; /* proposes; is in MPI_Finalize */
    double    since;
    int       missed; /* how often it was waited for in vain since it was heard of last */
    rset_note note;
} rset_seat;

typedef struct rset_letter rset_letter;

struct rset_meeting {
    rset_comm       *comm;
    char             host[RSET_HOST_NAME];
    uint32_t         seq;
    rset_known_kind *kinds; /* the latest few */
    size_t           nkinds, next_kind;
    rset_letter     *letters; /* messages that may still be under way */
    rset_letter     *blank;   /* for one more when there is no memory, NULL: under way */
    rset_note        answer;  /* to this rank's proposal, type 0 while there is none */
    bool             all_gone;
    int              root_missed; /* how often rank 0 was, on the other ranks */
    rset_seat       *seats;       /* rank 0 only, as the next */
    bool             keys_told;   /* that configurations differ */
};

/* ---- meet.c ---- */

/* Sends without waiting. */
rset_status rset_meet_post(rset_meeting *m, int to, const rset_note *n, rset_err *err);

const char *rset_meet_op_text(int op);

/* ---- meet_kinds.c ---- */

/* What is remembered of this operation on this kind (`op` as in rset_known_kind); NULL: nothing. */
rset_known_kind *rset_meet_find_kind(rset_meeting *m, const char *kind, int op);

/* How long one waits for ranks that were waited for in vain `missed` times: the whole timeout for the
 * first time, less and less after that. */
double rset_meet_patience(rset_meeting *m, const rset_note *what, int missed);

/* All ranks have done this together. */
void rset_meet_done(rset_meeting *m, const char *kind, int op);

/* Remembers that this is not done by all ranks; false when that is no news. */
bool rset_meet_learn(rset_meeting *m, const char *kind, int op, bool evidence);
/* Is this done by all ranks, as far as known? A kind that was opened together is closed so, but a file
 * that was closed together may well be read by one rank. */
bool rset_meet_was_met(rset_meeting *m, const char *kind, int op);
/* Is this waited for, but not for long, because it was in vain before? */
bool rset_meet_is_seldom(rset_meeting *m, const char *kind, int op, bool evidence);
bool rset_meet_is_alone(rset_meeting *m, const char *kind, int op, bool evidence);

/* ---- meet_root.c: on rank 0 ---- */

/* Tells all ranks that this is not done by all, unless it was. */
void rset_meet_teach_all(rset_meeting *m, const char *kind, int op, bool evidence);

/* A message of rank `from`, or rank 0's own proposal. */
void rset_meet_take_to_root(rset_meeting *m, int from, const rset_note *n);

/* Answers whatever can be answered now. Only when no message is waiting to be taken in: one that
 * withdraws must be seen before all are told to go. */
void rset_meet_decide(rset_meeting *m);

#endif
