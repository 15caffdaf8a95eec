/* protect.h: one of the two doors of the engine: from data files to published redundancy files. The other is
 * recover/recover.h.
 *
 * The engine knows files, ranks and sets, not HDF5. When a set is protected, and what holds while it is not: PR1 to PR7 of
 * README.md. */
#ifndef RSET_PROTECT_H
#define RSET_PROTECT_H

#include "codec/scheme.h"
#include "comm/comm.h"
#include "commit/change.h" /* PR6, where a file changes in place, */
#include "commit/kept.h"
#include "commit/newer.h"
#include "commit/remove.h"
#include "commit/shadow.h" /* and where it is written anew */
#include "layout/layout.h" /* who is protected with whom */
#include "names/claim.h"   /* what a process has a file open for */

/* What one rank says of when, by whom and as what files are protected (format.h). Plain data; "" and 0: nothing. */
typedef struct rset_stamp_text {
    uint64_t time, since;
    char     job[RSET_STAMP_TEXT + 1], user[RSET_STAMP_TEXT + 1], label[RSET_STAMP_TEXT + 1];
} rset_stamp_text;

/* Now, by this user, in job `job` (NULL or "": that of Slurm, if there is one), as `label` (NULL: nothing). What may not be
 * recorded is left out. Local. */
void rset_stamp_now(const char *job, const char *label, rset_stamp_text *out);
/* What was recorded of that before, to be recorded again. Pure. */
void rset_stamp_again(const rset_stamp *recorded, rset_stamp_text *out);

typedef struct rset_protect_args {
    rset_comm        *world; /* everyone who must agree */
    rset_comm        *set;   /* the members of this rank's set, by member number */
    const int        *ranks; /* parent rank of each member */
    const rset_local *local;
    char **
        shadow; /* where local->shadow is given: that string, owned; a new one afterwards, since a shadow
                                 file that belongs to a commit is called after it */
    rset_desc   desc;  /* this rank's, with the generation, equal on all ranks */
    bool        extra; /* record our own keys; false only to compare with golden files */
    const char *host;
    const rset_stamp_text         *
        stamp; /* what is recorded is rank 0's, and the label of the lowest rank that has one; NULL: nothing */
    rset_status before; /* this rank's failure so far (its message in *err), or RSET_OK */
    /* The first data file as its program has left it, by a descriptor of its own: another one, or one that has changed since, is
     * not protected, RSET_BUSY. With local->next only which file it is. NULL: it is what lies under the name. */
    const struct stat *left;
    /* What is on disk and was found protected, and has since only been changed in place with a journal; or NULL. What has not changed
     * must be what is recorded, or nothing is protected: RSET_CHANGED. */
    const rset_evidence *evidence;
    /* The content of all ranks was verified, too, since it was protected. Where little has changed on all members of a set, that is
     * updated; what is read of redundancy for it is verified then. */
    bool verified;
    /* By which this process has noted what it has written since; NULL: nobody knows, and what was recorded of a block in which
     * anything has changed must have been in it before. Not const: it has a lock. */
    rset_journal *journal;
    /* Generations that can be had afterwards, this one counted; RSET_KEEP_ALL; 0: what has the name is not kept, nor
     * anything retired. */
    int keep;
    /* What is protected under these names could not be had, on some rank: it is put aside as it is (newer.h, `lost`), on all ranks, and is
     * none of the generations that are kept. */
    bool aside;
    bool
        aside_before; /* some was put aside before, and goes with this commit, unless that puts something aside */
    uint64_t
        changed_before; /* what was put aside before this generation was protected, since another program had changed it, goes with
                           this commit; 0: nothing does */
    /* Where there was no space on this rank for what it should keep of the generation before, the commit goes on, and this says why; else
     * it stays as it is. NULL: nobody asks. */
    rset_err *unkept;
    /* Room for RSET_ERR_TEXT bytes. Where this rank sees what a member on another host has just published, the hosts share the storage: a
     * sentence that says so; else it stays as it is. NULL: nobody asks. */
    char *storage;
    bool *
        changed_out; /* set where this rank has found what RSET_CHANGED says, whatever the others say; NULL: nobody asks */
} rset_protect_args;

/* Computes and publishes the redundancy of the data files as they are now, or where local->next is given as they were when that
 * was begun, and removes what an earlier protection of them left behind. With local->next, `evidence` is of then, too, and if this
 * succeeds rset_journal_succeed is to be called. Collective over world. On failure what was published
 * before stays as it was, void mark and undo journal included. *err: message, rank and host of the one who failed. */
rset_status rset_protect(const rset_protect_args *args, rset_err *err);

/* The same for n files of each rank, at most RSET_TOGETHER_MAX, in one order on all ranks: all of them, or none, also where the
 * job dies in it (member/siblings.h). Each has args of its own, and on each rank all are in one directory; `world`, `host` and
 * the generation are the same in all. */
rset_status rset_protect_together(const rset_protect_args *args, int n, rset_err *err);

/* Protects the files of `from`, one on each rank, under the names of args->local instead, which is in the same directory or
 * another one of that file system; a protected file that has such a name already is replaced. The data is not copied: until
 * the commit it has both names, and afterwards the old one is removed with all that protected it there. Whatever is cut
 * short leaves the files complete under the old names, the new ones, or both (docs/recovery.md, "Renamed files").
 * args->local means nothing but names: no shadow file; `args->evidence` is not used; nobody has either file open, and the files of
 * `from` are verified, of all ranks. Collective over args->world. RSET_USAGE: the file system cannot do that. */
rset_status rset_protect_renamed(const rset_protect_args *args, const rset_local *from,
                                 rset_err *err);

/* Makes an older generation of these files, kept as `kept` on each rank (kept.h), the newest: it is protected under the names of
 * args->local, whose older generation it is, as by rset_protect_renamed; afterwards it is kept no more. What has these names until
 * then is put aside as generation `newest` on each rank, as far as it is there (newer.h); 0: it stays as an older generation itself
 * where args->keep says so. Whatever is cut short leaves all ranks with what they had, or decided on the new generation. `kept` is
 * verified, of all ranks. Collective over args->world. RSET_USAGE: no links on this file system. */
rset_status rset_protect_restored(const rset_protect_args *args, const rset_local *kept,
                                  uint64_t newest, rset_err *err);

#endif
