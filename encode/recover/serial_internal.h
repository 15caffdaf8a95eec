/* serial_internal.h: what one process looks at where there are no others. Each of these uses those below it:
 *   serial.c  one process looks after one rank's files
 *   nearby.c  where to look, and which generations of the file there are
 *   search.c  whose file it is, and what the other members of its set have
 *   reach.c   directories, and what is in them
 *   older.c   what has to be made whole first
 * Nobody else includes this. */
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
    bool
                       any; /* what protects any generation of the files counts; else the one that has the own file's name */
    bool               known;  /* it was found out whose file it is: */
    rset_desc          desc;   /* of the own member, of the newest generation within reach */
    bool               exact;  /* known by its whole path, not by its base name only */
    int                rivals; /* other ranks of that generation whose file goes by the same name */
    rset_found_member *pieces; /* desc.members */
    char             **dirs;   /* paths to look in, the own directory first; owned */
    size_t             ndirs, room;
    rset_dir          *dir; /* the one being listed */
    rset_status        st;
} rset_search;

/* ---- nearby.c ---- */

/* Where to look: the own directory, args->search, and what redundancy files found there record; of an older generation also where
 * files lie that were committed together with any that is left. Whose file it is, and of which generation: s->desc, where s->known.
 * RSET_LOST: it could be one of several ranks'. All of these are local; messages are in *s->err. */
rset_status rset_search_begin(rset_search *s);

/* ---- search.c ---- */

/* Whose file it is, by what is in the directories to look in, as rset_search_begin. */
rset_status rset_search_for_name(rset_search *s);

/* What the other members of the set have of that generation, as far as it is within reach: s->pieces. */
rset_status rset_search_pieces(rset_search *s);

/* Members of the set that were not found, as far as they have room, for messages: "1 (on node3), 2"; "": all were. Pure. */
void rset_search_list_missing(const rset_search *s, char *buf, size_t size);

/* Is a data file of that generation left within reach, of whichever rank? Where it is, one that is missing is lost; else all were
 * deleted. RSET_NOMEM. */
rset_status rset_search_for_one_left(rset_search *s, bool *left_out);

void rset_search_free(rset_search *s);

/* ---- reach.c ---- */

/* The directories that args name: the own one, args->search, and what the own redundancy file records, which says whose file it is.
 * RSET_NOMEM. */
rset_status rset_search_dirs(rset_search *s);

/* Adds the directories that a header records. RSET_NOMEM. */
rset_status rset_search_add_recorded(rset_search *s, const rset_header *h);

/* Visits each name in each directory to look in, also in those that are added meanwhile: s->dir. `visit` has to return s->st ==
 * RSET_OK. RSET_NOMEM. */
rset_status rset_search_each(rset_search *s, bool (*visit)(const char *name, void *arg), void *arg);

/* What the name of the own file has after that which is recorded: "", or which generation it is that has the name. Borrowed. */
const char *rset_search_suffix(const rset_search *s);

/* Is it the name of a redundancy file of the generation that is wanted? *parsed: the name, taken apart. */
bool rset_search_is_wanted(const rset_search *s, const char *name, rset_name *parsed);

/* A redundancy file that was found, and what lies beside it. */
typedef struct rset_found_redundancy {
    char         *prefix; /* owned */
    rset_evidence ev;     /* it has a header */
} rset_found_redundancy;

/* What there is of the files of that name in s->dir. False: nothing that can be read. *out is to be freed where it is true. */
bool rset_search_survey(rset_search *s, const char *name, const rset_name *parsed,
                        rset_found_redundancy *out);
/* The same where it is wanted. */
bool rset_search_open(rset_search *s, const char *name, rset_found_redundancy *out);
void rset_found_redundancy_free(rset_found_redundancy *found);

/* ---- older.c ---- */

/* Where it is a generation that is kept: makes it whole for the other members of the set whose directories were found, if these
 * may be written and it is not whole there. What cannot be made whole is no error. RSET_NOMEM. */
rset_status rset_search_older(rset_search *s);

#endif
