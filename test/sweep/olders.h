/* olders.h: after a fault: are older generations, which are kept (keep=), what they were? */
#ifndef OLDERS_H
#define OLDERS_H

#include "judge.h"

/* Opens each older generation that the ranks' directories have, and judges what is there: on all ranks the content of one
 * generation before the newest, whose verdict is `newest` (SCENE_ bits), or refused on all. `must`: the one before `old` can be
 * had, whatever became of the operation; and `old`, where the job died in it, and it came to `new`. Breaches are counted with
 * sweep_violation. Directories are as before afterwards. Does nothing where none is kept. */
void olders_judge(const judge_case *c, unsigned newest, bool must, const char *when);

#endif
