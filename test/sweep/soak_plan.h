/* soak_plan.h: what applications do in the soak, at random. */
#ifndef SOAK_PLAN_H
#define SOAK_PLAN_H

#include "soak_world.h"

/* A job of 4 to 8 ranks under any scheme; its files are written, but not yet protected. */
void soak_plan_world(soak_world *w);

/* Parts of the file change in place, maybe its size. */
void soak_plan_update(soak_part *p, const soak_bytes *now, bool all_close);
void soak_plan_new(soak_part *p);
void soak_plan_nothing(soak_part *p, const soak_bytes *now, bool closes);

#endif
