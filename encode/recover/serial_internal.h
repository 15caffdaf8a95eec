/* serial_internal.h: what one process looks at where there are no others. Each of these uses those below it:
 *   serial.c  one process looks after one rank's files: what is done, in order
 *   serial_report.c, serial_members.c, serial_tell.c  what it finds, the rebuild, what it says
 *   nearby.c  one look at what is within reach (picture/picture.h), and which generations of the file there are
 *   search.c  by what was found: whose file it is, and what the other members of its set have
 * Nobody else includes this. */
#ifndef RSET_SERIAL_INTERNAL_H
#define RSET_SERIAL_INTERNAL_H

#include "classify.h"
#include "common/phases.h"
#include "picture/picture.h"
#include "recover.h"
#include "set/rebuild.h"

/* One member's files as far as they were found. */
typedef struct rset_found_member {
    rset_dir     *dir; /* owned, but for the own member's */
    char         *prefix;
    int           nfiles;
    char        **names;
    char         *shadow; /* where its data is, if its commit was not finished; else NULL */
    rset_evidence evidence;
    rset_local    local;
    bool          found;
    rset_status   st; /* what its thread came to */
    rset_err      err;
    rset_phases   spent; /* by that thread */
} rset_found_member;

typedef struct rset_search {
    const rset_serial_args *args;
    rset_err               *err;
    rset_look               look; /* what is within reach; its directories are closed */
    bool
        any; /* what protects any generation of the files counts; else the one that has the own file's name */
    bool
        gone; /* nothing is left of the file: is there anything of other ranks, under whatever name? */
    bool               known;  /* it was found out whose file it is: */
    rset_desc          desc;   /* of the own member, of the newest generation within reach */
    bool               exact;  /* known by its whole path, not by its base name only */
    int                rivals; /* other ranks of that generation whose file goes by the same name */
    rset_found_member *pieces; /* desc.members */
} rset_search;

enum {
    RSET_SERIAL_TIMEOUT = 300
}; /* s; as long does it wait for another process that repairs the same file */

/* One process that looks after one rank's files. */
typedef struct rset_serial {
    rset_search      s;
    rset_outcome    *out;
    rset_standing    standing;
    rset_policy      policy;
    rset_report      mine;
    rset_verified    verified; /* the own files, for that report */
    rset_summary     all;      /* of this rank alone */
    rset_coverage    coverage;
    rset_decision    decision;
    rset_err         why;              /* it is not covered */
    rset_altered     altered;          /* as of a rset_repair */
    rset_file       *held;             /* the repair lock; NULL: nobody holds it */
    bool             no_room, cramped; /* as of a rset_repair: found, and what follows */
    rset_serial_args ahead; /* in a dry run, what is looked at once its commit would be finished: */
    rset_local       ahead_local;
    char            *ahead_shadow;
    char *renamed_from; /* prefix of another name that it had, under which it is recorded; owned */
    bool  asked_name;   /* whether there is one */
} rset_serial;

/* ---- serial_report.c ---- */

/* Looks at the own file, against the generation that counts: v->mine. RSET_IO, RSET_BUSY, RSET_NOMEM. Local. */
rset_status rset_serial_report(rset_serial *v);

/* What the table says of that and of v->coverage: v->decision. Pure. */
void rset_serial_decide(rset_serial *v);

/* Nothing records it under its name: perhaps under another one that it had, with just this content (v->renamed_from). Local. */
bool rset_serial_was_renamed(rset_serial *v);

/* ---- serial_members.c ---- */

/* The members of the set look at what they have, and where the table says so the own file is restored from that. What came of each is in
 * v->s.pieces. RSET_NOMEM. Local. */
rset_status rset_serial_run_members(rset_serial *v);

/* ---- serial_tell.c ---- */

/* Fills in what is left of *v->out by what was decided, and says it; *v->s.err when it was refused: RSET_LOST, RSET_BUSY, RSET_ABSENT. Local. */
rset_status rset_serial_conclude(rset_serial *v);

/* ---- nearby.c ---- */

/* Looks around, once: in the own directory, args->search, and what redundancy files found there record; of an older generation also
 * where files lie that were committed together with any that is left. Whose file it is, and of which generation: s->desc, where
 * s->known. RSET_LOST: it could be one of several ranks'. All of these are local; messages are in *s->err. */
rset_status rset_search_begin(rset_search *s);

/* ---- search.c ---- */

/* Learns from a file that was found whose the wanted one is (s->desc); `arg` is the search. True: it records the wanted file, or is of its
 * set, so that more of it may lie where it was written. */
bool rset_search_learn(const rset_located *found, void *arg);

/* RSET_LOST, as rset_search_begin. */
rset_status rset_search_check_name(const rset_search *s);

/* What the other members of the set have of that generation, as far as it is within reach: s->pieces. Of an older generation, makes
 * it whole for them, if their directories may be written and it is not whole there: what cannot be made whole is lost to this process.
 * RSET_NOMEM. */
rset_status rset_search_pieces(rset_search *s);

/* Members of the set that were not found, as far as they have room, for messages: "1 (on node3), 2"; "": all were. Pure. */
void rset_search_list_missing(const rset_search *s, char *buf, size_t size);

/* Is a data file of that generation left within reach, of whichever rank (s->gone)? Where it is, one that is missing is lost; else all
 * were deleted. */
bool rset_search_has_one_left(const rset_search *s);

/* What the name of the own file has after that which is recorded: "", or which generation it is that has the name. Borrowed. */
const char *rset_search_suffix(const rset_search *s);

void rset_search_free(rset_search *s);

#endif
