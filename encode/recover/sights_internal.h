/* sights_internal.h: what the ranks that have come see of the files that they open, in their directories and by what is recorded
 * there: by names, whoever wrote them (sights.c). For stand_in.c and apart.c; nobody else includes this. */
#ifndef RSET_SIGHTS_INTERNAL_H
#define RSET_SIGHTS_INTERNAL_H

#include "member/where.h"
#include "move/located.h"
#include "recover_internal.h"

enum { RSET_SIGHT_DIRS = 256 }; /* that one process looks at */

/* What a rank sees of a file. Sent as it is. */
typedef struct rset_sight {
    uint64_t   generation, name; /* published; `name`: hash of its base name */
    uint64_t   step;             /* the same where names differ in the numbers of ranks only */
    uint64_t   newest;           /* or prepared beside it */
    uint64_t   next;             /* is prepared by who sees it there, of as many ranks; 0: none */
    int32_t    rank, ranks;      /* that wrote it, of so many */
    int32_t    there;            /* its redundancy file is; else another one only records it */
    int32_t    by;               /* who sees it */
    int32_t    named; /* it, and the files that it was protected with, have different names */
    int32_t    unused;
    rset_where where; /* in what directories it may be asked for */
} rset_sight;

/* Files that are recovered together: of one generation; and where a commit has begun, those of the next as well, which some may
 * have published and others only prepared. */
typedef struct rset_sight_family {
    uint64_t generation, next; /* `next` 0: no commit has begun, as far as it is known */
    int      ranks;
} rset_sight_family;

/* A rank opens this file. Sent as it is. */
typedef struct rset_sight_opening {
    uint64_t name;  /* its hash; 0: nobody protects that */
    uint64_t found; /* that file is there, where it is opened */
} rset_sight_opening;

/* A set of names: a bit for some of each, so that it fits into a reduction. */
enum { RSET_SIGHT_BITS = 8192 };
typedef struct rset_sight_names {
    uint8_t bits[RSET_SIGHT_BITS / 8];
} rset_sight_names;

/* Zero-initialised but for `r`; owned. */
typedef struct rset_sights {
    rset_recovery      *r;
    char               *dirs[RSET_SIGHT_DIRS]; /* that were looked at */
    rset_located_list   in[RSET_SIGHT_DIRS];   /* what lies there */
    int                 ndirs;
    rset_sight_opening  own;
    rset_sight_names    opened;   /* by some rank */
    rset_sight_opening *openings; /* of each rank, once all have said it (rset_sights_open) */
    rset_sight         *heard;    /* what others say: rset_sights_ask, rset_sights_hear */
    size_t              nheard;
    bool                several; /* with rset_sights_ask: another rank opens the same name */
    rset_status failed; /* of this rank alone, its message in r->err: for the next reduction */
} rset_sights;

/* This process looks around, and hears which names may be opened. Collective. RSET_NOMEM, RSET_IO. */
rset_status rset_sights_begin(rset_sights *s);

/* Each rank says what it sees of files that some rank opens, and hears what all see of the name that it opens itself: s->heard, not the
 * same on all ranks. A failure of this rank alone is left in s->failed. Collective. RSET_NOMEM. (sights_ask.c) */
rset_status rset_sights_ask(rset_sights *s);

/* All say which names they open. Agrees as rset_agree does, on `own` too. Collective. RSET_NOMEM. */
rset_status rset_sights_open(rset_sights *s, rset_status own);

/* All ranks hear what all see of a family; or where `of` is NULL, of the names that are opened (rset_sights_open): s->heard, the same on all.
 * Collective. RSET_NOMEM. */
rset_status rset_sights_hear(rset_sights *s, const rset_sight_family *of);

/* May some rank open this name? False: none does. Local. */
bool rset_sights_may_open(const rset_sights *s, uint64_t name);

/* The first who opens this name, as all have said; -1: nobody does. Local. */
int rset_sights_asker(const rset_sights *s, uint64_t name);

/* The same; but rather one who finds a file there. Local. */
int rset_sights_finder(const rset_sights *s, uint64_t name);

/* Is it what this rank asks for, and no other file of that name? Local. */
bool rset_sight_is_meant(const rset_sights *s, const rset_sight *one);

/* Does that file belong to the family: published or prepared? Local. */
bool rset_sight_is_of(const rset_sight *one, const rset_sight_family *of);

/* What this process sees of file number `k` that the redundancy file of `l`, in `dir`, records; 0 is its own. Local. */
rset_sight rset_sight_of(const rset_sights *s, const rset_located *l, const char *dir, int k);

/* Calls take for each file that this process sees or finds recorded, until it says false, which is returned. Local. */
typedef bool (*rset_sight_fn)(const rset_sights *s, const rset_located *l, const char *dir, int k,
                              void *arg);
bool rset_sights_each(const rset_sights *s, rset_sight_fn take, void *arg);

/* Calls take for each of these that this process tells others. Where all ranks look into one directory, and see the same, each tells what there is of some
 * of the ranks that wrote it, and of its own file. Local. */
bool rset_sights_each_told(const rset_sights *s, rset_sight_fn take, void *arg);

void rset_sights_free(rset_sights *s);

#endif
