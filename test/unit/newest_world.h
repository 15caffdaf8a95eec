/* newest_world.h: a file of one rank (replicas/replicas.h), meta.h5, of which several ranks may have one, and all open the newest.
 * Ranks are threads, each with a directory of its own, unless two of them share one. Fails the test. */
#ifndef NEWEST_WORLD_H
#define NEWEST_WORLD_H

#include "replicas/replicas.h"

#include <stdbool.h>
#include <stdint.h>

enum { NEWEST_RANKS = 5, NEWEST_CONTENTS = 10, NEWEST_SIZE = 1300001 }; /* several pieces */

extern char   *newest_base;                                  /* the scratch directory */
extern uint8_t newest_content[NEWEST_CONTENTS][NEWEST_SIZE]; /* by generation */

/* The outcome of an open, on each rank. */
typedef struct newest_outcome {
    rset_status          st[NEWEST_RANKS];
    rset_err             err[NEWEST_RANKS];
    rset_replica_outcome out[NEWEST_RANKS];
    rset_evidence        evidence[NEWEST_RANKS];
} newest_outcome;

extern newest_outcome newest_seen;

/* The wishes of a test for the next open. */
typedef struct newest_wish {
    unsigned    readonly;               /* ranks, a bit for each */
    int         together[NEWEST_RANKS]; /* the directory of each rank */
    const char *name[NEWEST_RANKS];
    int         written[NEWEST_RANKS]; /* what this process has written itself; 0: nothing */
    void (*ready)(int rank); /* called by each rank as it begins to open; NULL: nothing is */
    bool by_size;            /* ranks do not verify what they have */
} newest_wish;

extern newest_wish newest_want;

/* Empty directories, and no wish. What was there before is removed. */
void newest_begin(void);
void newest_end(void);

/* The path of the file on that node, until the next ones are asked for. */
const char *newest_file(int node);
/* Protects what has the name there, under that generation, as a rank does that is alone. */
void newest_protect(int node, uint64_t generation);
/* Writes that content there, and protects it: `generation` is how often it was committed. */
void newest_put(int node, uint64_t generation);
/* Is it there, and has that content? */
bool newest_has(int node, int which);

/* All ranks open it, and come to the same status, which is returned. */
rset_status newest_open(void);
/* All have that content then, and it is protected there: nothing is left to do for who opens it next. */
void newest_expect(int which);
/* Each is refused it with that status, and `text` in its message; no file is touched. */
void newest_expect_refused(rset_status st, const char *text);

#endif
