/* siblings.h: files of one rank that are committed together, all or none. Each is prepared and published by itself, and no file
 * system publishes two in one step. So what is prepared names the others, its siblings, and what the directory says of them
 * belongs to what it says of the file:
 *
 *   a sibling has the generation published      it was decided on, for all of them
 *   each sibling has it, prepared at least      all of this rank's are ready
 *   some sibling has it not                     this rank was not ready, or went back already
 *
 * They are in the directory of the file. Local, all of it; each may be done again. */
#ifndef RSET_SIBLINGS_H
#define RSET_SIBLINGS_H

#include "member/member.h"

/* The siblings of a file of `generation` that are only prepared are published, durably: what is decided of one is decided of
 * all. `together`: as its header has it. Before the file is finished, so that no later commit of it hides that. RSET_IO,
 * RSET_NOMEM. */
rset_status rset_siblings_publish(rset_dir *dir, const char *together, uint64_t generation,
                                  rset_err *err);

/* Those that are only prepared are discarded, and not durably: it was decided that the file goes back. */
rset_status rset_siblings_discard(rset_dir *dir, const char *together, uint64_t generation,
                                  rset_err *err);

/* What this rank has prepared of the file is published, durably, where a sibling has that generation published: it can be told
 * here that it was decided on, and nowhere else. */
rset_status rset_siblings_settle(rset_dir *dir, const char *prefix, const char *data_name,
                                 rset_err *err);

#endif
