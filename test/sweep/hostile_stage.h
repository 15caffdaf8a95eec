/* hostile_stage.h: where hostile files are tried out: a protected job beside files that must never be
 * touched, and an operation on it in a child process, under root's or nobody's name, on a tripwire. */
#ifndef HOSTILE_STAGE_H
#define HOSTILE_STAGE_H

#include "sample.h"

typedef struct stage {
    sample s;
    char  *victim; /* path of a file outside */
    bool   nobody; /* everything belongs to nobody, who also runs the operation */
} stage;

typedef enum { OP_RECOVER, OP_ALONE, OP_PROTECT, OPS } stage_op; /* alone: rank 0 */

/* What is found beforehand. */
typedef struct stage_case {
    stage_op op;
    bool     objects;   /* not headers but strange files: a failing call half way is no violation */
    uint64_t most_read; /* bytes that may be read from all files; 0: any number */
    unsigned stays;     /* bit r: nothing records rank r's file any more; a regular one may stay */
    bool     linked;    /* there is a hard link to a file outside */
    bool     racing; /* a name of rank 0's changes to and from a link to the victim all the time */
    char     what[256];
} stage_case;

void stage_open(stage *g, survival_plan plan, int k, bool nobody);
void stage_close(stage *g);

/* Runs the operation and counts a violation when it crashes, hangs, steps outside, leaves set-id bits
 * or foreign owners, returns or leaves anything but what was protected or what was there before, or
 * takes more memory for a header than that is long. */
void stage_try(stage *g, const stage_case *c);

#endif
