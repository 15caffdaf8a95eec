/* openings_internal.h: which files the ranks that have come open, and the holdings of these that they see, by names, whoever wrote them
 * (openings.c). For stand_in.c, apart.c and report.c; nobody else includes this. */
#ifndef RSET_OPENINGS_INTERNAL_H
#define RSET_OPENINGS_INTERNAL_H

#include "picture/picture.h"
#include "recover_internal.h"

/* Files that are recovered together: of one generation; and where a commit has begun, those of the next as well, which some may
 * have published and others only prepared. */
typedef struct rset_openings_of {
    uint64_t generation, next; /* `next` 0: no commit has begun, as far as it is known */
    int      ranks;
} rset_openings_of;

/* A set of names: a bit for some of each, so that it fits into a reduction. */
enum { RSET_OPENING_BITS = 8192 };
typedef struct rset_opening_names {
    uint8_t bits[RSET_OPENING_BITS / 8];
} rset_opening_names;

/* Zero-initialised but for `r`; owned. */
typedef struct rset_openings {
    rset_recovery    *r;
    rset_look         look; /* what this process sees */
    rset_look_telling telling;
    /* Of the file that this rank opens: its name, 0: nobody protects that; whether a file is there (RSET_HOLDING_DATA); and the newest that
     * anybody knows of it, with what is prepared beside that. */
    rset_holding own;
    bool
        exact; /* what lies somewhere is told apart from what is only recorded there; the same on all */
    rset_opening_names opened;   /* by some rank */
    rset_holding      *openings; /* `own` of each rank, once all have said it (rset_openings_say) */
    rset_holding      *heard;    /* of the own name, what all see (rset_openings_ask) */
    size_t             nheard;
    bool               several; /* with rset_openings_ask: another rank opens the same name */
    rset_status failed; /* of this rank alone, its message in r->err: for the next reduction */
} rset_openings;

/* Does it matter which files the ranks open? Not where each opens one of its own, and all that anybody sees of these is of the generation
 * that counts. *aside is that question, for messages that go to keepers anyway. Local. RSET_NOMEM, RSET_IO. */
rset_status rset_openings_ask_aside(rset_recovery *r, rset_keepers_aside *aside);
/* rset_openings_differ asks that question in messages of its own. *differ_out is false after a failure. Collective. RSET_NOMEM, RSET_IO. */
rset_status rset_openings_differ(rset_recovery *r, bool *differ_out);

/* This process looks around, and hears which names may be opened. Collective. RSET_NOMEM, RSET_IO. */
rset_status rset_openings_begin(rset_openings *o);

/* Each rank says what it sees of files that some rank opens, and hears what all see of the name that it opens itself: o->heard, not the
 * same on all ranks; of what several see, that one of them does. A failure of this rank alone is left in o->failed. Collective.
 * RSET_NOMEM. */
rset_status rset_openings_ask(rset_openings *o);

/* What o->own says of generations: the newest of what was heard; `meant`: only of the files that are meant. Local. */
void rset_openings_take_newest(rset_openings *o, bool meant);

/* All say what they open: o->openings. Agrees as rset_agree does, on `own` too. Collective. RSET_NOMEM. */
rset_status rset_openings_say(rset_openings *o, rset_status own);

/* The first who opens this name, as all have said; -1: nobody does. Local. */
int rset_openings_asker(const rset_openings *o, uint64_t name);

/* The same; but rather one who finds a file there. Local. */
int rset_openings_finder(const rset_openings *o, uint64_t name);

/* Is it what this rank asks for, and no other file of that name? Local. */
bool rset_openings_mean(const rset_openings *o, const rset_holding *holding);

/* Is it one of those files: published or prepared? Pure. */
bool rset_openings_is_of(const rset_holding *holding, const rset_openings_of *of);

/* Calls take for each holding that this process sees or finds recorded, of ranks that open one file each, until it says false, which is
 * returned; k: which of what `found` records. `told`: only for what this process tells others (rset_look_tells). Local. */
typedef bool (*rset_holding_fn)(const rset_openings *o, const rset_located *found, int k,
                                const rset_holding *holding, void *arg);
bool rset_openings_each(const rset_openings *o, bool told, rset_holding_fn take, void *arg);

void rset_openings_free(rset_openings *o);

#endif
