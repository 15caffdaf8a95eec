/* soak_judge.h: one life of the soak, and whether an open in it comes to what it must: what the model
 * foretells, and what was promised: OLD on all ranks or NEW on all ranks, or the open is refused. */
#ifndef SOAK_JUDGE_H
#define SOAK_JUDGE_H

#include "soak_damage.h"
#include "soak_model.h"

typedef struct soak_life {
    soak_world w;
    /* the cycle: what was done since the last open */
    soak_operation op;
    soak_bytes
         before[SOAK_RANKS];  /* files as the operation found them; w.part has what it wanted */
    bool lasting[SOAK_RANKS]; /* the application's file has no way back while it changes */
    soak_damage damage;
    bool        begun;     /* a job died while it opened the files, to bring this back */
    uint64_t    begun_for; /* generation; 0: any, there was damage since */
    bool        was_begun; /* so it was once in this cycle, whatever happened since */
    /* the whole life */
    uint64_t least;             /* last commit that ranks were told of */
    bool     sound[SOAK_RANKS]; /* nothing has come over the way back of this rank */
    bool     old_copies;        /* of directories came back since then */
    char     what[1024];        /* which cycle, for messages */
} soak_life;

/* Opens all files once, without interruption, and judges what that comes to. */
soak_expectation soak_judge(soak_life *l);

/* A job died while it opened files that were as in `before`: was nothing touched that should not be? */
void soak_judge_begun(soak_life *l, const image *before, const soak_expectation *e);

#endif
