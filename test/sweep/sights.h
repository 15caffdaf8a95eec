/* sights.h: is the engine where the model says that it can be? What ranks find on their disks after a fault, in pairs,
 * against all that the model (support/model.h) has come to. */
#ifndef SIGHTS_H
#define SIGHTS_H

#include "scene.h"

/* The directories as they are now. Each pair of two ranks that the model never saw is counted with sweep_violation, under
 * `what`. The model is explored at the first call. */
void sights_check(const scene *s, const char *what);

#endif
