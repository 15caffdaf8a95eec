/* family.h: which files belong together: those that name a generation in common, and those that lie where one of these
 * should be. Used by catalog.c. */
#ifndef FAMILY_H
#define FAMILY_H

#include "catalog.h"

/* A family for each generation that counts somewhere, the newest first: c->families with census and standing. */
void families_find(catalog *c);

/* The file number `at` of those that were seen as a family of which nothing is recorded. */
void family_of_stray(const catalog *c, size_t at, family *out);

/* Puts the files that there are into the sets of the generation that the family stands to. May be done again, after that
 * has changed. */
void family_gather(catalog *c, family *f);

/* Nothing was found where the member's files are recorded. May a file that was found elsewhere be one of them, of which nothing
 * else says whose it is? */
bool family_may_have(const catalog *c, const family *f, const member *m);

/* Which generations count, as all members say; `no_forward`: none that is only prepared. */
void family_choose(family *f, bool no_forward);

/* Frees the sets of it. */
void family_forget_sets(family *f);

#endif
