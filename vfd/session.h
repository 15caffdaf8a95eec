/* session.h: the session of one open file, from the protection's point of view.
 *
 * Called by the driver's slots (H5FDredset.c) around the lower driver's work; calls the engine
 * (protect/protect.h, recover/recover.h) and the rendezvous of ranks. No HDF5 here: files are files.
 *
 *   open       session_open     local, says nothing to anybody; the handle is "unresolved"
 *   lock, get_eof, read ...  session_resolve   first real use: survey, rebuild if needed (collective)
 *   write      session_change   before bytes change: what they were is kept, protection is marked void (P3)
 *   commit     session_commit   protect (collective), and go on as a file that was opened just now
 *   close      session_close    after the lower driver has closed: protect (collective)
 *
 * A protected file that is created anew is written as a shadow file beside the old one: its session says where (session_at),
 * and gives it its name when it is protected.
 *
 * A probe is opened and closed without a use: session_open, session_close, no communication (T1). */
#ifndef RSET_SESSION_H
#define RSET_SESSION_H

#include "config.h"
#include "recover/recover.h"

typedef struct rset_session rset_session;

typedef enum {
    RSET_OPEN_READ,   /* existing file, read-only */
    RSET_OPEN_UPDATE, /* existing file, read-write, no CREAT or TRUNC: may be a probe */
    RSET_OPEN_CREATE  /* CREAT, TRUNC or EXCL given: certainly a creation */
} rset_open_mode;

/* What the caller found when it tried the path with the lower driver. */
typedef enum {
    RSET_FOUND,
    RSET_MISSING,
    RSET_UNOPENABLE, /* it is there, and could not be opened */
    RSET_UNSEEN      /* it could not be looked at: it may be there, or lost */
} rset_found;

/* How a file is opened. */
typedef struct rset_opening {
    rset_open_mode mode;
    rset_found     found;
    bool
        swmr; /* SWMR flags were given; nothing is then verified or restored, and changes are in place */
    bool link; /* the name is a symbolic link, which HDF5 wants to lead to the file that is open */
    bool
        followed; /* HDF5 follows an external link or a virtual dataset, and goes on without the file if it is absent */
} rset_opening;

/* Begins a session. *session_out is NULL when the file is none of ours (files= does not cover it, it is no
 * regular file, it is missing and nothing can bring it back, or it cannot be opened and no other rank waits for that): then pass
 * everything through. For RSET_OPEN_CREATE
 * this is called before the lower driver creates or truncates; ask rset_session_at where. `path` is resolved to an
 * absolute one here (T16). Where other ranks may wait for this one, a failure to look at what is there is kept
 * for rset_session_resolve, which tells them. Local. */
rset_status rset_session_open(const rset_config *config, const char *path, const rset_opening *how,
                              rset_session **session_out, rset_err *err);

/* Will a file that is created now, under a name that the configuration covers, not be protected, whatever its ranks do?
 * Then why: a sentence that begins with "not protected" in *why; *quiet_out: a program without MPI is not told, since
 * it may be a tool. Local. */
bool rset_session_cannot_protect(const rset_config *config, const char *path, rset_err *why,
                                 bool *quiet_out);

/* Did this rank's disk say that it was protected, when that was last looked at? */
bool rset_session_was_protected(const rset_session *session);

/* Does anything that this process can reach record a file of this name? Lists directories. Local. */
bool rset_session_recorded_nearby(const rset_session *session);

/* Lies something beside the file that does not count, since another user may have made it? Then *err says the first. Local. */
bool rset_session_has_foreign(const rset_session *session, rset_err *err);

/* Where the file really is, while it is open. */
const char *rset_session_at(const rset_session *session);

/* The path of the older generation that is read instead of the file; NULL: none is (fallback=). */
const char *rset_session_older(const rset_session *session);

/* The lower driver has created the file there: it is the file `is`. Local. */
void rset_session_created(rset_session *session, const rset_identity *is);

/* It could not be created as a shadow file: from now on the old one is put aside, and the new one has the name. With
 * required=yes, or where that cannot be, an error, and the old file is as it was (P3). Local. */
rset_status rset_session_create_aside(rset_session *session, rset_err *err);

/* Others shall see the file under its name from now on, while it is still being written (SWMR): a shadow
 * file is put in place, and changes there. Local. */
rset_status rset_session_show(rset_session *session, rset_err *err);

/* First real use. Collective among the ranks whose file is protected or missing; a file that nobody
 * protects costs nothing. Afterwards the path holds what the application shall see.
 * RSET_ABSENT: it is missing and was never protected: give the lower driver's own error. Where a link is followed that is
 * known from all ranks.
 * `own`: this rank's failure so far, with its message in *err, or RSET_OK: the others hear of it.
 * `lower`: what HDF5 reads through; open is called on all ranks, so that all fail when one cannot (P4).
 * Repeated calls return the first outcome. */
typedef struct rset_lower {
    /* Has the file `is` open: keeps what is open, if it is that, else opens the path anew. Zeros: whatever has the path.
     * RSET_BUSY: what has the path now is another file (V6). RSET_IO. Local. */
    rset_status (*open)(void *handle, const rset_identity *is, rset_err *err);
    /* Reads `len` bytes at `off` as HDF5 reads them; beyond the end there are zeros. RSET_IO. Local. */
    rset_status (*read)(void *handle, uint64_t off, void *buf, size_t len, rset_err *err);
    void *handle;
} rset_lower;

rset_status rset_session_resolve(rset_session *session, rset_status own, const rset_lower *lower,
                                 rset_err *err);

/* What the file is to this process, in a word or two (session_states.h); NULL: "", it has not got it open. Local. */
const char *rset_session_state_text(const rset_session *session);

/* Was it opened by a process that this one was forked from, and which lives? Then the file, and a commit that is under way, are
 * that process's: nothing is changed, told or removed for it here, and closing it only lets go of it. NULL: false. Local. */
bool rset_session_is_inherited(const rset_session *session);

/* Has the first use been, with success? Local. */
bool rset_session_is_in_use(const rset_session *session);

/* Is the file not what was protected last? Until then the caller compares a write with what is there (a write that repeats
 * the bytes is no modification, T4) and calls rset_session_change before the first that differs. */
bool rset_session_is_changed(const rset_session *session);

/* Bytes [off, off+len) are about to change, or to be cut off or added: keeps what they were and marks the
 * protection void on disk, durably (P3), unless that is done. Called for every write that is not known to
 * change nothing. RSET_BUSY, before the first change: the name leads to another file than the one that was opened, or another
 * process has committed the file since; nothing was changed. Local. */
rset_status rset_session_change(rset_session *session, unsigned long long off,
                                unsigned long long len, rset_err *err);

/* Has a change that was let through something to say, at once and once? Then *err is that. Local. */
bool rset_session_has_to_say(rset_session *session, rset_err *err);

/* Bytes [off, off+len) are about to be read by the application: verifies the blocks they lie in that were not verified yet, as
 * `lower` reads them (only when verification is per read; else nothing). A damaged file is repaired from what is within reach,
 * and `lower` has the repaired one open then. RSET_LOST: it cannot be repaired. RSET_BUSY: another process has committed the
 * file anew since it was opened, so that what is read now would be of two generations. Local. */
rset_status rset_session_read(rset_session *session, unsigned long long off, unsigned long long len,
                              const rset_lower *lower, rset_err *err);

/* The next commit of the file is called `text` (copied), unless a rank of a lower number calls it something else. RSET_USAGE:
 * that is no label (rset_stamp_may_be), or the file is not open to be changed. Local. */
rset_status rset_session_label(rset_session *session, const char *text, rset_err *err);

/* HDF5 keeps raw data of this file, which may change, in other files (external.h): that is said, once for all ranks, when it is next
 * closed or committed with the others. Local. */
void rset_session_has_external(rset_session *session);

/* This is the file as the program has left it, by the descriptor that it was written through: what the next commit, or close,
 * protects, or fails. Local. */
struct stat;
void rset_session_left(rset_session *session, const struct stat *left);

/* Ends a session after the lower driver has closed the file (`lower_ok`: without error): protects it if
 * it was written (collective). Frees `session` in any case. What went wrong but must not fail the close
 * (required=no) comes back as RSET_OK with the sentence in warning_out, "" if there is none. */
rset_status rset_session_close(rset_session *session, bool lower_ok,
                               char warning_out[RSET_ERR_TEXT], rset_err *err);

/* The same of n files of this rank that are committed together (at most RSET_TOGETHER_MAX, in one order on all ranks; each has to
 * meet the others, and was left by rset_session_leave): all are protected, or none is. `lower_ok`: of all of them. */
rset_status rset_sessions_close(rset_session *const *sessions, int n, bool lower_ok,
                                char warning_out[RSET_ERR_TEXT], rset_err *err);

/* At the end: how many closes of this rank were not protected, where this process has said so of one; false: nothing to say. */
bool rset_session_sum_up(char text_out[RSET_ERR_TEXT]);

/* Has rset_session_close to meet the other ranks? */
bool rset_session_needs_others(const rset_session *session);

/* With async=yes: do all ranks leave the end of this session to the background, or a commit of it, but those that cannot for a
 * reason of their own? Local. */
bool rset_session_ends_behind(const rset_session *session);
bool rset_session_commits_behind(const rset_session *session);

/* rset_session_close shall be left to another thread, and no other one uses a session now (background.h). Sees to
 * it that all ranks have met once, on this communicator: that must be in the program's own thread, and
 * waits for the others. False: they have not come; rset_session_close it in this thread, which will say so. */
bool rset_session_gather(rset_session *session);

/* The session will be longer than what its configuration points to: `comm` is a copy of that, which is freed
 * with the session. From now on the file may not change: somebody else may have it. False, and nothing happens:
 * there should be a copy and there is none, or there is no file, or it is a file of one rank, whose close waits for
 * nobody. */
bool rset_session_leave(rset_session *session, void *comm);

/* Who wants a commit of a file that stays open. */
typedef enum {
    RSET_COMMIT_BY_CALL, /* H5FDredset_commit: what fails is an error */
    RSET_COMMIT_BY_FLUSH /* H5Fflush (commit=flush): as for a close, an error with required=yes */
} rset_commit_by;

/* Protects the file as it is, with those of all ranks (collective); the session goes on as that of a file opened just now by
 * all of them. A rank that has changed nothing comes as well. `lower_ok`: all that the program has written is on disk; else
 * nobody's file is protected. What went wrong but must not fail the flush comes back as RSET_OK with the sentence in
 * warning_out, "" if there is none. After a failure the file can be used as before, and committed later, but for one
 * case: where this rank has prepared the commit and did not learn whether the others have published it, the file may
 * not change any more. */
rset_status rset_session_commit(rset_session *session, rset_commit_by by, bool lower_ok,
                                char warning_out[RSET_ERR_TEXT], rset_err *err);

/* The same in the background, of what the file is now: a part of the session, to be given to rset_session_commit_part in
 * another thread, while the file goes on changing in this one. NULL: it cannot be; commit it in this thread. No other part is
 * under way. Local. */
rset_session *rset_session_split(rset_session *session);
rset_status   rset_session_commit_part(rset_session *part, rset_commit_by by,
                                       char warning_out[RSET_ERR_TEXT], rset_err *err);

/* Once the other thread has done with it, or was never given it: what came of it counts from now on. Frees the part; nothing to
 * do where there is none, or it is not done with. Local. */
void rset_session_join(rset_session *session);

/* MPI is about to end, and the file is open: protects it as it is (collective), so that rset_session_close has nothing
 * left to do unless it changes again. `lower_ok`: it is complete on disk; otherwise nobody's is protected. When that
 * fails, the close will say so. */
void rset_session_finalize(rset_session *session, bool lower_ok);

/* Ends a session whose open, or creation, failed after all: what was begun for it is rolled back, and ranks that come to close
 * theirs are told. NULL is accepted. Local. */
void rset_session_abandon(rset_session *session);

/* H5Fcreate has failed before there was a session: ranks that come to close theirs are told. Local. */
void rset_session_not_created(const rset_config *config, const char *path);

/* H5Fdelete: removes the redundancy files of `path` after the file itself was removed. Local. */
rset_status rset_session_delete(const rset_config *config, const char *path, rset_err *err);

#endif
