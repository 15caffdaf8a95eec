/* rendezvous_internal.h: what the parts of a rendezvous share, each using those before it:
 *   kinds.c      what is known of kinds              outbox.c     messages that are under way
 *   proposals.c  what is the same, and who goes together
 *   combine.c    the tree in which that is merged    parts.c      kinds that some ranks have none of
 *   root_text.c  what rank 0 says
 *   settle.c     what rank 0 answers to each         root.c       what rank 0 does
 *   wait.c       each rank, until it has an answer   rendezvous.c the door of each rank
 *
 * All messages have one form and one tag.
 *
 * A round lasts from one GO to the next; all ranks count the same rounds, since GO goes to all. It begins calm: a rank waits
 * until the ranks below it in the tree propose what it does, merges that, and sends it up (TOGETHER). When all have come
 * to rank 0, GO goes down the same way. Whoever finds that it is not like that turns to rank 0 itself (PROPOSE): another
 * proposal below it, a file that was closed without the others, half of its time waited without an answer. Rank 0 then
 * tells all (DIRECT), all propose to it, and it knows exactly who does what and who is missing. Rank 0 alone decides which
 * of the two a round is: what was merged counts for nothing once the round is direct (Z3). */
#ifndef RSET_RENDEZVOUS_INTERNAL_H
#define RSET_RENDEZVOUS_INTERNAL_H

#include "rendezvous.h"

enum { RSET_NOTE_TEXT = 512 };

typedef enum {
    RSET_NOTE_PROPOSE = 1, /* to rank 0: I want to do this */
    RSET_NOTE_WITHDRAW,  /* to rank 0: I do not wait any longer; answered, unless it was already */
    RSET_NOTE_HAVE,      /* to rank 0: I have such files as well, that not all were known to have */
    RSET_NOTE_FAILED,    /* to all: I could not create such a file, and will not come to close it */
    RSET_NOTE_LEFT,      /* to some: I have proposed this, waited, and gone on without the others */
    RSET_NOTE_GO,        /* from rank 0: all are here */
    RSET_NOTE_NO,        /* from rank 0: it will not be; text says why */
    RSET_NOTE_SOME,      /* from rank 0: this is not done by all ranks */
    RSET_NOTE_ALL,       /* from rank 0: it is, after all */
    RSET_NOTE_LEAVE,     /* to rank 0: I am in MPI_Finalize */
    RSET_NOTE_LEAVE_ALL, /* from the parent: all are; no message follows */
    RSET_NOTE_TOGETHER,  /* to the parent: all of my subtree propose this; merged */
    RSET_NOTE_DIRECT,    /* from rank 0, or a parent that leaves: propose to rank 0 in this round */
    RSET_NOTE_ELSEWHERE, /* to rank 0: I do this in a smaller part; not answered */
    RSET_NOTE_ITSELF, /* from rank 0: others have opened such a file by themselves: so may who comes to it next; not
                          `whole`: no more, somebody needs all */
    RSET_NOTE_LACK /* to all: I have no files that match the pattern in text; round, seq: the last
                      round in which I was told to go, and the part that it was of */
} rset_note_type;

/* Sent as it is: all ranks run the same program. Where there is no text, it is left out. */
typedef struct rset_note {
    int32_t  type, op;
    int32_t  required;
    int32_t  evidence, protected_; /* as in rset_proposal; NO: those of all who proposed the same */
    int32_t  told;                 /* NO: another rank says so to the user. LEFT: 1 + `speaker` */
    int32_t  known;                /* NO: the kind was known before */
    int32_t  needs_all, whole;     /* as in rset_proposal */
    int32_t  by_itself;            /* NO: it is opened without the others */
    int32_t  nth; /* OPEN: of this kind, since all have opened one together. NO: 1 + `speaker` */
    uint64_t seq; /* of the proposal that this is or answers */
    uint64_t keys[RSET_KEYS]; /* as in rset_proposal */
    uint64_t bits, most, latest, least_base, most_base, nonce;
    uint64_t gone[RSET_GONE_MAX]; /* the same */
    uint64_t equal; /* bits of the runs in the name that are equal on all ranks that this is of */
    uint64_t round; /* that its sender is in; GO, DIRECT: that it is about */
    uint64_t relay; /* GO: 1: pass it on to the children */
    uint64_t apart; /* GO: 1: all read, not the same */
    uint64_t part;  /* rset_rendezvous.part that this is of */
    uint64_t came;  /* as in rset_proposal */
    double
        waited; /* PROPOSE: for how many seconds already; NO: for some, 0: nobody was waited for */
    uint64_t
        epoch; /* this step of its sender, counted from 1; 0: no step; GO: of all that have come */
    rset_kind kind;
    char      host[RSET_HOST_NAME];
    char      text[RSET_NOTE_TEXT];
} rset_note;
_Static_assert(sizeof(rset_note) == 12 * 4 + (15 + RSET_KEYS + RSET_GONE_MAX) * 8 +
                                        sizeof(rset_kind) + RSET_HOST_NAME + RSET_NOTE_TEXT,
               "no holes: nothing uninitialised is sent");
_Static_assert(offsetof(rset_note, text) <= 512, "Z7");

/* Bytes of it that are sent. */
static inline size_t
rset_note_size(const rset_note *n)
{
    return n->text[0] != '\0' ? sizeof *n : offsetof(rset_note, text);
}

/* ---- kinds.c ---- */

/* A message says with this word what a rank does that proposes `op`: "opening". */
const char *rset_rendezvous_op_text(int op);

/* Another rank will not come to something, or not again, as it has said. */
typedef struct rset_absence {
    int       type;        /* RSET_NOTE_FAILED, RSET_NOTE_LEFT; 0: nobody has said so */
    int       rank, world; /* who: in the rendezvous, and among all */
    double    at;          /* when this rank has heard it */
    int       speaker;     /* LEFT: the first of the ranks that are late: it tells the user */
    int       nth;         /* as in its note, as are the next two */
    uint64_t  epoch;
    rset_kind name;
    char      host[RSET_HOST_NAME];
} rset_absence;

/* What is known of one kind of file. Arrays are by operation. */
typedef struct rset_known_kind {
    char text[RSET_KIND_MAX];
    bool met[RSET_RENDEZVOUS_OPS];      /* it was done by all ranks */
    bool some[RSET_RENDEZVOUS_OPS];     /* it was done by some only */
    bool seldom[RSET_RENDEZVOUS_OPS];   /* by some only, though it will be done by all: the file is
                                         protected */
    bool insisted[RSET_RENDEZVOUS_OPS]; /* one of the ranks wanted it as an error when they do not
                                           come together */
    bool compared;                      /* runs were compared once; the next three are valid then */
    uint64_t common;                    /* bits of runs that were equal on all ranks each time */
    uint64_t
        named; /* of those that were equal on all and another time others: they name the step */
    uint64_t last[RSET_RUNS_MAX];
    uint64_t epoch;    /* steps of this kind so far, as all count them */
    uint64_t part;     /* in which this kind was proposed last */
    int      timeouts; /* how often it was waited for until the timeout without having been met */
    bool     told;     /* the user knows that it is not done by all, and not that it is after all */
    bool     late_told; /* the same, said by a rank that was late */
    bool     apart;     /* its files were read by ranks in orders of their own */
    int      alone;     /* how often that was done without the others since all came */
    bool     announced; /* rank 0 was told that this rank has such files */
    int      have;      /* rank 0: how many ranks have */
    rset_absence absent[RSET_RENDEZVOUS_OPS]; /* the last one */
    /* since all have opened one together: so many were opened by this rank; so many others have, up to that one, of which some
     * by themselves: of this step, generation and name */
    int                     opens, itself;
    uint64_t                itself_step, itself_generation;
    rset_kind               itself_name;
    struct rset_known_kind *next;
} rset_known_kind;

/* Found or new; NULL without memory. */
rset_known_kind *rset_kinds_get(rset_known_kind **list, const char *text);
/* NULL: nothing is known. */
rset_known_kind *rset_kinds_find(rset_known_kind *list, const char *text);
void             rset_kinds_free(rset_known_kind *list);

/* Is this waited for, but not for long, because it timed out before? Is it not waited for at all? `k` may be NULL. */
bool rset_kind_is_seldom(const rset_known_kind *k, int op, bool evidence);
bool rset_kind_is_for_some(const rset_known_kind *k, int op, bool evidence);

/* Is this an open for reading, of a file that is there and of a kind that is read apart? `k` may be NULL. */
bool rset_kind_reads_apart(const rset_known_kind *k, const rset_note *n);
/* How long such an open waits for the others. */
double rset_kind_apart_wait(const rset_known_kind *k, double timeout);

/* Has it been done by all ranks? A kind that was opened together is closed so, but a file that was closed together may well
 * be read by one rank. */
bool rset_kind_was_met(const rset_known_kind *k, int op);

/* All ranks have done this together. */
void rset_kind_met(rset_known_kind *k, int op);
/* All ranks have shown that they do: whoever did not come was late. */
void rset_kind_for_all(rset_known_kind *k, int op);
/* All `ranks` ranks have closed one together, so that none has to announce that it has such files. */
void rset_kind_shown(rset_known_kind *k, int ranks);
/* Such files could not be had or protected together: was the user told of these before? From now on yes, but for an open of what nobody
 * has protected, of which nothing is said. */
bool rset_kind_tell(rset_known_kind *k, int op, bool evidence);
/* Not all ranks do it, as is known for sure; false when that is no news. */
bool rset_kind_not_met(rset_known_kind *k, int op, bool evidence);

/* Do the names agree, as far as they have to? */
bool rset_kind_same_step(const rset_known_kind *k, const rset_kind *a, const rset_kind *b);
/* Does this name say which step it is, so that nobody has to count? */
bool rset_kind_names_step(const rset_known_kind *k, const rset_kind *name);
/* Rank `from`, `world` among all, says in *n that it will not come. */
void rset_kind_note_absence(rset_known_kind *k, int from, int world, const rset_note *n);
/* Has a rank said that it will not come to what *n proposes? NULL: none. `k` may be NULL. */
const rset_absence *rset_kind_absence(const rset_known_kind *k, const rset_note *n);
/* The same where who proposes *n since then need not wait: of those that have left if it is late. They may well open such a file
 * again, though. */
const rset_absence *rset_kind_sure_absence(const rset_known_kind *k, const rset_note *n,
                                           double since);
/* That in words, for a rank that proposes *mine. */
void rset_kind_absence_text(const rset_absence *absence, const rset_note *mine, char *buf,
                            size_t size);
/* The note about that absence for rank `rank`, which proposes *mine, instead of an answer. One rank tells the user. */
void rset_kind_say_absent(rset_known_kind *k, const rset_absence *absence, int rank,
                          const rset_note *mine, rset_note *no_out);
/* True if another rank than `rank`, which is late with *mine, tells the user so, or one has. Else `rank` does, from now on. */
bool rset_kind_tell_late(rset_known_kind *k, int rank, const rset_note *mine);
/* Whoever was late, and not steps behind, has tried to do it together as much as those that have waited (RSET_TRIES). */
void rset_kind_count_late(rset_known_kind *k, const rset_absence *absence, const rset_note *mine);

/* Can two opens be of one step, by their epochs? Who only reads has none. */
bool rset_kind_of_one_step(uint64_t a, uint64_t b);
/* Others have opened such a file by themselves, as *n says; so may this rank, as often. Or no more. */
void rset_kind_note_itself(rset_known_kind *k, const rset_note *n);
/* May this rank, which proposes *mine? */
bool rset_kind_may_itself(const rset_known_kind *k, const rset_note *mine);

/* All ranks have come with these names; the runs that were `equal` (bits) on all. */
void rset_kind_note_names(rset_known_kind *k, const rset_kind *name, uint64_t equal);

/* ---- outbox.c ---- */

typedef struct rset_outbox_message rset_outbox_message;

typedef struct rset_outbox {
    rset_comm           *comm;
    rset_outbox_message *messages; /* messages that may still be under way */
    rset_outbox_message *blank;    /* for one more when there is no memory, NULL: under way */
    uint64_t             part;     /* that its messages are of */
} rset_outbox;

rset_status rset_outbox_open(rset_outbox *box, rset_comm *comm, rset_err *err);
/* Gives up what is under way; and goes on. */
void rset_outbox_close(rset_outbox *box);
void rset_outbox_renew(rset_outbox *box);
/* Sends without waiting; the copy lives until the transport is done with it. */
rset_status rset_outbox_post(rset_outbox *box, int to, const rset_note *n, rset_err *err);
/* Looks after what was sent. */
void rset_outbox_reap(rset_outbox *box);

/* ---- the state ---- */

/* Rank 0's view of one rank. */
typedef struct rset_guest {
    bool      here; /* proposes */
    double    since;
    int       missed; /* how often it timed out since it was heard of last */
    rset_note note;
} rset_guest;

struct rset_rendezvous {
    rset_comm       *comm; /* NULL: not all have come together yet; of a part: owned */
    int              size;
    char             host[RSET_HOST_NAME];
    uint32_t         seq;
    uint64_t         job; /* 0: none before all have met once */
    rset_known_kind *kinds;
    rset_outbox      outbox;
    rset_note        answer; /* to this rank's proposal, type 0 while there is none */
    bool             all_gone;
    bool             timed_out;   /* waiting for a kind that was never met */
    int              root_missed; /* how often rank 0 was, on the other ranks */
    bool             keys_told;   /* that configurations differ */
    bool             leaving;     /* in MPI_Finalize */

    uint64_t   round;     /* from 1 */
    uint64_t   direct;    /* the last round that is direct, as far as this rank knows; 0: none */
    uint64_t   up;        /* the last round in which it has sent something up; 0: none */
    uint64_t   up_seq;    /* its own proposal in that */
    int        nchildren; /* in the tree */
    rset_note *children;  /* what each has sent up last */

    uint64_t         part;  /* 0: of all ranks; else a number that stands for which */
    rset_rendezvous *whole; /* that of all ranks, perhaps itself */
    rset_rendezvous *next;  /* the parts of it */

    /* of the whole only */
    struct rset_lack *lacks; /* who has said that it has none */
    struct rset_held *held;  /* messages of parts that are not there yet */
    const char       *path;  /* of the file that this rank waits with, NULL: none */
    rset_rendezvous  *at;    /* where it does */
    double            began; /* when it began to, there or in a larger part */
    bool     elsewhere;      /* while it waits: another rank has said that it has no such files */
    uint64_t last_part, last_round; /* in which this rank was told to go last */

    /* rank 0 only */
    rset_note   mine;    /* its own proposal */
    bool        waits;   /* for an answer to that */
    double      since;   /* when it began to */
    rset_note   last_go; /* of the round before this one */
    rset_guest *guests;  /* in a direct round only; else NULL */
    bool       *gone;    /* who is in MPI_Finalize; NULL: nobody */
    int         ngone;
    bool        stirred; /* something has come since it was looked at last */
    double      due;     /* when to look at guests again all the same */
};

/* ---- proposals.c ---- */

/* What is known of the kind that this is about; NULL: nothing. */
const rset_known_kind *rset_root_kind_of(const rset_rendezvous *m, const rset_note *n);
/* Do both propose the same, of one step? Have they the same configuration, and closed such files equally often, as well? */
bool rset_root_same(const rset_rendezvous *m, const rset_note *a, const rset_note *b);
bool rset_root_alike(const rset_rendezvous *m, const rset_note *a, const rset_note *b);
/* Does rank i propose what rank r does? How many ranks do? */
bool rset_root_with(const rset_rendezvous *m, int i, int r);
int  rset_root_group_size(const rset_rendezvous *m, int r);

/* Has rank r, and all who came with it when not all came, come again? */
bool rset_root_came_again(const rset_rendezvous *m, int r);

/* All are here: do they only read, files of one kind? In a direct round. */
bool rset_root_all_read(const rset_rendezvous *m);

/* Does rank r open a file that can be opened by itself: does nobody close such files, and are those of all who open them whole,
 * of one step and of one generation? In a direct round. */
bool rset_root_stands_alone(const rset_rendezvous *m, int r);

/* All propose the same: the first rank whose configuration is not that of rank 0, and in which key, -1: none. */
int rset_root_odd_key(const rset_rendezvous *m, rset_key *key_out);

/* Merges what another proposal of the same says: what GO tells all. */
void rset_proposal_merge(rset_note *into, const rset_note *other);

/* Have the ranks that are here closed their files equally often? Mostly they have, and then nobody has to be compared with
 * everybody. */
bool rset_root_epochs_differ(const rset_rendezvous *m);
/* How often the rank that is furthest has closed what rank r closes now; *who_out: that rank, where it is not r. */
uint64_t rset_root_furthest(const rset_rendezvous *m, int r, int *who_out);

/* So often a kind that was never met is waited for, the first time for long: one rank may only have been late. */
enum { RSET_TRIES = 6 };

/* How long it is waited for then, 0: no more. `timed_out`: another kind was, for a whole timeout: a program that has one such
 * file may have many, and pays once. */
double rset_kind_wait(const rset_known_kind *k, double timeout, bool timed_out);

/* Nobody waits longer where another rank has waited for the same, and left. */
#define RSET_LEFT_WAIT 0.5

/* Until when one waits that began at `since`, for ranks that timed out `missed` times: the whole timeout for the first time, less
 * and less after that. */
double rset_rendezvous_until(rset_rendezvous *m, const rset_note *what, double since, int missed);

/* Is rank r in MPI_Finalize? On rank 0. */
bool rset_root_is_gone(const rset_rendezvous *m, int r);

/* ---- combine.c ---- */

/* The place of this rank in the tree; the first round begins. RSET_NOMEM. */
rset_status rset_combine_open(rset_rendezvous *m, rset_err *err);
/* And once more: nothing has been sent up yet. */
void rset_combine_renew(rset_rendezvous *m);

/* Is this round direct, as far as this rank knows? From now on it is; or `round` is, somebody says. */
bool rset_combine_is_direct(const rset_rendezvous *m);
void rset_combine_turn(rset_rendezvous *m);
void rset_combine_told(rset_rendezvous *m, uint64_t round);

/* TOGETHER of rank `from`. Who leaves does not wait for those below it, and says so to them. */
void rset_combine_take(rset_rendezvous *m, int from, const rset_note *n);

/* What the ranks below this one have sent up in this round. WHOLE: all have, and it is what this rank proposes; *sum_out is
 * that of all of them. */
typedef enum { RSET_COMBINE_WAITS, RSET_COMBINE_WHOLE, RSET_COMBINE_DIFFERS } rset_combined;
rset_combined rset_combine_look(const rset_rendezvous *m, const rset_note *mine,
                                rset_note *sum_out);
/* Has any of them sent up something in this round? */
bool rset_combine_anybody(const rset_rendezvous *m);

/* Sends it to the parent, once in a round; RSET_PEER, RSET_NOMEM. Not on rank 0. */
rset_status rset_combine_send_up(rset_rendezvous *m, const rset_note *sum, rset_err *err);

/* GO of this round: passes it on, if it is to be, and ends the round. */
void rset_combine_go(rset_rendezvous *m, const rset_note *go);

/* ---- parts.c ---- */

/* Rank `from` says that it has no files that match n->text; this rank leaves where it waits for it. False without
 * memory. Local, as all of these. */
bool rset_parts_take_lack(rset_rendezvous *whole, int from, const rset_note *n);

/* Where *p is to be proposed, as far as is known: *out is `whole`, or a part of it, made at the first call. RSET_PEER: this
 * rank has said that it has no such files; RSET_NOMEM. */
rset_status rset_parts_choose(rset_rendezvous *whole, const rset_proposal *p, rset_rendezvous **out,
                              rset_err *err);

/* By its number: NULL: it was not made yet. Where files of this kind were proposed last. */
rset_rendezvous *rset_parts_find(rset_rendezvous *whole, uint64_t part);
rset_rendezvous *rset_parts_of_kind(rset_rendezvous *whole, const char *text);

/* Its rank in m->comm of a rank of the whole; -1: it is not in there. */
int rset_parts_rank(const rset_rendezvous *m, int rank);

/* To all others: what was said once, or is said again. */
rset_status rset_parts_say_lack(rset_rendezvous *whole, const char *pattern, rset_err *err);

/* Keeps a message of a part that is not there yet; too many are dropped. The next one of that part; false: there is none. */
void rset_parts_hold(rset_rendezvous *whole, int from, const rset_note *n);
bool rset_parts_next_held(rset_rendezvous *whole, uint64_t part, int *from_out, rset_note *out);

/* After a renewal: what was held is of the time before; that this rank has no such files is said once more. */
void rset_parts_renew(rset_rendezvous *whole);

/* Frees the parts, and what is known of them; `whole` stays. */
void rset_parts_free(rset_rendezvous *whole);

/* ---- root_text.c ---- */

/* Into a buffer of `size` bytes: "ckpt_3.#.h5", the kind with those numbers in their places that all who go with it have;
 * "rank 0 (node0) is closing log.h5, rank 1 (node0) and 2 more are closing ckpt_#.h5"; who has not proposed what rank r
 * does (nobody: r itself was here before the others, and gave up). In a direct round. */
void rset_root_show_kind(const rset_rendezvous *m, const rset_note *n, char *buf, size_t size);
void rset_root_say_who(const rset_rendezvous *m, char *buf, size_t size);
void rset_root_say_missing(const rset_rendezvous *m, int r, const char *how, char *buf,
                           size_t size);

/* ---- settle.c ---- */

/* Answers rank r's proposal, which is over then. In a direct round. */
void rset_settle_answer(rset_rendezvous *m, int r, const rset_note *n);

/* Tells all ranks but those that are gone. */
void rset_settle_tell_all(rset_rendezvous *m, const rset_note *n);

/* Tells all ranks that this is not done by all, unless they know. */
void rset_settle_spread(rset_rendezvous *m, const rset_kind *kind, int op, bool evidence);

/* Rank r has waited long enough. Who was expected, because the kind was met before, and sends no sign
 * of life, is not waited for as long the next time. As long as rank 0 is elsewhere itself, nobody is missed but rank 0. */
void rset_settle_give_up(rset_rendezvous *m, int r);

/* Makes the GO of this round, of what all propose: m->last_go, said again to who asks in this round afterwards. `relay`: on
 * the way down the tree. */
void rset_settle_go(rset_rendezvous *m, const rset_note *sum, bool relay);

/* Answers whatever can be answered in a direct round, which is over when all were told to go. */
void rset_settle_round(rset_rendezvous *m);

/* ---- root.c ---- */

/* Rank 0 counts, or is told, once, that this rank has files of this kind: it closes one. On any rank. */
void rset_root_announce(rset_rendezvous *m, int op, const rset_kind *kind);

/* Rank 0 proposes, and waits from now on until it is answered. */
void rset_root_come(rset_rendezvous *m, const rset_note *mine);

/* It does not wait any more, though it was not answered: it has gone to a part. */
void rset_root_go_elsewhere(rset_rendezvous *m);

/* A message of rank `from`, or rank 0's own. */
void rset_root_take(rset_rendezvous *m, int from, const rset_note *n);

/* Answers whatever can be answered now. Only when no message is waiting to be taken in: one that
 * withdraws must be seen before all are told to go. */
void rset_root_decide(rset_rendezvous *m);

/* ---- wait.c ---- */

/* Takes in all messages that are there; *any_out: there was one. */
rset_status rset_wait_take(rset_rendezvous *m, bool *any_out, rset_err *err);

/* FAILED or LEFT of rank `from`, or FAILED of this one. */
void rset_wait_take_absence(rset_rendezvous *m, int from, const rset_note *n);

/* Proposes, and waits for the answer, which is m->answer then; of type 0 when another rank has said meanwhile that it has no
 * such files. */
rset_status rset_wait_propose(rset_rendezvous *m, const rset_proposal *p, rset_known_kind *k,
                              rset_err *err);

#endif
