/* look_internal.h: what look_around.c (where to look, and as whom) uses of look.c (what one owner has in a directory), and that of
 * look_files.c (what one file says). */
#ifndef LOOK_INTERNAL_H
#define LOOK_INTERNAL_H

#include "look.h"

/* Adds everything that `owner` has in the directory `path`. *named_out: it is below one that the user named, whatever links lead
 * there. False: it cannot be read, or not all that is there can be looked at: what was found is added all the same. */
bool look_in(const places *where, const char *path, uint64_t owner, sightings *out, bool *named_out,
             rset_err *err);

/* Fills in what the files say; `s` has where they are, and which view of them it is. `content`: all of it is read, and compared with
 * what is recorded. What is in the way is s->trouble. */
void look_at(sighting *s, bool content);

/* Compares files whose redundancy file is lost with what a neighbour's records of them, where this process can read that; also of older
 * generations, where `older` says so. */
void look_at_unrecorded(sightings *list, bool older);

#endif
