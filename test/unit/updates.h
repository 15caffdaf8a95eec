/* updates.h: a job of five ranks whose files are protected, what they write into them, and what must hold once that is
 * protected by an update. */
#ifndef UPDATES_H
#define UPDATES_H

#include "image.h"
#include "job.h"

enum { N = 5, BLOCK = RSET_BLOCK_MIN, KINDS = 6 };

typedef struct update_kind {
    const rset_scheme *scheme;
    int                parity;
} update_kind;

extern const update_kind update_kinds[KINDS];
extern const size_t      update_sizes[N];

typedef struct world {
    char *base;
    job   job;
    char  what[64];
} world;

/* With the scheme of that number. */
void update_open(world *w, int k);
void update_close(world *w);

/* ---- what ranks do before they close ---- */

extern unsigned changing; /* bit r: rank r writes */
extern int      version;  /* what it writes */
extern size_t   growing;  /* and so many bytes beyond its end */

extern int
    rotten; /* number of the entry of rank 0's journal that rots before it is used; -1: none */
extern bool has_rotten;

/* For job.change: writes that. */
rset_status change(job *j, int r, rset_local *local);
/* The ranks in `ranks` write, and all protect. True: by an update. */
bool write_and_protect(world *w, unsigned ranks, int v);

/* ---- what must hold then ---- */

void evidence_of(const world *w, int r, rset_evidence *ev);
/* As if all had been encoded: same checksums, same payload, and nothing else lies around. */
void assert_like_an_encode(world *w);

#endif
