/* death.h: a rank, or the whole job, dies at a file call or before a message; or one call fails. What sweeps
 * of such faults share: which faults there are, and running a scene with one of them. */
#ifndef DEATH_H
#define DEATH_H

#include "scene.h"
#include "tap.h"

/* Between the calls of other ranks there is no order. Of all that can happen while one rank comes to its
 * call, both ends are tried, and something in between. */
typedef enum {
    DIE_AHEAD,    /* the job dies; the others have published as little as they can */
    DIE_BEHIND,   /* ... as much as they can */
    DIE_AMONG,    /* ... as it happens */
    DIE_TORN,     /* ... and half of what the call writes is written */
    STOP,         /* the rank alone stops for ever; the others go on, and give up */
    FATES,        /* so many that have to do with a call alone and end a rank */
    STOP_SENDING, /* ... before it sends a message: `at` counts messages */
    CALL_FAILS    /* nobody dies: the call fails once, with EIO */
} fate;

extern const char *const fates[];

typedef struct fault {
    int  rank, at; /* at which of its calls (STOP_SENDING: messages), from 1; rank -1: no fault */
    fate fate;
} fault;

/* Runs `run` on the scene in a child, with a fault; what was called is in tap_seen afterwards. A child that
 * hangs or crashes is a violation, under `what`. False: the fault did not happen, the run went to its end. */
bool death_run(scene *s, void (*run)(job *j), fault f, const char *what);

/* "rank 2 call 17 (rename): the job dies", as the last run had it; in buf, returned. */
const char *death_name(char *buf, size_t size, fault f);

/* Any of the faults that end a rank, at a call or message that was seen in a run without fault. */
fault death_some(const tap_record *seen);

/* Calls after which another state is on disk. */
bool death_changes_something(tap_call call);

#endif
