/* generations.h: which generations of files there are, and which of them is meant (keep=N, generation=). */
#ifndef RSET_GENERATIONS_H
#define RSET_GENERATIONS_H

#include "comm/comm.h"
#include "member/member.h"

/* A generation, as a user names it. */
typedef struct rset_which {
    unsigned back; /* so many before the newest; 0: by its number of commits: */
    uint64_t commits;
} rset_which;

/* "-1", "-2", ...; "17", the one with that count of commits. RSET_USAGE. Pure. */
rset_status rset_which_parse(const char *text, rset_which *out, rset_err *err);

enum { RSET_GENERATIONS_MAX = 32 };

/* Newest first; of more than RSET_GENERATIONS_MAX the newest. */
typedef struct rset_generations {
    uint64_t n;
    uint64_t at[RSET_GENERATIONS_MAX];
} rset_generations;

/* Those of one rank's files: the one that is published, and older ones that are kept. `ev` is what its disk says. Pure. */
void rset_generations_of(const rset_evidence *ev, rset_generations *out);

/* Those that any rank has; the same on all ranks. Collective. */
rset_status rset_generations_of_all(rset_comm *world, const char *host, rset_generations *all,
                                    rset_err *err);

/* The one that is meant, 0: there is none such. Pure. */
uint64_t rset_generations_find(const rset_generations *all, const rset_which *which);

/* Says in *err that there is none such, and which there are; returns RSET_USAGE. */
rset_status rset_generations_none(const rset_generations *all, const char *which, const char *path,
                                  rset_err *err);

#endif
