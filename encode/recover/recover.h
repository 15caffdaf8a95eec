/* recover.h: one of the two doors of the engine: what is lost or damaged comes back. The other, where the invariants
 * stand, is protect/protect.h. */
#ifndef RSET_RECOVER_H
#define RSET_RECOVER_H

#include "comm/comm.h"
#include "member/member.h"

/* What became of this rank's files. Unless it says "this rank" the same on all. */
typedef struct rset_outcome {
    bool
        replaced; /* this rank: another data file has the name; handles opened before are of the old one */
    bool forward;    /* a commit that was cut short was finished */
    bool protected_; /* protection is valid for the content as it is now, on all ranks */
    bool
        reprotect; /* content is as it should be, but redundancy was lost beyond repair: encode again */
    bool frozen; /* nothing may be written, so as little to encode again */
    bool acted;  /* not all was in order: evidence and files may be others now, on some rank */
    bool never;  /* with RSET_ABSENT: no rank has any sign of protection */
    char note[RSET_ERR_TEXT]; /* what the user should know although nothing failed; "" if nothing */
} rset_outcome;

typedef struct rset_recover_args {
    rset_comm        *world;
    const rset_local *local;
    rset_evidence    *evidence; /* from rset_survey; updated to what is on disk afterwards */
    bool              content;  /* verify the content; false: sizes only */
    bool              frozen;   /* nothing may be written, on no rank: damage is refused */
    bool              tidy;     /* remove what dead runs left behind */
    bool        own_run; /* this process has protected this generation itself: files that every
                                   rank has rewritten since, without us, are no damage */
    const char *host;
    rset_status before; /* as above */
} rset_recover_args;

/* Looks at what all ranks have, brings back what is lost or damaged, and publishes it. Collective
 * over world. RSET_OK: every rank's files are there and, as far as checksums were recorded and asked
 * for, are what was protected last (or, where protection was void and nothing is missing, what the
 * application wrote last). RSET_ABSENT, and out->never: no rank has any sign of protection. RSET_LOST: refused,
 * nothing was changed anywhere; the message says who is missing what. */
rset_status rset_recover(const rset_recover_args *args, rset_outcome *out, rset_err *err);

/* Files are about to be protected, new ones perhaps beside the old, and some rank's evidence has an unpublished
 * redundancy file: if the commit that it belongs to was decided on, it goes forward first. What it would come to is lost
 * with it else (P11), and if the new commit is cut short as well, there is nothing to go back to. args->local is as for
 * rset_protect; evidence is that of when the files were opened. Collective over world. */
rset_status rset_finish_commit(const rset_recover_args *args, rset_err *err);

/* The same as rset_recover in one process without MPI, for one rank's files only (`rank`: whose, where the caller knows; -1:
 * their path, or a name that is one rank's only, has to say): other members' pieces are read
 * where this process can reach them: in the own directory, in the directories that headers record
 * and in `search` (NULL-terminated list of paths). Writes nothing but this rank's own files (P7).
 * RSET_ABSENT: no sign of protection within reach. */
rset_status rset_recover_alone(const rset_local *local, int rank, rset_evidence *evidence,
                               const char *const *search, bool content, rset_outcome *out,
                               rset_err *err);

/* Is there any piece within reach (own directory, `search`) that records a file of this name? Says
 * whether a missing file could come back without MPI. Local. */
bool rset_recorded_nearby(const rset_local *local, const char *const *search);

#endif
