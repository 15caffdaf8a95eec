/* phases.h: where the time of one call of the engine goes.
 *
 * Who calls the engine and wants to know opens a scope on its thread; what reads, computes, sends or waits says so, and
 * the time goes to the innermost that has. The scope of a thread is the engine's one variable that is global to a thread:
 * a parameter would go through every function between a door and a disk. Without a scope nothing is measured, and no
 * clock is read. All functions are local, wait for nobody, allocate nothing and take no lock. */
#ifndef RSET_PHASES_H
#define RSET_PHASES_H

#include <stdint.h>

typedef enum rset_phase {
    RSET_PHASE_OTHER, /* what nobody has claimed: names, headers, decisions */
    RSET_PHASE_MEET,  /* until all ranks have come to do the same thing (rendezvous) */
    RSET_PHASE_READ,  /* files */
    RSET_PHASE_SUM,   /* checksums and parity */
    RSET_PHASE_SEND,  /* moving data between members */
    RSET_PHASE_WRITE, /* files */
    RSET_PHASE_SYNC,  /* until a disk has it */
    RSET_PHASE_WAIT,  /* for another rank, which comes or has work to do */
    RSET_PHASES
} rset_phase;

/* Nanoseconds of each phase. Zeroed: none. Plain data. */
typedef struct rset_phases {
    uint64_t ns[RSET_PHASES];
} rset_phases;

/* Nanoseconds of all phases together: how long the scope was open, but for scopes within it. Pure. */
uint64_t rset_phases_total(const rset_phases *phases);

/* Adds `more` to `to`. Pure. */
void rset_phases_add(rset_phases *to, const rset_phases *more);

/* An open scope; the caller's, at one place until it ends. `spent` is complete when it has ended. */
typedef struct rset_phase_scope {
    rset_phases              spent;
    rset_phase               now;
    uint64_t                 since; /* nanoseconds of the clock */
    struct rset_phase_scope *outer;
} rset_phase_scope;

/* Opens a scope on this thread, in RSET_PHASE_OTHER; one that is open already stands still meanwhile. Each begin has its
 * end on the same thread, the inner one first. */
void rset_phases_begin(rset_phase_scope *scope);
void rset_phases_end(rset_phase_scope *scope);

/* From now on the time of this thread is that of `phase`; tells what it was of before, for rset_phase_leave. What a
 * rendezvous sends and waits for belongs to it. One look at the clock when the phase changes, none without a scope. */
rset_phase rset_phase_enter(rset_phase phase);
void       rset_phase_leave(rset_phase before);

/* The last `ns` nanoseconds of this thread were the work of several at a time, which spent `together` on it: they go to
 * the phases in the same proportions, so that a scope never holds more time than has passed. They must not be in the
 * scope already: they were those of an inner one. */
void rset_phases_spread(const rset_phases *together, uint64_t ns);

#endif
