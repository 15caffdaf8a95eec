/* soak_older.h: older generations of a world of the soak, where they are kept (keep=3). */
#ifndef SOAK_OLDER_H
#define SOAK_OLDER_H

#include "soak_judge.h"

/* Opens each older generation that the ranks' directories have, and judges it: all ranks mean the same one, and its content is on all
 * of them what was protected under its number, or it is refused on all with a message. Directories are as before afterwards. */
void soak_judge_older(soak_trial *l);

#endif
