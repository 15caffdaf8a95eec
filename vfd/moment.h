/* moment.h: what time it is, for the generations of files of one rank (root=). Clocks of nodes differ, and are set: so a process does not
 * go by its own alone. It never falls behind a moment that it has heard of. Local; from any thread. */
#ifndef RSET_MOMENT_H
#define RSET_MOMENT_H

#include <stdint.h>

/* Milliseconds since 2020-01-01 UTC: of this node's clock, or the latest that it has heard of, if that is later. */
uint64_t rset_moment_now(void);

/* So late it is known to have been: on another rank, or when `generation` was made. What cannot be a moment is not heard. */
void rset_moment_heard(uint64_t moment);
void rset_moment_heard_generation(uint64_t generation);

#endif
