/* scavenge_run.h: h5redset scavenge inside a sweep, as rank 0 of its tap, with all threads that it makes. Calls that the tool makes
 * itself are seen as those of the engine are, for a program with a .wrap that names them: rename, unlink, rmdir, open, exit. */
#ifndef SCAVENGE_RUN_H
#define SCAVENGE_RUN_H

#include <stdbool.h>

/* What came out, in memory shared with the child that ran it. */
typedef struct scavenge_end {
    bool done;   /* it came to its end */
    int  status; /* exit status */
} scavenge_end;

extern scavenge_end *scavenge_came_to;

/* Brings what lies below the directory `from` to the directory `to`, where other files are replaced if `force`; what it says goes
 * to the file `said`. For a child. */
void scavenge_run(const char *from, const char *to, bool force, const char *said);

#endif
