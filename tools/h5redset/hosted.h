/* hosted.h: the ranks of files that were protected together, and which process does what each of them would do; or one process that brings
 * back the files of one rank, from the pieces that it can reach. */
#ifndef HOSTED_H
#define HOSTED_H

#include "catalog.h"
#include "files.h"
#include "job.h"
#include "options.h"

/* One parent rank of the encode. */
typedef struct hosted {
    const member *member;
    int           by; /* process; -1: none yet */
    rset_status   st; /* what it came to, where this process has it */
    rset_outcome  out;
    rset_err      err;
} hosted;

typedef struct hosting {
    job           *j;
    const options *o;
    const family  *f;
    bool           dry;    /* nothing is changed: what would be done is found out */
    int            n;      /* ranks */
    hosted        *hosted; /* of each rank */
} hosting;

/* p->hosted of the ranks of p->f, all other members given; freed with free(). Nobody has them yet. */
void hosted_begin(hosting *p);

/* Which process each has. RSET_LOST: nothing records a rank; RSET_USAGE: no process is where it would have to be. */
rset_status hosted_assign(hosting *p, rset_err *err);

/* Opens what this process has of rank r's files; in a dry run those that were renamed with what protects them under the old name, and
 * of a directory that is missing nothing. */
rset_status hosted_open(const hosting *p, int r, files *f, rset_err *err);

/* Runs body once for each rank of this process, as a thread, with a communicator of all ranks. A failure to do so is said on
 * stderr; what the bodies come to is theirs to keep in p->hosted. Collective over the processes. */
rset_status hosted_run(hosting *p, void (*body)(rset_comm *world, void *arg), void *arg,
                       rset_err *err);

/* For a command that makes all ranks of p->f do something: their processes run `body`, unless nothing is to be changed, and tell(p, r) says of each
 * rank of this one that it was done, or would be. `not_done` begins what is said where it was not. `arg` is for body. Collective; the
 * exit status of this process. */
int hosted_do(hosting *p, void (*body)(rset_comm *world, void *arg), void *arg,
              void (*tell)(const hosting *p, int r), const char *not_done);

/* `st`, or what the ranks of this process came to where that is RSET_OK. */
rset_status hosted_status(const hosting *p, rset_status st);

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
