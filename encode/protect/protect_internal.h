/* protect_internal.h: what protect_prepare.c (a rank's own part), protect.c (the order of steps, and encoding the whole), update.c
 * (encoding what has changed) and protect_steps.c (what both do) share. Nobody else includes this. */
#ifndef RSET_PROTECT_INTERNAL_H
#define RSET_PROTECT_INTERNAL_H

#include "codec/plan.h"
#include "member/delta.h"
#include "protect.h"
#include "set/exchange.h"

typedef struct protect {
    const rset_protect_args *args;
    rset_local               local; /* its shadow file has the commit's name once it is prepared */
    rset_err                *err;
    rset_logical             data;
    rset_sums               *sums; /* per data file; the infos hold the same arrays at the end */
    rset_header              header;
    uint64_t                *length; /* per member */
    rset_access      access; /* what the data files of this member, and then of all, permit */
    rset_shape       shape;
    rset_plan        plan;
    size_t           neighbours; /* bytes that the infos of its left neighbours have, packed */
    size_t           payload_at;
    bool             mirror; /* the payload is the one file of a neighbour: so are its checksums */
    rset_exchange   *swap;   /* infos between this member and its neighbours */
    rset_file       *out;    /* what becomes, or updates, the redundancy file */
    char            *name, *new_name; /* redundancy file; what is to become it, or laid over it */
    char            *desc_name, *new_desc_name; /* descriptor file */
    bool             update;                    /* `out` is laid over the redundancy file */
    rset_overlay     over;                      /* and this is in it */
    const rset_undo *since; /* then: what leads back to what was protected before */
    char             together[RSET_TOGETHER_TEXT + 1]; /* with which other files; "": by itself */
    uint64_t         aside; /* the generation that was put aside (args->aside); 0: none */
    rset_file *claim; /* no other process protects files of these names meanwhile (names/claim.h) */
    struct stat *seen;   /* each data file when it was opened; NULL until then */
    struct stat  made;   /* what `out` was when it was complete */
    bool         noted;  /* the names file lists the generation before as one that is kept */
    uint64_t     kept;   /* that, which got names of its own; 0: none */
    rset_err     unkept; /* not RSET_OK: there was no space for it on this rank */
} protect;

/* ---- protect_prepare.c ---- */

/* Names, and the own info but for the checksums; what will be made is noted (N1). Gives back this rank's failure so far
 * (args->before), or its own. Local. */
rset_status rset_protect_prepare(protect *p);

/* ---- protect_steps.c ---- */

/* This rank's failure so far, or that the generation cannot be counted: it would be older than what is there. RSET_USAGE. Local. */
rset_status rset_protect_may_begin(const protect *p);

/* Own info to the right neighbours, theirs from the left (FORMAT.md 6). `own`: this member's failure so far.
 * Collective over the set, as rset_exchange_run: the next agreement says what all have come to. */
rset_status rset_protect_swap(protect *p, rset_status own);

/* The chunk that follows from the lengths of all members. Local. */
void rset_protect_shape(protect *p);

/* GROUP of the header, where the scheme has one. Local. */
rset_status rset_protect_group(protect *p);

/* Each data file is what it was when it was opened, and that is what args->left says, so that what is read, or was, is what this
 * rank's program has written. RSET_BUSY: another process has changed or replaced it. Local. */
rset_status rset_protect_see(protect *p);
rset_status rset_protect_see_again(protect *p);

/* The same of `name`: does it lead to what was written as `out`? RSET_BUSY: another process has replaced it. Local. */
rset_status rset_protect_is_ours(protect *p, const char *name);

/* All that the commit needs but `out` goes to the disk: data, descriptors, what is kept of before, names. Before `out` says that this
 * rank is ready: when all are, whoever opens the files goes forward, though the job has died meanwhile. Local. */
rset_status rset_protect_settle(protect *p);

/* ---- storage.c ---- */

/* What args->storage asks. All have published. Local. */
void rset_protect_look_at_storage(const protect *p);

/* ---- stamp.c ---- */

/* All are prepared (`own`: this rank's failure so far), and know what is recorded of when, by whom and as what: it is in the own
 * info then. Agrees as rset_agree does, in the same messages. Collective over the world. */
rset_status rset_protect_agree(protect *p, rset_status own);

/* ---- changes.c ---- */

/* What of this rank's data has changed since it was protected as args->evidence says. */
typedef struct protect_changes {
    rset_ranges      at;     /* where, in its logical file */
    bool             known;  /* the old bytes of all of it are in the journal */
    rset_undo        undo;   /* of the data as it is; loaded here */
    const rset_undo *since;  /* that, or what was loaded before a program went on to write */
    rset_logical     before; /* what that leads back to */
} protect_changes;

/* Does args->evidence record one file of this size, with checksums, which this one has been changed from in place? Local. */
bool rset_protect_has_record(const protect *p);

/* Of what has such a record. *c holds nothing yet, and is freed by the caller, also after a failure. RSET_IO, RSET_NOMEM. Local. */
rset_status rset_protect_changes(const protect *p, protect_changes *c, rset_err *err);
void        rset_protect_changes_free(protect_changes *c);

/* Opens c->before. Local. */
rset_status rset_protect_before(const protect *p, protect_changes *c);

/* The whole has been read, and its checksums are in the header. RSET_CHANGED: what has not changed since it was protected is not what was
 * recorded, and must not become what is protected (P2). RSET_OK also where nobody knows what has changed. Local. */
rset_status rset_protect_rest_is_recorded(protect *p);

/* ---- update.c ---- */

/* Members learn each other's lengths, and so the shape of what protects them, and how much their neighbours record. Where all of them have redundancy to build on, and
 * little has changed (*tried_out, the same on all members): computes what changes in the redundancy files, and writes it complete under
 * ".new". *done_out: this member has done so; where one of the set has not, all are to encode the whole instead. A member that
 * fails otherwise, alone or with all, returns that. Collective over the set; the next agreement says what all have come to. */
rset_status rset_update_set(protect *p, bool *tried_out, bool *done_out);

/* The whole is to be encoded after all: as if no update had been begun, also where the power goes from now on. RSET_IO. Local. */
rset_status rset_update_undo(protect *p);

/* rset_protect_renamed, but that args->keep says what becomes of what has the new name, as for rset_protect. */
rset_status rset_protect_linked(const rset_protect_args *args, const rset_local *from,
                                rset_err *err);

#endif
