/* recover.h: one of the two doors of the engine: what is lost or damaged comes back. The other is protect/protect.h. With
 * classify.h and decide.h, since h5redset asks of what it has seen what recovery asks of what is there. */
#ifndef RSET_RECOVER_H
#define RSET_RECOVER_H

#include "classify.h"
#include "comm/comm.h"
#include "commit/renamed.h" /* which files were renamed, h5redset asks as recovery does */
#include "decide.h"
#include "generations.h"
#include "member/member.h"

/* What became of this rank's files. Unless it says "this rank" the same on all. */
typedef struct rset_outcome {
    rset_reason reason;  /* the row of the table that decided */
    uint64_t generation; /* the one that counts, 0: none is published, or its writer records none */
    rset_decision
        decided; /* what was last done about this rank's files, or would be (dry_run); else the last decision of all */
    rset_report
        found; /* this rank: how its files were then. rset_outcome_action says what that comes to */
    bool
        replaced; /* this rank: what has the name is another file, or was rolled back; handles opened before are
                             of the old one */
    rset_altered
        altered; /* this rank: what another program had made of them, where they were rebuilt */
    uint64_t
        aside; /* this rank: the number that this was put aside under (rset_changed_put); 0: nothing was */
    bool torn; /* this rank: its file is opened as it is, and may be partially written */
    bool
         partly; /* those that there are are opened as they are, and some rank has none (rset_outcome_was_lost) */
    bool forward;    /* a commit that a job had died in was finished */
    bool protected_; /* protection is valid for the content as it is now, on all ranks */
    bool
        reprotect; /* content is as it should be, but redundancy was lost and cannot be rebuilt: encode again */
    bool
         renamed; /* files had other names than what protects them, which has them now; `reprotect`: so that it records them */
    bool readonly; /* nothing may be written, so as little to encode again */
    bool unread;   /* this rank: the content of its redundancy file was not verified */
    bool acted;    /* not all was in order: evidence and files may be others now, on some rank */
    bool never;    /* with RSET_ABSENT: no rank has any sign of protection, or all was deleted */
    bool copied;   /* this rank: and they stay there, too */
    bool apart;    /* the ranks do not open the files of one job, each its own */
    bool in_use;   /* all ranks have begun to use their files (rset_recover_use) */
    char moved_from
        [RSET_HOST_NAME]; /* this rank: its files lay there, and were brought here; "" if not */
    char was_on[RSET_HOST_NAME]; /* this rank: where its lost or damaged files were; "" if here */
    char note[RSET_ERR_TEXT]; /* what the user should know although nothing failed; "" if nothing */
} rset_outcome;

/* What was done about this rank's files, or would be. Pure. */
rset_action rset_outcome_action(const rset_outcome *outcome);

/* Were they missing then, and not damaged? Pure. */
bool rset_outcome_was_lost(const rset_outcome *outcome);

/* This is done about them; it counts more than what is said of files about which nothing is done. Pure. */
void rset_outcome_note(rset_outcome *outcome, const rset_decision *decided,
                       const rset_report *found);

/* A rebuild is about to begin. One rank is told of it, for all: the lowest of those whose files are rebuilt. */
typedef struct rset_rebuilding {
    const char *name;          /* of that rank's file, as in messages; borrowed */
    int         rank;          /* that wrote it */
    bool        lost, damaged; /* its data; neither: its redundancy is */
    uint64_t    ranks;         /* whose files are rebuilt */
    uint64_t    bytes;         /* of them all, that are written: data and redundancy */
} rset_rebuilding;

/* Who wants to be told, before the first byte is written; once more where it is tried again. */
typedef struct rset_rebuild_watch {
    void (*begins)(void *arg, const rset_rebuilding *what);
    void *arg;
} rset_rebuild_watch;

/* What the caller does with its files once they are back, and where that can fail on one rank alone: it is done in the step in which
 * all agree that they are. */
typedef struct rset_recover_use {
    /* Uses this rank's files, which have come back as far as *out says so; its failure is that of all. Fills in sum.value. May be
     * called again, where all look once more. Local. */
    rset_status (*begin)(void *arg, const rset_outcome *out, rset_err *err);
    void          *arg;
    rset_reduction sum; /* of what all ranks say of it: sum.value, once out->in_use */
} rset_recover_use;

typedef struct rset_recover_args {
    rset_comm        *world;
    const rset_local *local;
    rset_evidence    *evidence; /* from rset_survey; updated to what is on disk afterwards */
    rset_content      content;  /* what is verified; each rank verifies the most that any wants */
    bool              readonly; /* nothing may be written, on no rank: damage is refused */
    bool              reads;    /* no rank opens its file to change it; the same on all */
    bool
         alike; /* all ranks have said that their files are whole by what rset_stands_alone sees of them without a look at
                                   the content, of one generation, and want as much verified: nobody asks what counts; the same on all */
    bool required; /* rather an error than files that may not be what was protected */
    bool fallback; /* rather an older generation, which the caller asks for next; the same on all */
    bool
        undelete; /* files that were deleted come back, as far as what protects them goes; the same on all */
    bool
        stays; /* this rank takes no files from where they lay when ranks were on other nodes, and gives none */
    bool
        keep_changed; /* this rank: files that another program has changed are wanted as they are */
    bool copies;      /* files that it gives stay where they are, too */
    const char *const
        *search; /* directories where files of others may lie besides the own one and those that
                                    headers record, where others stand in for the ranks that wrote them; ends with NULL; or NULL */
    bool tidy;   /* remove what crashed runs left behind */
    bool
                dry_run; /* nothing is changed: *out says what would be. All content is verified for that; the same on all */
    bool        own_run; /* this process has protected this generation itself: files that every
                                   rank has rewritten since, without us, are no damage, and nobody else is said to have done it */
    const char *host;
    const rset_rebuild_watch *watch; /* NULL: nobody wants to be told */
    const rset_recover_use         *
        use; /* NULL on all ranks: the caller begins afterwards. So it does where !out->in_use: nothing had to come back, or more has to
                 be done for it than that */
    rset_status before; /* this rank's failure so far (its message in *err), or RSET_OK */
} rset_recover_args;

/* Looks at what all ranks have, decides with decide.h what becomes of it, and does that: finishes a commit, rolls back,
 * rebuilds, or leaves all as it is. Collective over world. RSET_OK: every rank's files are there and may be opened;
 * out->reason says why, out->note tells the user. RSET_ABSENT, and out->never: no rank has any sign of protection, or all data
 * files were deleted while what protects them is there: then they are missing as any that were never protected.
 * RSET_LOST, or RSET_BUSY where another process is changing a file: refused on all ranks, nothing was changed anywhere; the
 * message says why. */
rset_status rset_recover(const rset_recover_args *args, rset_outcome *out, rset_err *err);

/* Files are about to be protected, new ones perhaps beside the old, and some rank has an older commit prepared: if that
 * was decided on, it is finished first. What it would come to is lost with it else (P11), and if the new commit is cut
 * short as well, there is nothing to go back to. args->local is as for rset_protect; evidence is that of when the files
 * were opened. Collective over world. */
rset_status rset_finish_commit(const rset_recover_args *args, rset_err *err);

/* The same in one process without MPI, for one rank's files only. Other members' pieces are read where this process can
 * reach them; nothing but this rank's own files is written (P7). */
typedef struct rset_serial_args {
    const rset_local *local;
    rset_evidence    *evidence;
    const char *const *
        search; /* directories to look in besides the own one and those that headers record, ends with
                                    NULL; or NULL */
    int rank; /* whose files these are, where the caller knows; -1: their path, or a name that is one
                                    rank's only, has to say */
    rset_content content;  /* what is verified, unless something is out of order */
    bool         outdated; /* what lies here is an old copy: its own evidence counts for nothing */
    bool         readonly; /* nothing may be written */
    bool         dry_run, required; /* as in rset_recover_args, as what follows */
    bool         fallback;
    bool         undelete;
    bool         keep_changed;
    bool         own_run; /* for messages only */
    const rset_rebuild_watch *
        watch; /* as above; a thread that is not the caller's calls it, before the caller returns */
} rset_serial_args;

/* RSET_OK: the files may be opened; *args->evidence is what is on disk then. Of several processes that would repair one file one
 * does, and the others wait for it and look again. RSET_ABSENT: no sign of protection within reach. RSET_LOST: refused, nothing was
 * changed. RSET_BUSY: another process is changing or repairing it. */
rset_status rset_recover_serial(const rset_serial_args *args, rset_outcome *out, rset_err *err);

/* Is the redundancy file of `local` damaged? Marks it then (rset_distrust), so that whoever opens the file next repairs it. Of
 * another generation than this, or where the file was changed since: false, as where `pace` says that time is up. `found`
 * (NULL: nobody) is told with pace->arg before anybody can see the mark. For whoever opened the file with RSET_CONTENT_DATA.
 * Local; may run beside an open or a commit of this file. */
bool rset_find_damaged_redundancy(const rset_local *local, uint64_t generation,
                                  const rset_pace *pace, void (*found)(void *arg));

/* Is this rank's file protected, by what its directory says: what protects it is there, and file and redundancy have the sizes
 * that were recorded? *why_out: "", or why not, a sentence about "it"; not to be freed. `ev` is from rset_survey; zeroed where
 * local->dir is NULL. Content is not read, and nobody is asked: other ranks may know more. RSET_IO, RSET_NOMEM. Local. */
rset_status rset_why_unprotected(const rset_local *local, const rset_evidence *ev,
                                 const char **why_out, rset_err *err);

/* The content of files of at most so many bytes is verified at once, with their redundancy, not only when all are known to be there. */
enum { RSET_VERIFY_NOW = 64 * 1024 };

/* Is this rank's file protected, by what its directory says, with the content that was recorded, and written by this rank of
 * so many? Then it can be opened without the others; and where that is so of the files of all ranks, and all are of one generation, the
 * table says HEALTHY of them together. Local. */
bool rset_stands_alone(const rset_local *local, const rset_evidence *ev, rset_content content,
                       int rank, int ranks);

/* Where nothing under its name records the file, or only another file that had the name before, and what protects just this content
 * under another name that it had is of a file of one rank, that gets the name of now, as on the verdict ADOPT. So a file that was
 * written under a temporary name and moved is read, changed or created anew like any other. For one process that may write there.
 * *ev is what the disk says, and surveyed anew. Nothing happens while another process has the old name in use. Local. RSET_BUSY, RSET_IO, RSET_NOMEM: it is as it was. */
rset_status rset_adopt_alone(const rset_local *local, rset_evidence *ev, rset_err *err);

/* Is there any piece within reach that records a file of this name? Says whether a missing file could come back without
 * MPI. Local. */
bool rset_recorded_nearby(const rset_serial_args *args);

/* Adds to *all which generations there are of the file besides, as far as anything within reach says so of it, or of files that were
 * committed together with it; with what they are called, where `which` is a label. `args` are of the newest, as of which the file is
 * known. all->published: the newest that one of these files is published in, unless it was a newer one before. RSET_LOST: it could be
 * one of several ranks'. RSET_NOMEM. Local; changes nothing. */
rset_status rset_generations_nearby(const rset_serial_args *args, const rset_which *which,
                                    rset_generations *all, rset_err *err);

#endif
