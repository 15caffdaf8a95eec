/* returned.h: the directory of a lost node is back, with files of a generation that the other ranks have put aside meanwhile. */
#ifndef RETURNED_H
#define RETURNED_H

#include "sighting.h"

/* Takes such files out of `newest`, and adds them to `older` as what they become once they are put aside as well: h5redset restore does that.
 * Nothing on disk is touched. */
void returned_find(sightings *newest, sightings *older);

#endif
