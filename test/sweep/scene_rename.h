/* scene_rename.h: operations of files that have, had or get another name. */
#ifndef SCENE_RENAME_H
#define SCENE_RENAME_H

#include "scene.h"

/* ---- how they begin ---- */

/* What protects the files has another name than they have, as after mv. And a node is lost. */
bool scene_renamed_by_hand(scene *s);
bool scene_renamed_by_hand_and_a_node_lost(scene *s);

/* The files are to get other names with what protects them. And a node is lost; and files are protected that have those names. */
bool scene_about_to_rename(scene *s);
bool scene_about_to_rename_without_a_node(scene *s);
bool scene_about_to_rename_over(scene *s);

/* An older generation, which is kept as well, is to be the newest: it is version 1, the newest is version 2. And the newest cannot
 * be had; and a node is lost, too. Or two older ones are kept, and the newer of them is to be the newest. */
bool scene_about_to_restore(scene *s);
bool scene_about_to_restore_kept(scene *s);
bool scene_about_to_fall_back(scene *s);
bool scene_about_to_fall_back_without_a_node(scene *s);

/* ---- what they do ---- */

/* Renames all files, as H5FDredset_rename does; where that was done before, opens them by their new names. */
void scene_rename(job *j);
/* Opens the files by their name; where they cannot be had, restores the older generation, as fallback=yes does. */
void scene_fall_back(job *j);

/* All ranks have two names for their files: do they go by the other one from now on? */
bool scene_has_two_names(const job *j);
void scene_swap_names(job *j);

#endif
