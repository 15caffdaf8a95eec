/* parallel.h: what needs all ranks of a job: rebuilding on many nodes at once, and protecting. */
#ifndef PARALLEL_H
#define PARALLEL_H

#include "catalog.h"
#include "files.h"
#include "job.h"
#include "options.h"

#include "protect/protect.h"

/* All that is decided of these files, or what it would be (o->dry_run): under mpiexec with one process for each file, on
 * the node that has it, or had; else with a thread for each. Collective; returns this process's exit status. */
int rebuild_parallel(job *j, const options *o, const family *f);

/* Makes redundancy for this rank's files as they are now. wish->group is the name of this process's host. `before`: its
 * outcome so far, with the message in *err. Collective over `world`. `note`: what the user should know, "" if nothing;
 * RSET_ERR_TEXT bytes. */
rset_status protect_parallel(rset_comm *world, const rset_wish *wish, const files *f,
                             rset_status before, char *note, rset_err *err);

#endif
