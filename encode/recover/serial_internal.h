/* serial_internal.h: what serial.c (one process looks after one rank's files), search.c (what of the others is within
 * its reach) and older.c (which of that has to be made whole first) share. Nobody else includes this. */
#ifndef RSET_SERIAL_INTERNAL_H
#define RSET_SERIAL_INTERNAL_H

#include "classify.h"
#include "common/phases.h"
#include "recover.h"

/* One member's files as far as they were found. */
typedef struct rset_found_member {
    rset_dir     *dir; /* owned, but for the own member's */
    char         *prefix;
    int           nfiles;
    char        **names;
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
    bool                    known; /* it was found out whose file it is: */
    rset_desc               desc;  /* of the own member, of the newest generation within reach */
    bool                    exact; /* known by its whole path, not by its base name only */
    int                rivals; /* other ranks of that generation whose file goes by the same name */
    rset_found_member *pieces; /* desc.members */
    char             **dirs;   /* paths to look in, the own directory first; owned */
    size_t             ndirs, room;
    rset_dir          *dir; /* the one being listed */
    rset_status        st;
} rset_search;

/* Where to look: the own directory, args->search, and what redundancy files found there record. Whose file it is, and of
 * which generation: s->desc, where s->known. RSET_LOST: it could be one of several ranks'. All of these are local;
 * messages are in *s->err. */
rset_status rset_search_begin(rset_search *s);

/* Where it is a generation that is kept: makes it whole for the other members of the set whose directories were found, if these
 * may be written and it is not whole there. What cannot be made whole is no error. RSET_NOMEM. */
rset_status rset_search_older(rset_search *s);

/* What the other members of the set have of that generation, as far as it is within reach: s->pieces. */
rset_status rset_search_pieces(rset_search *s);

void rset_search_free(rset_search *s);

#endif
