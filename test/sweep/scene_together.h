/* scene_together.h: operations of two files of each rank that are committed together (rset_protect_together). What is old and what
 * is new is asked of both. */
#ifndef SCENE_TOGETHER_H
#define SCENE_TOGETHER_H

#include "scene.h"

/* Both are protected, and then the first is written anew, and the second changes in place. Or the first changes a little, and
 * the second is written anew; then it is the second that all ranks open first. */
bool scene_about_to_rewrite_and_update(scene *s);
bool scene_about_to_update_and_rewrite(scene *s);
/* As the first of the two, and two older generations of both are kept. */
bool scene_about_to_rewrite_and_update_kept(scene *s);
/* Both change in place, and neither has been protected before. */
bool scene_about_to_write_two_first(scene *s);

#endif
