/* picture.h: all that was seen, or what was seen of one owner's, and what follows from it. */
#ifndef PICTURE_H
#define PICTURE_H

#include "catalog.h"
#include "lists.h"

struct options;

/* Older generations are looked at only where they are told of, and never with the newest. */
typedef struct picture {
    sightings   seen, seen_older, replaced; /* replaced: replaced.h */
    catalog     newest, older;
    lists       all;
    const char *alone_on; /* the host, where one process looks; NULL: several do */
    bool        there;    /* something has a name of those that were given, on some node */
} picture;

/* What follows from p->seen and p->seen_older, which must stay as they are. A set of which a file is somebody else's, who is in
 * `everyone`, is taken out of what was asked for, which `tell` says on stderr: how many there are. */
size_t picture_make(picture *p, const struct options *o, const sightings *everyone, bool tell);
void   picture_forget(picture *p); /* that, and not what was seen */

/* What was seen of one owner's, of all that `from` has: borrowed. What follows is not made. */
picture picture_of(const picture *from, uint64_t owner);

/* Whose files were seen: the lowest of these owners that is at least `from`; OWNER_NONE: no more. */
#define OWNER_NONE UINT64_MAX
uint64_t picture_owner(const picture *p, uint64_t from);

/* Is anything of what was asked for protected, or are there signs that it was? */
bool picture_has_any(const picture *p);

#endif
