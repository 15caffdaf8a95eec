/* generations.h: which generations of files there are, and which of them is meant (keep=N, generation=). */
#ifndef RSET_GENERATIONS_H
#define RSET_GENERATIONS_H

#include "comm/comm.h"
#include "member/member.h"
#include "member/space.h" /* what each takes on disk */

/* A generation, as a user names it. */
typedef struct rset_which {
    char     label[RSET_STAMP_TEXT + 1]; /* the newest that a program gave this name; "": */
    unsigned back; /* so many before the newest; 0: by its number of commits: */
    uint64_t commits;
    uint64_t exact; /* or by all of it; 0: not so */
} rset_which;

/* "-1", "-2", ...; "17", the one with that count of commits; 16 hexadecimal digits, that one; "label:NAME". RSET_USAGE. Pure. */
rset_status       rset_which_parse(const char *text, rset_which *out, rset_err *err);
extern const char rset_which_forms[]; /* these, for messages */

enum { RSET_GENERATIONS_MAX = 32, RSET_GENERATIONS_TEXT = 560 };

/* Newest first; of more than RSET_GENERATIONS_MAX the newest. Plain data, which ranks send each other. */
typedef struct rset_generations {
    uint64_t n;
    uint64_t at[RSET_GENERATIONS_MAX];
    uint64_t published, known; /* the newest that has the files' names; that any sign is left of */
    uint64_t ranks;            /* the most that anything says the files are of; 0: not known */
    /* Where a label was asked for: */
    uint64_t labelled; /* the newest that has it, 0: none */
    uint64_t
         told; /* generations of which one rank knows the label, and what they are, for messages */
    char text[RSET_GENERATIONS_TEXT];
} rset_generations;

/* Puts one in its place, unless it is there. Pure. */
void rset_generations_add(rset_generations *all, uint64_t generation);

/* Those of one rank's files: the one that is published, and older ones that are kept. `ev` is what its disk says. Pure. */
void rset_generations_of(const rset_evidence *ev, rset_generations *out);

/* Of all ranks' generations, where nothing is left that records the newest: adds it all the same, as what is known of it, or as the
 * one after those that are kept. So none of these is taken for it. Pure. */
void rset_generations_add_lost(rset_generations *all);

/* Notes what one of them is called (NULL: nothing), of several the newest first, and whether that is what `which` asks for.
 * Pure. */
void rset_generations_note(rset_generations *all, const rset_which *which, uint64_t generation,
                           const char *label);

/* The same of all of `local`, where `which` is a label: reads headers. Nothing else is done where it is none. RSET_IO, RSET_NOMEM.
 * Local. */
rset_status rset_generations_note_own(const rset_local *local, const rset_evidence *ev,
                                      const rset_which *which, rset_generations *all,
                                      rset_err *err);

/* Adds what another one says. Pure. */
void rset_generations_merge(rset_generations *into, const rset_generations *other);

/* Is it known which one is meant, by what one rank's directory says alone? Where it names none that is meant, or may have
 * lost one on the way from the newest to that, others may know more. The same of what several ranks' say. Pure. */
bool rset_generations_suffice(const rset_generations *own, const rset_which *which);

/* Those that any rank has, and which of them has the label; the same on all ranks. Collective. */
rset_status rset_generations_of_all(rset_comm *world, const char *host, rset_generations *all,
                                    rset_err *err);

/* The one that is meant, 0: there is none such, or more than one has that number. Pure. */
uint64_t rset_generations_find(const rset_generations *all, const rset_which *which);

/* What one of them goes by: its number, or where another one has the same, all of it. Files of one rank are numbered by the time. */
enum { RSET_GENERATION_NAME = 24 };
void rset_generations_name(const rset_generations *all, uint64_t generation,
                           char out[RSET_GENERATION_NAME]);

/* Says in *err that there is none such, or more than one, and which there are; returns RSET_USAGE. */
rset_status rset_generations_none(const rset_generations *all, const char *which, const char *path,
                                  rset_err *err);

/* ---- own_generations.c: what one rank's directory says of each ---- */

/* One generation of a rank's files. */
typedef struct rset_own_generation {
    uint64_t   generation;
    bool       newest;   /* it has the files' names */
    bool       recorded; /* what protects it is there: */
    rset_desc  desc;
    rset_stamp stamp;
    uint64_t   size; /* of the data files; what is recorded, else that of the file that is there */
    uint64_t
                bytes; /* on disk, of the data files and all that protects them; what has several names counts with the newest */
    const char *why;   /* why it cannot be had here, a sentence about "it"; "": it can; not owned */
} rset_own_generation;

typedef struct rset_own_generations {
    size_t               n;
    rset_own_generation *at; /* newest first; owned */
} rset_own_generations;

/* All that there are of the files of `local`; `ev` is from rset_survey. Headers are read, no content. *out is to be freed in
 * any case. RSET_IO, RSET_NOMEM. Local. */
rset_status rset_own_generations_list(const rset_local *local, const rset_evidence *ev,
                                      rset_own_generations *out, rset_err *err);
void        rset_own_generations_free(rset_own_generations *list);

/* ---- drop.c: one of them goes ---- */

/* Does some program have that older generation open? Another one that locks its files, as HDF5 does unless told otherwise, or this
 * one. Local. */
bool rset_generation_is_open(const rset_local *local, uint64_t generation);

typedef struct rset_drop_args {
    rset_comm           *world;
    const rset_local    *local;      /* without a directory where that is missing */
    const rset_evidence *evidence;   /* from rset_survey; zeroed without a directory */
    uint64_t             generation; /* that is to go */
    const char          *host;
    rset_status          before; /* this rank's failure so far (its message in *err), or RSET_OK */
} rset_drop_args;

/* Removes an older generation of all ranks' files, durably. Collective over world. Refused on all ranks, and nothing is changed:
 * RSET_USAGE, where it is the newest, no rank has it, or ranks mean different ones; RSET_BUSY where a rank has it open. RSET_IO: it
 * could not be removed on some rank; what is left of it goes with another try, or when a commit retires it. */
rset_status rset_generation_drop(const rset_drop_args *args, rset_err *err);

#endif
