/* scene_kept.h: how operations begin in which older generations of the files are kept (keep=3): fields `prepare` of scene_operations.
 * What they have to be afterwards: olders.h. */
#ifndef SCENE_KEPT_H
#define SCENE_KEPT_H

#include "scene.h"

/* Version 1 is protected, and older generations will be kept from now on. Then a commit of what is written anew or in place:
 * what was protected before it is an older one. */
void scene_keep(scene *s);
void scene_keep_commit(scene *s, bool rewrite);

/* Two older generations, one of a file that was created over, one of a file that changed in place; and all ranks are about to
 * write their files anew, or to change little in place. The oldest goes when that is protected. */
bool scene_about_to_rewrite_kept(scene *s);
bool scene_about_to_update_kept(scene *s);

/* The same of files that stay open: they change once more when it is protected, or while that is being done. */
bool scene_about_to_commit_open_kept(scene *s);
bool scene_about_to_write_on_kept(scene *s);
bool scene_about_to_write_on_anew_kept(scene *s);

#endif
