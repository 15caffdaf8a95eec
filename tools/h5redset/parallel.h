/* parallel.h: what needs all ranks of a job: rebuilding on many nodes at once, and protecting. */
#ifndef PARALLEL_H
#define PARALLEL_H

#include "catalog.h"
#include "files.h"
#include "hosted.h"
#include "job.h"
#include "options.h"

#include "protect/protect.h"

/* As its ranks would open them (recover/recover.h): all that is decided of these files, or what it would be (o->dry_run): under
 * mpiexec with one process for each file, on the node that has it, or had; else with a thread for each. Collective; returns this
 * process's exit status. */
int rebuild_parallel(job *j, const options *o, const family *f);

/* Is the content of all of it as recorded? A dry run, which keeps nobody from the files, and tells nothing. To *damaged_out is added how
 * much of the others this process has, in bytes. Collective; the same on all. */
bool rebuild_verify(job *j, const options *o, const family *f, uint64_t *damaged_out);

/* Is nothing lost or to be done, as sizes tell? And can what is to be done be done? Pure. */
bool rebuild_is_whole_by_size(const family *f);
bool rebuild_has_work(const family *f);

/* How files are to be protected, the same on all ranks but for their places. */
typedef struct protect_wish {
    rset_wish sets; /* its group is the name of this process's host */
    bool      all;  /* rather none than not all ranks */
    bool      same; /* the content is what was protected before: it keeps its label */
} protect_wish;

/* Makes redundancy for this rank's files as they are now. `before`: its outcome so far, with the message in *err. Collective
 * over `world`. `note`: what the user should know, "" if nothing; RSET_ERR_TEXT bytes. */
rset_status protect_parallel(rset_comm *world, const protect_wish *wish, const files *f,
                             rset_status before, char *note, rset_err *err);

/* Those that files shall become: their names, and what there is under these. */
typedef struct renamed_files {
    const rset_local    *local;
    const rset_evidence *evidence;
} renamed_files;

/* Gives this rank's files, which are whole and verified, their new names, and encodes them as `wish` says. All of
 * protect_parallel else. */
rset_status rename_parallel(rset_comm *world, const protect_wish *wish, const files *from,
                            const renamed_files *to, rset_err *err);

/* Makes this rank's files `kept`, an older generation that is whole and verified, the newest of `to`. `aside`: the newest until
 * then, which is put aside; 0: it stays as an older one. All of protect_parallel else. */
rset_status restore_parallel(rset_comm *world, const protect_wish *wish, const files *kept,
                             const files *to, uint64_t aside, rset_err *err);

/* That rank's files as they were protected before. */
protect_wish wish_of_rank(const hosting *p, int rank);

/* Brings back what is lost or damaged of this rank's files, before something is done to them that needs them whole; what came of it is
 * in p->hosted. `before`: its outcome so far, with the message there. `not_done`: how the refusal of what nobody can verify
 * ends. Collective over `world`. */
rset_status recover_whole(rset_comm *world, const hosting *p, files *f, rset_status before,
                          const char *not_done);

#endif
