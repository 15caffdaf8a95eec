/* scene_changes.h: how operations begin in which protected files are changed (change.h), or in which such a change was cut
 * short: fields `prepare` of scene_operations. */
#ifndef SCENE_CHANGES_H
#define SCENE_CHANGES_H

#include "scene.h"

/* What the files will be once they are written anew, or changed in place: `new`, from `old`. */
void scene_will_change(scene *s, bool rewrite);

/* Version 1 is protected, and all ranks are about to write their files anew: beside; over a commit of the same that was cut
 * short, decided on or not, or the very first; without node 1, which is lost; or where rank 2 will not go on. */
bool scene_about_to_rewrite(scene *s);
bool scene_about_to_rewrite_over_a_decided_commit(scene *s);
bool scene_about_to_rewrite_over_a_vain_commit(scene *s);
bool scene_about_to_rewrite_over_a_first_commit(scene *s);
bool scene_about_to_rewrite_without_a_node(scene *s);
bool scene_about_to_rewrite_unmet(scene *s);

/* The same of what could not be had, and is put aside. */
bool scene_about_to_rewrite_aside(scene *s);

/* The same in place: also once more after a close that could not protect it, or so little that redundancy is updated. */
bool scene_about_to_update(scene *s);
bool scene_about_to_update_unmet(scene *s);
bool scene_about_to_update_again(scene *s);
bool scene_about_to_update_little(scene *s);
/* A commit of files that stay open, and change once more after it. */
bool scene_about_to_commit_open(scene *s);

/* Written anew, in place, or so little in place that redundancy is updated; and while that is protected, the files go on
 * changing. */
bool scene_about_to_write_on_anew(scene *s);
bool scene_about_to_write_on(scene *s);
bool scene_about_to_write_on_little(scene *s);

/* Such an update was cut short: decided on by rank 1; by two, and then node 2 was lost; not begun by all ranks; or closed in
 * two steps. */
bool scene_update_decided_by_one(scene *s);
bool scene_update_decided_and_a_node_lost(scene *s);
bool scene_update_cut_short(scene *s);
bool scene_closed_in_two_steps(scene *s);

#endif
