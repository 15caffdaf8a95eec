/* soak_others.h: other ranks than wrote the files of a world of the soak open them: fewer, or as many in another
 * order; each has some node, and opens some file. All nodes are within their reach. */
#ifndef SOAK_OTHERS_H
#define SOAK_OTHERS_H

#include "soak_judge.h"

/* Draws who opens what, has them open it, perhaps to die in it, and judges what that comes to (soak_judge.h). What they got from
 * other nodes is removed again. Where an old copy lies in the way, nothing is opened. */
void soak_judge_others(soak_trial *l, const soak_death *death);

#endif
