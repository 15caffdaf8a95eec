/* ours.h: generations that this process took part in making, the latest few. Local; from any thread. */
#ifndef RSET_OURS_H
#define RSET_OURS_H

#include <stdbool.h>
#include <stdint.h>

void rset_ours_note(uint64_t generation);

/* False for 0, and for what was long ago. */
bool rset_ours_is(uint64_t generation);

#endif
