/* soak_crowd.h: several processes without MPI open one file at the same time, each by itself; perhaps one of them goes through the
 * files of all ranks, as `h5redset rebuild` does. For the soak. */
#ifndef SOAK_CROWD_H
#define SOAK_CROWD_H

#include "soak_judge.h"

/* The file of rank l->w.alone. What each process was told is there is what the file may be; no other file than those that are
 * opened changes. */
void soak_judge_crowd(soak_trial *l);

#endif
