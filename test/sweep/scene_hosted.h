/* scene_hosted.h: an operation of fewer ranks than wrote the files. */
#ifndef SCENE_HOSTED_H
#define SCENE_HOSTED_H

#include "scene.h"

/* Ranks 0 to 2 open their files, and host all four ranks that wrote them. The calls that faults are made in are those of the
 * four; what is reported of rank 3, which has not come, is what one of the others came to. */
void scene_recover_by_three(job *j);

#endif
