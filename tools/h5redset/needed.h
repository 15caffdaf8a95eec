/* needed.h: who needs the redundancy of files that were protected together, when some of it is to go. */
#ifndef NEEDED_H
#define NEEDED_H

#include "catalog.h"

/* What would be given up of this member with the redundancy of its set, in words that go on after its name; NULL: nothing. Pure. */
const char *needed_why(const member *m);

/* Writes to stderr, where `speaks`, which members need the redundancy of those that were asked for: one that is lost, damaged, or
 * out of sight, and is none of these that were seen. True: some do. */
bool needed_tell(const catalog *c, bool speaks);

#endif
