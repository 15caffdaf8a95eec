/* scene_root.h: operations on a file of one rank (encode/replicas): rank 0 writes it, protects it alone, and other ranks get
 * replicas; or all ranks open it. Fields of scene_operations. There are such scenes with PARTNER 1 only: what is said to be
 * copied survives the loss of any one node, whatever protects other files. */
#ifndef SCENE_ROOT_H
#define SCENE_ROOT_H

#include "scene.h"

/* All ranks have version 1, and rank 0 is about to write another one: beside, in place, or anew where its node was replaced. Or
 * nobody has such a file. */
bool scene_root_about_to_rewrite(scene *s);
bool scene_root_about_to_update(scene *s);
bool scene_root_about_to_write_anew(scene *s);
bool scene_root_about_to_write_first(scene *s);
/* All have version 2, version 1 is kept on all, and rank 0 is about to write another one: beside, or in place. */
bool scene_root_about_to_rewrite_kept(scene *s);
bool scene_root_about_to_update_kept(scene *s);
/* All have version 2, damaged, and version 1 is kept on all. */
bool scene_root_about_to_fall_back(scene *s);

/* Ranks 1 and 2 have the newest one, rank 0 an older one, rank 3 none. Or rank 1 alone has it whole, and that of rank 3 is
 * damaged. */
bool scene_root_newest_on_two(scene *s);
bool scene_root_newest_on_one(scene *s);

/* What they do. A rank says OK where all have come so far: the file and its replicas are there. */
void scene_root_close(job *j);
void scene_root_open(job *j);
/* Where the newest is whole nowhere, the one before becomes the newest. */
void scene_root_fall_back(job *j);

#endif
