/* walk.h: the directories below one. */
#ifndef WALK_H
#define WALK_H

#include "text.h"

/* Adds the paths of `root`, which may be a link, and of all directories below it: below, no link is followed, and none that is put
 * in the place of a directory meanwhile. One that cannot be read is added, without what may be below it. */
void walk_below(const char *root, strings *out);

#endif
