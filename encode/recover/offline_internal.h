/* offline_internal.h: what offline.c (one rank's files are brought back) and offline_search.c (what of the others is within
 * reach) share. Nobody else includes this. */
#ifndef RSET_OFFLINE_INTERNAL_H
#define RSET_OFFLINE_INTERNAL_H

#include "recover.h"

/* One member's files as far as they were found. */
typedef struct piece {
    rset_dir     *dir; /* owned, but for the own member's */
    char         *prefix;
    int           nfiles;
    char        **names;
    rset_evidence evidence;
    rset_local    local;
    bool          found;
    rset_status   st; /* what its thread came to */
    rset_err      err;
    bool          replaced;
} piece;

typedef struct search {
    const rset_local *local;
    rset_evidence    *evidence;
    rset_desc         desc; /* of the own member */
    bool              known;
    bool              exact;  /* known by its whole path, not by its base name only */
    int               rivals; /* other ranks of that generation whose file goes by the same name */
    int               rank;   /* whose it is, as the caller knows; -1: does not */
    piece            *pieces; /* desc.members */
    bool              content;
    char            **dirs; /* paths to look in, the own directory first; owned */
    size_t            ndirs, room;
    rset_dir         *dir; /* the one being listed */
    rset_status       st;
    rset_err         *err;
} search;

/* Where to look: the own directory, and a list that ends with NULL. Released with rset_search_free, whatever comes of
 * it. All of these are local; messages are in *s->err. */
rset_status rset_search_begin(search *s, const char *const *more);

/* Whose is the file, when its own redundancy file does not say? s->desc. RSET_ABSENT: nothing within reach records it;
 * RSET_LOST: it could be one of several ranks'. */
rset_status rset_search_owner(search *s);

/* Is there anything that records a file of this name? */
bool rset_search_known(search *s);

/* What the other members of the set have, as far as it is within reach: s->pieces. */
rset_status rset_search_pieces(search *s);

/* Is that all that any rank has, each with its redundancy file? */
bool rset_search_sees_all(const search *s);

void rset_search_free(search *s);

#endif
