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
    bool           dry; /* nothing is changed: what would be done is found out */
    const char *
        not_done; /* begins what is told where it was not; "": nothing does; NULL: that is not told */
    int     n;    /* ranks */
    hosted *hosted; /* of each rank */
} hosting;

/* May what is lost of this member be made where it was? RSET_USAGE: the user has not named that place. Pure. */
rset_status hosted_may_make(const member *m, rset_err *err);

/* Opens what this process has of rank r's files; in a dry run those that were renamed with what protects them under the old name, and
 * of a directory that is missing nothing. */
rset_status hosted_open(const hosting *p, int r, files *f, rset_err *err);

/* Finds out which process has which rank of p->f: p->hosted, freed with free(); and runs body (NULL: nothing) once for each rank of this
 * process, as a thread, with a communicator of all ranks. What the bodies come to is theirs to keep in p->hosted. Collective over the
 * processes. RSET_LOST: nothing records a rank; RSET_USAGE: no process is where it would have to be; and what kept the bodies from running. */
rset_status hosted_run(hosting *p, void (*body)(rset_comm *world, void *arg), void *arg);

/* For a command that makes all ranks of p->f do something: hosted_run, and tell(p, r) says of each rank of this process that it was done, or
 * would be. What came of it. */
rset_status hosted_do(hosting *p, void (*body)(rset_comm *world, void *arg), void *arg,
                      void (*tell)(const hosting *p, int r));

/* `st`, or what the ranks of this process came to where that is RSET_OK. */
rset_status hosted_status(const hosting *p, rset_status st);

/* Directories in which pieces of an owner may be: those that the user named with --search, and wherever something of his was seen. */
strings alone_search(const options *o, const catalog *c, uint64_t owner);

/* Has the engine bring back what `f` says, in f's directory and nowhere else. `wish`: all but what says where files are. Local. RSET_LOST, RSET_ABSENT: they cannot be had from here, nothing was changed. */
rset_status alone_rebuild(files *f, const rset_serial_args *wish, const strings *search,
                          rset_outcome *out, rset_err *err);

#endif
