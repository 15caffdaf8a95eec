/* kept_expand_internal.h: one older generation that is made whole: what kept_expand.c (the order of it, and the names) and
 * kept_content.c (what the generation was) share. Nobody else includes this. */
#ifndef RSET_KEPT_EXPAND_INTERNAL_H
#define RSET_KEPT_EXPAND_INTERNAL_H

#include "kept_internal.h"

/* What it rests on. */
typedef struct rset_kept_base {
    rset_kept_names names; /* of an older generation; the newest has those of `local` */
    const char     *data[1];
    rset_local      local;
    rset_evidence   ev;
    bool            is_newest; /* and may be changing now */
} rset_kept_base;

/* One that is made whole. */
typedef struct rset_kept_expanding {
    const rset_local *of; /* the file that it is a generation of */
    rset_kept_names   to;
    const char       *data[1];
    rset_local        local; /* the file that it is going to be */
    rset_evidence     ev;
    rset_file        *journal; /* what leads back to it; locked */
    rset_undo         undo;
    bool own; /* from a file that it has itself: it does not rest on another one's content */
    rset_kept_base *base; /* what it rests on otherwise, and its redundancy perhaps */
    char           *fix;  /* its redundancy file, complete under this name; NULL: that is there */
    char           *temp; /* its data file; NULL: not made */
    bool            damaged; /* the data is not what is recorded */
    bool            same;    /* the base was what it is all the time, */
    bool            still;   /* and nobody has changed it meanwhile */
    rset_err       *err;
} rset_kept_expanding;

/* Its redundancy file, complete and synced as x->fix, which is NULL where that is there already, or what it rests on is lost. The
 * caller removes it if it fails. Local. RSET_IO, RSET_NOMEM. */
rset_status rset_kept_make_redundancy(rset_kept_expanding *x);

/* Its data file, complete and synced as x->temp, and compared with what is recorded (x->damaged); NULL: what it rests on is lost.
 * The caller removes it if it fails. Local. RSET_IO, RSET_NOMEM. */
rset_status rset_kept_make_data(rset_kept_expanding *x);

#endif
