/* judge.h: what becomes of a family: reports of all its ranks, coverage of its sets, and the engine's decision. Pure. */
#ifndef JUDGE_H
#define JUDGE_H

#include "catalog.h"

/* Decides, as all ranks together would. Gathers the family again where another generation comes to count. */
void judge_family(catalog *c, family *f);

/* Of a file that no family has. */
void judge_stray(family *f);

/* Were all data files deleted that were protected together, as far as can be seen? */
bool is_deleted(const rset_decision *decision);

/* What a rank's files are called in pictures, after the decision about its family. */
file_state state_of(const member *m, const rset_decision *decision);

/* The member as the engine has found it before it did something about it, or would. Borrows what it has. */
member member_after(const member *m, const rset_outcome *out);

/* Its verdict, and why, after the decision about its family; the states of its members are known. */
void judge_set(cat_set *s, const family *f);

/* May others not be opened because of it? */
bool stands_in_the_way(const cat_set *s);

#endif
