/* recover_internal.h: what the parts of rset_recover share: recover.c (the order of steps), recover_card.c (what
 * each rank has), recover_commit.c (commits that were cut short), recover_who.c (which rank has whose files) and
 * recover_repair.c (what is brought back). Nobody else includes this. */
#ifndef RSET_RECOVER_INTERNAL_H
#define RSET_RECOVER_INTERNAL_H

#include "recover.h"
#include "set/rebuild.h"

/* What every rank tells all others. Sent as it is. */
typedef struct card {
    uint8_t  any;     /* evidence of protection */
    uint8_t  has;     /* a header; what follows from "rank" to "generation" is of it */
    uint8_t  is_void; /* as in rset_evidence */
    uint8_t  cut;     /* a program died while it wrote the file in place */
    uint8_t  there;   /* data file exists */
    uint8_t  damaged; /* is not as recorded */
    uint8_t  bare;    /* redundancy or descriptor file not as recorded */
    uint8_t  written; /* damaged, and may be what a program wrote since */
    uint8_t  beside;  /* what its header records lies beside the file: a commit was cut short */
    uint8_t  litter;  /* what dead runs left lies around */
    uint8_t  looked;  /* its content was verified, as far as that is asked for */
    uint8_t  pending; /* an update of its redundancy file is decided on, and not yet in it */
    uint8_t  frozen;  /* nothing may be written */
    uint8_t  content; /* the content is to be verified */
    uint8_t  apart;   /* rset_evidence_apart */
    uint8_t  unused[5];
    int32_t  rank, ranks, set, member, members;
    uint64_t generation;
    uint64_t next; /* generation of a complete unpublished redundancy file */
    uint64_t mark; /* of its data file, 0: none */
    uint64_t name; /* hash of the base name it opens */
    uint64_t path; /* hash of the path that its header records, 0: has none */
} card;
_Static_assert(sizeof(card) == 80, "no holes: nothing uninitialised is sent");

/* What is known of one parent rank of the encode. */
typedef struct place {
    int      set, member; /* -1: nobody recorded it */
    uint64_t name, path;  /* hashes of its file's base name, and of its path; 0: unknown */
    int      by;          /* rank that has it now, -1: nobody yet */
} place;

typedef struct muster {
    const rset_recover_args *args;
    rset_err                *err;
    rset_outcome            *out;
    card                    *cards;
    uint64_t                 generation;
    int                      ranks; /* parent ranks of the encode */
    place                   *places;
    int                      me; /* this rank's parent rank */
    rset_comm                set;
    bool                     has_set;
    bool                     frozen;  /* on any rank */
    bool                     content; /* the same */
    bool                     dry;     /* only find out whether it can be done */
    bool                     forward; /* a commit was cut short, and goes forward */
    const rset_local
        *closing;  /* the files as they are about to be protected; NULL: they are being opened */
    bool trusting; /* files that are there are good until they are read */
    int  unknown;  /* the last rank that found RSET_FOUND_UNKNOWN */
    rset_repair rep;
} muster;

/* Does rank r have a header of the generation that is to be restored? */
bool rset_muster_has(const muster *m, int r);

/* The first rank whose data file carries the mark of another generation than an earlier rank's,
 * *first_out, or -1. Files without a mark say nothing. */
int rset_muster_mixed(const muster *m, int *first_out);

/* Hash of a name or path, never 0. Only ever compares them within one job. */
uint64_t rset_muster_hash(const char *name);

/* Everyone's `len` bytes to all, and then all know that all have them, and that no rank had failed before
 * (`own`: this rank's outcome so far; its message is in *m->err): nobody fails alone. `all` is NULL only
 * where there was no memory for it. Collective over the world. */
rset_status rset_muster_gather(muster *m, rset_status own, const void *mine, size_t len, void *all);

/* Looks at this rank's files, and fills m->cards with what all have. Collective over the world. */
rset_status rset_muster_gather_cards(muster *m);

/* Have all ranks verified their content? If not they do, and tell each other again: cheap things first, for when
 * files are missing everything has to be read for the rebuild anyway. Collective over the world. */
rset_status rset_muster_look_closer(muster *m);

/* What the disk says now, after it was changed. Local. */
rset_status rset_muster_survey(muster *m);

/* recover_commit.c: the generation that most ranks have, or had decided on; of two equally common ones the newer. To
 * m->generation and m->ranks. Local, from everyone's cards. */
void rset_muster_choose(muster *m);

/* Did all ranks decide on the commit of m->generation, and some not finish it? Then each
 * finishes its own share. Local, from everyone's cards. */
bool        rset_muster_commit_unfinished(const muster *m);
rset_status rset_muster_roll_forward(muster *m);

/* What this rank will have when that is done: its files, with the content that they will have, and what
 * the disk will say. Local; freed with rset_muster_ahead_free. */
typedef struct ahead {
    rset_local    local;
    rset_evidence evidence;
    char         *beside;
} ahead;
rset_status rset_muster_look_ahead(const muster *m, ahead *out);
void        rset_muster_ahead_free(ahead *a);

/* recover_repair.c: with places, and sets. Looks at what is bad, and brings it back on all ranks, or leaves all as it is
 * where that is right, or refuses. m->trusting: RSET_DAMAGED or RSET_LOST, with nothing done, when that was wrong.
 * Collective over the world. */
rset_status rset_muster_repair(muster *m);

/* What dead runs left behind takes space, and would be looked at again at every open. As long as some redundancy is
 * missing (`whole` false), only a new file that nobody goes on writing: the rest may still be of use. Local. */
void rset_muster_remove_leftovers(muster *m, bool whole);

/* No other rank has changed anything: what would make all go back, where others change theirs later, is over. Local. */
void rset_muster_remove_sign(muster *m);

/* Finds out which rank has the files of which parent rank, and makes m->set of this rank's set. Ranks of
 * whose set nothing is known any more have no set (m->has_set false). Collective over the world. */
rset_status rset_muster_places(muster *m);

#endif
