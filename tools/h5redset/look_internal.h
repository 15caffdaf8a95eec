/* look_internal.h: looking at one file that was found; what look.c (which there are) shares with look_files.c and look_record.c. */
#ifndef LOOK_INTERNAL_H
#define LOOK_INTERNAL_H

#include "sighting.h"

#include <stdbool.h>

/* Fills in what the files say; `s` has where they are, and which view of them it is. `content`: all of it is read, and compared with
 * what is recorded. What is in the way is s->trouble. */
void look_at(sighting *s, bool content);

/* Compares files whose redundancy file is lost with what a neighbour's records of them, where this process can read that. */
void look_at_unrecorded(sightings *list);

#endif
