/* mapped.h: file calls in which one path means another directory for each thread. So ranks that are threads of one process
 * see storage of their own under a path that is equal on all, as ranks on nodes do. */
#ifndef MAPPED_H
#define MAPPED_H

#include "store/store.h"

/* From now on all file calls of the engine are those of `under`, but for the directory `path` (absolute, copied) and what lies
 * in it. Ends with the next rset_sys_use. While no other thread makes file calls. */
void mapped_use(const rset_sys *under, const char *path);

/* What it means for this thread: `dir`, borrowed; NULL: itself. */
void mapped_to(const char *dir);

/* A file of another member may be stored at each path (rset_replicas.may). */
rset_status mapped_may(void *arg, const char *path, rset_err *err);

#endif
