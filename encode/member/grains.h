/* grains.h: a data file in parts of equal size, as its undo journal sees it: which of them are kept, and which its program has written
 * whole. Each is noted by a bit. Not for several threads at once. */
#ifndef RSET_GRAINS_H
#define RSET_GRAINS_H

#include "overlay.h"

typedef struct rset_grains {
    uint64_t size;    /* of the file, bytes */
    uint64_t each;    /* bytes of a grain; the last one is what is left */
    uint8_t *kept;    /* one bit per grain */
    uint8_t *written; /* the same */
    uint64_t last_from,
        last_to; /* what was written last, in calls that go on where the one before ended */
} rset_grains;

/* Of a file of `size` bytes, of which `kept` has some grains already. False: no memory. *g is freed by the caller in any case. */
bool rset_grains_make(rset_grains *g, uint64_t size, const rset_overlay *kept);
void rset_grains_free(rset_grains *g);

bool rset_grains_is_kept(const rset_grains *g, uint64_t grain);
/* Those that begin in [from, to) are. */
void rset_grains_note_kept(rset_grains *g, uint64_t from, uint64_t to);

/* [from, to), within the file, is written. */
void rset_grains_note_written(rset_grains *g, uint64_t from, uint64_t to);
/* Was each grain that lies in [from, to), partly or all, written whole, by one call or by calls that go on from each other? */
bool rset_grains_are_written(const rset_grains *g, uint64_t from, uint64_t to);

#endif
