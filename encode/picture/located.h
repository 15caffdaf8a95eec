/* located.h: the files of ranks in a directory: those that were protected under names which differ from one another in their
 * numbers only. */
#ifndef RSET_LOCATED_H
#define RSET_LOCATED_H

#include "member/member.h"

/* The files of one of them. */
typedef struct rset_located {
    rset_dir *dir;    /* where they lie; borrowed from who looked for them */
    uint64_t  place;  /* tells that directory from others, where who looked for them has said so */
    char     *prefix; /* owned, as `base`, which is the first data file's name */
    char     *base;
    char     *name; /* that its rank opens it by: `base`, unless it was put out of the way; owned */
    char *
        *names; /* all data files, the first as the first; "": it is in another directory; owned */
    uint64_t     *inodes; /* of each, 0: it is not there; owned */
    int           n;
    bool          there;    /* all data files are */
    rset_evidence evidence; /* has a header; owned */
} rset_located;

typedef struct rset_located_list {
    size_t        n, room;
    rset_located *at; /* owned */
} rset_located_list;

/* Was it put out of another rank's way (rset_displaced_name)? Pure. */
bool rset_located_is_displaced(const rset_located *located);

/* The files in `dir` that have a redundancy file, are not open for change, and are named as `like` is but for their numbers:
 * that one as well; added to *out. Lists the directory, and reads a header of each. Local. RSET_IO, RSET_NOMEM;
 * *out is to be freed in any case. */
rset_status rset_locate(rset_dir *dir, const char *like, rset_located_list *out, rset_err *err);
void        rset_located_list_free(rset_located_list *all);

#endif
