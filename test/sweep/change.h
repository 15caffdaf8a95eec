/* change.h: what an application does to a protected file, in the steps that the driver takes for it
 * (vfd/session.c), so that sweeps can interrupt every one of them. Hooks of a job (job.h): `change` before
 * the files are protected, change_settle after. The new content is a function of the old one. */
#ifndef CHANGE_H
#define CHANGE_H

#include "job.h"

/* Writes a whole new file: a shadow file. */
rset_status change_rewrite(job *j, int rank, rset_local *local);
/* Changes parts of the file in place, makes it longer or shorter. */
rset_status change_update(job *j, int rank, rset_local *local);
/* As the two, and the file is still open: while it is protected as it is then, it goes on changing. Afterwards the job dies:
 * settled by change_settle_on. */
rset_status change_rewrite_and_on(job *j, int rank, rset_local *local);
rset_status change_update_and_on(job *j, int rank, rset_local *local);
void        change_settle_on(job *j, int rank, rset_local *local, rset_status st);
/* As the two, and then this rank cannot go on: nothing is protected. */
rset_status change_rewrite_unmet(job *j, int rank, rset_local *local);
rset_status change_update_unmet(job *j, int rank, rset_local *local);
/* Only the ranks with odd numbers change theirs in place; what follows when the job dies then. */
rset_status change_update_of_some(job *j, int rank, rset_local *local);
void        change_die(job *j, int rank, rset_local *local, rset_status st);
void        change_settle(job *j, int rank, rset_local *local, rset_status st);

/* Updates that are prepared from now on are small and leave the files' sizes alone, or not. */
void change_little(bool is_little);

/* By what follows the files of job->with have numbers that begin here instead of at 0. */
enum { CHANGE_SECOND = JOB_RANKS / 2 };

/* What the file of `rank` is after a change, from what it was: a new buffer. */
uint8_t *change_rewritten(int rank, size_t old_size, size_t *size_out);
uint8_t *change_updated(int rank, const uint8_t *old, size_t old_size, size_t *size_out);

/* Which change follows: `data`, borrowed, is what the two above gave. A change that is made again ends in
 * the same. */
void change_from(int rank, size_t old_size, const uint8_t *data, size_t size);

/* settle: the files stay open, change once more, and are never closed. */
void change_go_on(job *j, int rank, rset_local *local, rset_status st);

/* Has any rank given up the undo journal, because the journal could not be written? Shared with children, until it is reset. */
bool change_gave_up(void);
void change_reset(void);

#endif
