/* older.h: older generations (keep=) as the driver opens them (vfd/view.c): all ranks say which they have, and then open the same. */
#ifndef OLDER_H
#define OLDER_H

#include "job.h"

/* Which generation is the one so many before the newest, 0: there is none such; and it is made whole where it is kept as what leads
 * back to it. In the thread of each rank; its message is in k->err. Collective. */
rset_status older_find(rset_comm *world, job_rank *k, unsigned back, uint64_t *generation_out);

/* The job's files are those of that generation from now on; in a child, which ends then. */
void older_call(job_rank *k, uint64_t generation);

#endif
