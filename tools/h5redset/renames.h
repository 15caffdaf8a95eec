/* renames.h: files of one family that were given other names by the same change of name: what the others' names will be. */
#ifndef RENAMES_H
#define RENAMES_H

#include "catalog.h"

/* `name` as it would be had it been changed as `old` was into `new`, which have the same numbers; the digits of a suffix like
 * ".h5" are none. NULL: it was changed in another way, or `name` differs from `old` in more than its numbers. A new string. Pure. */
char *renamed_like(const char *old, const char *new, const char *name);

/* Says of members that were found nowhere under which paths they belong now, since others were renamed: member.belongs. Only
 * where all that were renamed were in one way, and none has kept its name; else f->partly, if any was. */
void family_note_renames(family *f);

#endif
