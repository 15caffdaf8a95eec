/* encode.h: the door to the engine: protect files, and bring them back.
 *
 * The engine knows files, ranks and sets, not HDF5 (D8). When is a set protected?
 *
 * (1) A set is protected at generation g when every member's redundancy file is published under its
 *     final name, says g, and records size and checksums of exactly the data it covers (P2).
 * (2) Before a protected file first changes, its redundancy file's name carries the void mark,
 *     durably, until (1) holds again (P3).
 * (3) A redundancy file becomes visible only by rename, complete and synced, after every rank of the
 *     job has its own complete; a rebuilt file likewise, once its checksums equal the recorded ones
 *     (P11).
 * (4) Ranks decide together: no rank publishes, and none reports success, on what it alone has seen
 *     (P4). A rank's own failure is kept until the next agreement, so nobody is left waiting.
 * (5) The data file is byte for byte what the application wrote; only a rebuild or the commit of a file
 *     written beside it replaces it, and only by rename (P1).
 * (6) While a protected file changes there is a way back to what its redundancy covers (journal.h),
 *     unless the user did without: a new file is written beside the old one, and of one that changes in
 *     place the old bytes are kept. An interrupted change is taken back on all ranks. */
#ifndef RSET_ENCODE_H
#define RSET_ENCODE_H

#include "comm.h"
#include "member.h"

/* ---- protecting ---- */

typedef struct rset_protect_args {
    rset_comm        *world; /* everyone who must agree */
    rset_comm        *set;   /* the members of this rank's set, by member number */
    const int        *ranks; /* parent rank of each member */
    const rset_local *local;
    rset_desc         desc;  /* this rank's, with the generation, equal on all ranks */
    bool              extra; /* record our own keys; false only to compare with golden files */
    const char       *host;
    rset_status       before; /* this rank's failure so far (its message in *err), or RSET_OK */
    /* What is on disk, when content and redundancy of all ranks were verified since it was protected, and
     * since then only changed in place with a journal; or NULL. Where little has changed on all members of
     * a set, that is updated. */
    const rset_evidence *evidence;
} rset_protect_args;

/* Computes and publishes the redundancy of the data files as they are now, and removes what an
 * earlier protection of them left behind. Collective over world. On failure what was published
 * before stays as it was, void mark included. *err: message, rank and host of the one who failed. */
rset_status rset_protect(const rset_protect_args *args, rset_err *err);

/* ---- bringing back ---- */

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
