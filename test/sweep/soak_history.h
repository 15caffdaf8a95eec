/* soak_history.h: what was promised to the users of a world of the soak (soak_world.h), and whether what they find keeps it:
 * files of all ranks are of one version, no older than the last that all ranks were told is protected. Nothing here knows
 * how files look on disk, or asks the engine. */
#ifndef SOAK_HISTORY_H
#define SOAK_HISTORY_H

#include "soak_world.h"

/* An operation is about to begin: what it wants in all files (w->part) is the newest version. What a rank that is late
 * closes is none. */
void soak_history_begin(soak_world *w, uint64_t generation);

/* One process alone has changed a file from what it was to w->part[r].target. */
void soak_history_edit(soak_world *w, int r, const soak_bytes *from);

/* The version that these files are of, the newest from `i` down that was encoded; -1: none. */
int soak_history_encoded(const soak_world *w, const soak_bytes *now, int i);

/* The same, encoded or not, from the newest down to `least`. Of ranks that are `excused` nothing is known. */
int soak_history_find(const soak_world *w, const soak_bytes *now, int least, const bool *excused);

/* Is this what the file of one rank may be, in any version from `least` on? */
bool soak_history_knows(const soak_world *w, int r, const soak_bytes *now, int least);

/* All ranks have opened version `i` together, edited or not: what is newer will not come back. */
void soak_history_settle(soak_world *w, int i, const soak_bytes *now);

/* Nothing is left but old copies of directories: versions that were gone may be seen again. */
void soak_history_revive(soak_world *w);

#endif
