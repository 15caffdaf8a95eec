/* removable.h: what rm and gc may remove of what was seen; and who needs the redundancy of files that were protected together, when some of
 * it is to go. */
#ifndef REMOVABLE_H
#define REMOVABLE_H

#include "catalog.h"
#include "job.h"

/* Files that go together, or stay. */
typedef struct removable {
    const catalog   *c;
    const family    *f;
    const job       *j;
    const sightings *replaced; /* what had been made of files, and was put aside */
} removable;

/* Do their files, or another copy of one with what protects it, lie there? */
bool removable_has(const removable *r, const sighting *s);

/* May all be removed that was asked for? RSET_USAGE: that is only a part of what was protected together. */
rset_status removable_whole(const removable *r, rset_err *err);

/* May what protects them be removed, the data files being gone? RSET_USAGE: one of them may be somewhere. */
rset_status removable_deleted(const removable *r, rset_err *err);

/* What would be given up of this member with the redundancy of its set, in words that go on after its name; NULL: nothing. Pure. */
const char *needed_why(const member *m);

/* Writes to stderr, where `speaks`, which members need the redundancy of those that were asked for: one that is lost, damaged, or
 * out of sight, and is none of these that were seen. True: some do. */
bool needed_tell(const catalog *c, bool speaks);

#endif
