/* groups.h: sightings that name a generation in common. Files that were committed together (together=) have one generation, and are
 * told apart by what their names have in common on all ranks. And files of one family that were given other names by the same change
 * of name, or were copied together: what the others' names will be. Used by family.c. */
#ifndef GROUPS_H
#define GROUPS_H

#include "catalog.h"

/* Which one stands for all that were joined with number i: parent[i] is another of these, or i itself. */
size_t group_root(size_t *parent, size_t i);

/* Of each sighting of the list the lowest one of its group. A new array. */
size_t *groups_find(const sightings *list);

/* Says of members that were found nowhere under which paths they belong now, since others were renamed: member.belongs. Only
 * where all that were renamed were in one way, and none has kept its name; else f->partly, if any was. */
void family_note_renames(family *f);

/* Notes where files that were not seen belong, if the others of the family are copies in another place: there, beside them. */
void family_note_copies(family *f);

#endif
