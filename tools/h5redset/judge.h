/* judge.h: what becomes of a family: reports of all its ranks, coverage of its sets, and the engine's decision. Pure. */
#ifndef JUDGE_H
#define JUDGE_H

#include "catalog.h"

/* Decides, as all ranks together would. Gathers the family again where another generation comes to count. */
void judge_family(catalog *c, family *f);

/* What one process alone does about this member's files: for a rebuild of some files only. */
rset_decision judge_serial(const catalog *c, const cat_set *s, const member *m,
                           rset_summary *all_out);

void judge_stray(const sighting *s, stray *out);

/* What a rank's files are called in pictures. */
file_state state_of(const member *m);

/* Its verdict, and why, after the decision about its family; the states of its members are known. */
void judge_set(cat_set *s, const rset_decision *decision);

/* May others not be opened because of it? */
bool stands_in_the_way(const cat_set *s);

#endif
