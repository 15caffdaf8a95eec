/* look.h: finding protected files in the directories that this process can reach, and verifying them. */
#ifndef LOOK_H
#define LOOK_H

#include "sighting.h"
#include "text.h"

#include <stdbool.h>

/* Where to look. */
typedef struct places {
    strings     paths;   /* files and directories that the user named */
    strings     search;  /* directories to look for pieces in besides */
    const char *host;    /* of this process */
    bool        older;   /* at older generations, too, and how much space each takes */
    bool        changes; /* what was asked for is: what only a link leads to is not meant */
} places;

/* Looks at everything named, at directories below it, and at directories that redundancy files found there
 * record; by size, without reading content. Root looks as the owner of what is there. Directories that cannot be read are left out; where the user named one, with a
 * message on stderr, and false: not all is known. */
bool look_around(const places *where, sightings *out);

/* Reads and checks the content of what was asked for, or belongs to a set with it: all that the list has; of older generations where
 * `older` says so. `show`: with a progress bar. */
void look_closely(sightings *list, bool older, bool show);

#endif
