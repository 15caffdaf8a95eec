/* scene_past.h: what has happened to a scene's files before an operation begins: versions that were written and protected
 * or not, by programs that came to their end or died. All of it fails the cmocka test when a call fails. */
#ifndef SCENE_PAST_H
#define SCENE_PAST_H

#include "member/delta.h"
#include "member/journal.h"
#include "scene.h"

/* All files have one name from now on. */
void scene_one_name(scene *s);
/* What each rank had is on the node of the next one. */
void scene_turn(const scene *s);
/* What is in the files; to be kept in `old` or `new`. */
contents scene_now(const scene *s);
void     scene_protect_version(scene *s, int version);
/* Version 1, protected, is the last that was written. */
void scene_protected_once(scene *s);

/* A program that changes the file of one rank in place. */
typedef struct program {
    rset_dir     *dir;
    rset_evidence ev;
    rset_journal *journal;
} program;

/* It has begun, and kept what is there, or not. */
program program_begin(const scene *s, int r, bool keep);
/* It closes the file in that step, and could not protect it; or it dies, step 0. */
void program_end(program *p, uint64_t step);

extern uint64_t scene_last_step; /* in which rank 3 closes, where the others close in step 1 */

/* All ranks write their files in place; and then? */
void scene_write_in_place(scene *s, int version, void (*then)(scene *s), bool closes);
/* Version 1 is protected, version 2 written over it since, and closed. */
void scene_changed(scene *s);
/* Version 2 is written and its redundancy complete, over version 1; ranks in `published` have it published. */
void scene_commit_begun(scene *s, unsigned published);

/* That rank's node is lost before the operation begins. */
void scene_lose_node(scene *s, int r);
bool scene_tolerates(const scene *s, int losses);

#endif
