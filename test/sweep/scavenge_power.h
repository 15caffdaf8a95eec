/* scavenge_power.h: what is left of a directory tree when the power goes: of files that were written since their last fsync the
 * content may be lost, and names that were given since the last fsync of their directory. Unlike power.h it knows any tree, and
 * only what was renamed: other names are those of what is not complete. */
#ifndef SCAVENGE_POWER_H
#define SCAVENGE_POWER_H

#include "tap.h"

/* Forgets what was seen. */
void scavenge_power_begin(void);

/* Hook for tap.h: notes what is not sure. */
void scavenge_power_see(const tap_event *event, long result);

typedef enum { POWER_ALL, POWER_CONTENT, POWER_NAMES, POWER_SOME, POWER_WAYS } scavenge_power_way;
extern const char *const scavenge_power_names[POWER_WAYS];

/* Takes from the tree below `dir` what was not sure: all of it, only content, only names, or some of both at random. */
void scavenge_power_go(const char *dir, scavenge_power_way how);

#endif
