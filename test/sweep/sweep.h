/* sweep.h: what all sweeps share: how much of a sweep is done, counting, and running what may die, hang
 * or crash in a child process. */
#ifndef SWEEP_H
#define SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "change" or "all" as the only argument; else prints how it is used and ends the process. */
void sweep_begin(const char *name, int argc, char **argv);
bool sweep_all(void);
/* As it was given to sweep_begin. */
const char *sweep_name(void);

/* How many points of each scene a sample tries: SWEEP_POINTS in the environment, or as many. */
int sweep_sample(int otherwise);

/* Numbers from a generator with a fixed seed, 0 <= n < below. */
uint32_t sweep_random(uint32_t below);

/* Counted by the sweep: a point tried; one where the fault that was ordered did not happen (that is a
 * violation too: the sweep does not do what it says); and what must not be. */
void sweep_point(void);
void sweep_violation(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
long sweep_violations(void);

/* In a sweep of all: how far it has come, on a line of its own. */
void sweep_progress(const char *what);

/* Something else worth counting by name, said at the end. */
void sweep_tally(const char *what);

/* Fingerprints that were seen, up to half a million, by open addressing; 0: free. */
enum { SWEEP_SET = 1 << 20 };
typedef struct sweep_set {
    size_t   used;
    uint64_t print[SWEEP_SET];
} sweep_set;

/* Was it asked for this one before? */
bool sweep_seen(sweep_set *set, uint64_t print);

/* For sweeps that count by themselves: what is said when a time limit (SIGTERM) ends this one early. */
void sweep_when_cut_short(const char *name, const long *points, const long *violations);

/* Prints the counts, last "NAME: N points, M violations"; the exit status. */
int sweep_end(void);

/* Runs body in a child. A child that is not done after five minutes is killed. */
typedef enum {
    CHILD_DONE,   /* body returned, or ended the process with sweep_leave */
    CHILD_KILLED, /* body ended the process with sweep_die: the fault that was ordered */
    CHILD_HUNG,
    CHILD_CRASHED
} child_end;

child_end sweep_child(void (*body)(void *arg), void *arg);
void      sweep_die(void) __attribute__((noreturn));
void      sweep_leave(void) __attribute__((noreturn));

/* For who forks by himself: _exit, with what is counted in a build for coverage. */
void sweep_end_child(int status) __attribute__((noreturn));

/* Memory that children share with us, zeroed. */
void *sweep_shared(uint64_t size);

/* From now on clocks in this process run `factor` times as fast (1: as they do): what waits for a rank
 * that has stopped need not be waited for. */
void sweep_hurry(int factor);

#endif
