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

/* A commit in which this rank's files get other names. */
typedef struct naming {
    const files      *from;     /* which are whole and verified */
    const rset_local *to;       /* that they shall become */
    rset_evidence    *there;    /* what there is under these names */
    bool              restored; /* `from` is an older generation of `to`, and becomes the newest: */
    uint64_t aside; /* what was the newest until then is put aside; 0: it stays as an older one */
} naming;

/* Gives them their new names, and encodes them as they were protected before, once a commit of these names that a job died in is finished.
 * All of protect_parallel else. */
rset_status name_parallel(rset_comm *world, const hosting *p, const naming *n, rset_err *err);

/* Brings back what is lost or damaged of this rank's files, before something is done to them that needs them whole; what came of it is
 * in p->hosted. `before`: its outcome so far, with the message there. `not_done`: how the refusal of what nobody can verify
 * ends. Collective over `world`. */
rset_status recover_whole(rset_comm *world, const hosting *p, files *f, rset_status before,
                          const char *not_done);

#endif
