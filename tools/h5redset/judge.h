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

/* Of a set, after the decision about its family. */
cat_verdict verdict_of(const cat_set *s, const rset_decision *decision);

#endif
