/* alone.h: one process brings back one rank's files, from the pieces that it can reach. */
#ifndef ALONE_H
#define ALONE_H

#include "catalog.h"
#include "files.h"
#include "options.h"

/* Directories in which pieces of an owner may be: those that the user named with --search, and wherever something of his was seen. */
strings alone_search(const options *o, const catalog *c, uint64_t owner);

typedef struct alone_wish {
    int  rank;     /* whose files these are; -1: their names say it */
    bool outdated; /* what lies there is an old copy, whose own evidence counts for nothing */
    bool dry_run;  /* nothing is changed: what would be done is found out */
    bool undelete; /* also where no data file of its set is within reach */
} alone_wish;

/* Has the engine bring back what `f` says, in f's directory and nowhere else. Local. RSET_LOST, RSET_ABSENT: they cannot be had from here, nothing was changed. */
rset_status alone_rebuild(files *f, const alone_wish *wish, const strings *search,
                          rset_outcome *out, rset_err *err);

#endif
