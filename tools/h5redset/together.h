/* together.h: what needs all ranks of a job: rebuilding on many nodes at once, and protecting. */
#ifndef TOGETHER_H
#define TOGETHER_H

#include "catalog.h"
#include "files.h"
#include "job.h"
#include "options.h"

#include "layout/layout.h"

/* h5redset rebuild under mpiexec: one process for each file, on the node that has it, or had. Collective. */
int rebuild_together(job *j, const options *o, const catalog *c);

/* Makes redundancy for this rank's files as they are now. `before`: its outcome so far, with the message in
 * *err. Collective over `world`. `note`: what the user should know, "" if nothing; RSET_ERR_TEXT bytes. */
rset_status protect_together(rset_comm *world, const rset_wish *wish, const files *f,
                             const char *host, rset_status before, char *note, rset_err *err);

#endif
