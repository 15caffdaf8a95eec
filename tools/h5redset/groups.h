/* groups.h: sightings that name a generation in common. Files that were committed together (together=) have one generation, and are
 * told apart by what their names have in common on all ranks. Used by family.c. */
#ifndef GROUPS_H
#define GROUPS_H

#include "sighting.h"

/* Of each sighting of the list the lowest one of its group. A new array. */
size_t *groups_find(const sightings *list);

#endif
