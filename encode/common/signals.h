/* signals.h: writes of ours in somebody else's program raise no signal in it. */
#ifndef RSET_SIGNALS_H
#define RSET_SIGNALS_H

#include <signal.h>

/* How it was before: which signals this thread had blocked, and which of the two waited already. */
typedef struct rset_signals {
    sigset_t blocked, waiting;
} rset_signals;

/* From here on a write past the limit of file sizes (SIGXFSZ), or to a pipe that nobody reads (SIGPIPE), is an errno only, in this
 * thread. The kernel sends both to the thread that writes. How the program handles them is not touched. */
void rset_signals_hold(rset_signals *before);

/* As it was before. What the writes have raised in between is removed when `failed`, and nothing that waited before.
 * errno stays. */
void rset_signals_release(const rset_signals *before, int failed);

#endif
