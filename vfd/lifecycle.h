/* lifecycle.h: the life of one open file, from the protection's point of view.
 *
 * Called by the driver's slots (H5FDredset.c) around the lower driver's work; calls the engine
 * (protect/protect.h, recover/recover.h) and the rendezvous of ranks. No HDF5 here: files are files.
 *
 *   open       life_open     local, says nothing to anybody; the handle is "unresolved"
 *   lock, get_eof, read ...  life_resolve   first real use: survey, rebuild if needed (collective)
 *   write      life_change   before bytes change: what they were is kept, protection is marked void (P3)
 *   close      life_close    after the lower driver has closed: protect (collective)
 *
 * A protected file that is created anew is written as a shadow file beside the old one: its life says where (life_at),
 * and gives it its name when it is protected.
 *
 * A probe is opened and closed without a use: life_open, life_close, no communication (T1). */
#ifndef RSET_LIFECYCLE_H
#define RSET_LIFECYCLE_H

#include "config.h"

typedef struct rset_life rset_life;

typedef enum {
    RSET_OPEN_READ,   /* existing file, read-only */
    RSET_OPEN_UPDATE, /* existing file, read-write, no CREAT or TRUNC: may be a probe */
    RSET_OPEN_CREATE  /* CREAT, TRUNC or EXCL given: certainly a creation */
} rset_open_mode;

/* What the caller found when it tried the path with the lower driver. */
typedef enum { RSET_FOUND, RSET_MISSING } rset_found;

/* How a file is opened. */
typedef struct rset_opening {
    rset_open_mode mode;
    rset_found     found;
    bool
        swmr; /* SWMR flags were given; nothing is then verified or restored, and changes are in place */
    bool link; /* the name is a symbolic link, which HDF5 wants to lead to the file that is open */
} rset_opening;

/* Begins a life. *life_out is NULL when the file is none of ours (files= does not cover it, it is no
 * regular file, or it is missing and nothing can bring it back): then pass everything through. For RSET_OPEN_CREATE
 * this is called before the lower driver creates or truncates; ask rset_life_at where. `path` is resolved to an
 * absolute one here (T16). Where other ranks may wait for this one, a failure to look at what is there is kept
 * for rset_life_resolve, which tells them. Local. */
rset_status rset_life_open(const rset_config *config, const char *path, const rset_opening *how,
                           rset_life **life_out, rset_err *err);

/* Will a file that is created now, under a name that the configuration covers, not be protected, whatever its ranks do?
 * Then why: a sentence that begins with "not protected" in *why; *quiet_out: a program without MPI is not told, since
 * it may be a tool. Local. */
bool rset_life_cannot_protect(const rset_config *config, const char *path, rset_err *why,
                              bool *quiet_out);

/* Where the file really is, while it is open. */
const char *rset_life_at(const rset_life *life);

/* The lower driver has created the file there. Local. */
rset_status rset_life_created(rset_life *life, rset_err *err);

/* It could not be created as a shadow file: it will be in place. Its protection is marked void, durably,
 * before that (P3). */
rset_status rset_life_create_in_place(rset_life *life, rset_err *err);

/* Others shall see the file under its name from now on, while it is still being written (SWMR): a shadow
 * file is put in place, and changes there. Local. */
rset_status rset_life_show(rset_life *life, rset_err *err);

/* First real use. Collective among the ranks whose file is protected or missing; a file that nobody
 * protects costs nothing. Afterwards the path holds what the application shall see.
 * RSET_ABSENT: it is missing and was never protected: give the lower driver's own error.
 * `own`: this rank's failure so far, with its message in *err, or RSET_OK: the others hear of it.
 * `lower`: opens what the path holds then, so that all fail when one rank cannot (P4). `replaced`: the file was
 * rebuilt, what was opened before is the old one.
 * Repeated calls return the first outcome. */
typedef struct rset_lower {
    rset_status (*open)(void *handle, bool replaced, rset_err *err);
    void *handle;
} rset_lower;

rset_status rset_life_resolve(rset_life *life, rset_status own, const rset_lower *lower,
                              rset_err *err);

/* True until the first change: then the caller compares a write with what is there (a write that repeats
 * the bytes is no modification, T4) and calls rset_life_change before the first that differs. */
bool rset_life_clean(const rset_life *life);

/* Bytes [off, off+len) are about to change, or to be cut off or added: keeps what they were and marks the
 * protection void on disk, durably (P3), unless that is done. Called for every write that is not known to
 * change nothing. Local. */
rset_status rset_life_change(rset_life *life, unsigned long long off, unsigned long long len,
                             rset_err *err);

/* Bytes [off, off+len) are about to be read by the application: verifies the blocks they lie in that
 * were not verified yet (only when verification is per read; else nothing). RSET_DAMAGED when they
 * are not what was recorded and cannot be repaired from what is reachable. *replaced_out: it was repaired, a
 * lower handle opened before is of the old one: reopen.
 * Local. */
rset_status rset_life_read(rset_life *life, unsigned long long off, unsigned long long len,
                           bool *replaced_out, rset_err *err);

/* Ends a life after the lower driver has closed the file (`lower_ok`: without error): protects it if
 * it was written (collective). Frees `life` in any case. What went wrong but must not fail the close
 * (required=no) comes back as RSET_OK with the sentence in warning_out, "" if there is none. */
rset_status rset_life_close(rset_life *life, bool lower_ok, char warning_out[RSET_ERR_TEXT],
                            rset_err *err);

/* Has rset_life_close to meet the other ranks? */
bool rset_life_ends_together(const rset_life *life);

/* rset_life_close shall be left to another thread, and no other one uses a life now (background.h). Sees to
 * it that all ranks have met once, on this communicator: that must be in the program's own thread, and
 * waits for the others. False: they have not come; rset_life_close it in this thread, which will say so. */
bool rset_life_come_together(rset_life *life);

/* The life will be longer than what its configuration points to: `comm` is a copy of that, which is freed
 * with the life. From now on the file may not change: somebody else may have it. False, and nothing happens:
 * there should be a copy and there is none, or there is no file. */
bool rset_life_leave(rset_life *life, void *comm);

/* MPI is about to end, and the file is open: protects it as it is (collective), so that rset_life_close has nothing
 * left to do unless it changes again. `lower_ok`: it is complete on disk; otherwise nobody's is protected. When that
 * fails, the close will say so. */
void rset_life_finalize(rset_life *life, bool lower_ok);

/* Ends a life whose open, or creation, failed after all: what was begun for it is taken back, and ranks that come to close
 * theirs are told. NULL is accepted. Local. */
void rset_life_abandon(rset_life *life);

/* H5Fcreate has failed before there was a life: ranks that come to close theirs are told. Local. */
void rset_life_not_created(const rset_config *config, const char *path);

/* H5Fdelete: removes the redundancy files of `path` after the file itself was removed. Local. */
rset_status rset_life_delete(const rset_config *config, const char *path, rset_err *err);

#endif
