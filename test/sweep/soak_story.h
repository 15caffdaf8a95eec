/* soak_story.h: the last steps of a trial of the soak, kept to be told when something was wrong: what was done and what it came
 * to, what was damaged, and where a job died. What other ranks had done by then is not the same the next time. */
#ifndef SOAK_STORY_H
#define SOAK_STORY_H

#include "soak_world.h"
#include "tap.h"

/* A trial begins: what was before is forgotten. */
void soak_story_begin(void);

/* One more step; when there are too many, the oldest is forgotten. */
void soak_story_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The job dies at this call. In its process, which ends then. */
void soak_story_dies(const tap_event *e);

/* That operation was run, and came to that: one more step. */
void soak_story_ran(const soak_world *w, soak_operation op, soak_end end);

/* Prints the steps, a line for each. */
void soak_story_tell(void);

#endif
