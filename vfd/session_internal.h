/* session_internal.h: what is known of one open file. Each of these uses those below it:
 *   session.c      the story                  session_commit.c    protected, closed or open
 *   session_create.c    where a file is created    session_protect.c   closed with the other ranks
 *   session_parallel.c  first used with them       session_serial.c    and without them
 *   session_whole.c     opened as it is
 *   session_change.c    before it changes          session_meet.c      how they meet
 *   session_behind.c    committed in the background
 *   session_root.c      files of one rank     session_fallback.c  an older generation instead
 *   session_states.c    which states there are
 *   session_team.c      with whom                  session_base.c      made, asked, freed */
#ifndef RSET_SESSION_INTERNAL_H
#define RSET_SESSION_INTERNAL_H

#include "beside.h"
#include "history.h"
#include "move/old_copies.h"
#include "protect/protect.h"
#include "recover/recover.h"
#include "session.h"
#include "session_states.h"
#include "stats.h"
#include "team.h"

/* Changes of at most so many bytes are worth a look whether they were reverted. */
enum { RSET_SMALL_CHANGE = 4096 };

/* What is known of the content of all ranks, but for what they have changed themselves. */
typedef enum rset_content_is {
    RSET_CONTENT_IS_UNKNOWN,
    RSET_CONTENT_IS_PROTECTED, /* it was found protected; whether each block is what was recorded is not known */
    RSET_CONTENT_IS_VERIFIED /* each block is what was recorded */
} rset_content_is;

/* What came of its end before that is told: the ranks did not come (rset_session_gather), MPI_Finalize was called, or it
 * was committed in the background. */
typedef struct rset_session_ended {
    rset_err why;         /* not RSET_OK: it is not protected, and that is not tried again */
    bool     told;        /* another rank says so */
    bool     only_some;   /* ranks have such a file, as was known before */
    bool     others_have; /* one that has come does, protected */
} rset_session_ended;

/* With whom it was opened. */
typedef enum rset_company {
    RSET_COMPANY_NONE, /* nobody has to come when it is closed */
    RSET_COMPANY_ALL,  /* with all ranks, all to change theirs */
    RSET_COMPANY_ABSENT /* the others have not come: whether their files are of the same generation is not known */
} rset_company;

/* What the content builds on: what was opened, or committed since. */
typedef struct rset_basis {
    rset_company    company;
    uint64_t        generation; /* of all ranks, with RSET_COMPANY_ALL; 0: none */
    rset_content_is content;
} rset_basis;

/* What the program has done with it since then. */
typedef struct rset_change {
    uint64_t      bytes;       /* that were changed */
    rset_journal *journal;     /* of a file that changes in place */
    rset_err      no_way_back; /* not RSET_OK: what is changed now cannot be rolled back */
    struct stat   left;  /* the file as the program has left it, closed or not; zeros: not known */
    char         *label; /* that the next commit gets; NULL: none */
} rset_change;

/* A new file that is written in the place of the old one, in its directory. */
typedef struct rset_new_file {
    char      *name;  /* NULL: there is none */
    char      *path;  /* the same with the directory, as it was created */
    rset_file *guard; /* held while it is written */
} rset_new_file;

/* An older generation that was opened instead of the newest (fallback=). */
typedef struct rset_instead {
    unsigned         back;        /* so many generations older it is; 0: none was */
    rset_generations generations; /* of all ranks; known once one was looked for */
    rset_err         why;         /* then: why the newest cannot be had */
    char            *name, *path; /* name of the newest; path of what was opened */
} rset_instead;

/* What the first use has come to. */
typedef struct rset_outcome_of_use {
    rset_err verdict; /* before it: what failed when the file was opened, to be told to all ranks */
    rset_opened opened; /* what was done */
} rset_outcome_of_use;

/* What it was created over. */
typedef enum rset_over {
    RSET_OVER_ANY,
    RSET_OVER_NOTHING, /* nothing was there */
    RSET_OVER_REFUSED  /* what was there could not be opened before, as this rank knows */
} rset_over;

/* What the user has not been told yet. */
typedef struct rset_to_tell {
    char            note[RSET_ERR_TEXT]; /* at close, once */
    const rset_err *at_once;             /* by the call that is under way; NULL: nothing */
} rset_to_tell;

struct rset_session {
    /* what was opened, and how */
    rset_config   config;
    pid_t         process; /* that opened it */
    rset_opening  how;
    rset_beside   at;
    char         *known_as; /* at.path, but of an older generation that of the file itself */
    rset_kind     kind;
    rset_identity is; /* what HDF5 has open; zeros: not known, or a writer shares it (SWMR) */
    rset_instead  older;
    rset_over     over;

    /* with whom it is protected */
    rset_team *team;    /* NULL: nobody who can be asked */
    rset_err   no_team; /* then, not RSET_OK: why, where MPI could be called */
    rset_team *others;  /* who get replicas of a file of one rank; NULL: nobody who can be asked */
    void      *comm; /* where config.comm points to when the session is another thread's; owned */

    /* what has become of it */
    rset_session_state  state; /* changed by rset_session_step only */
    rset_outcome_of_use outcome;
    rset_basis          basis;
    rset_change         change;
    rset_new_file       shadow;
    rset_file          *use;      /* claim: it is open to be changed; NULL: nothing to claim */
    unsigned char      *verified; /* one bit per verified block of the file; NULL: all are */
    bool                external; /* it has raw data in files that nobody protects (external.h) */
    rset_session
        *part; /* what the background commits, while `state` is of since then; NULL: nothing */
    rset_session_ended ended;
    rset_to_tell       tell;
    rset_stats         cost; /* of the piece of work under way */
};

/* ---- session_states.c ---- */

/* The event happens to the file, and the session gets the state that the table has for that. Local. */
void rset_session_step(rset_session *session, rset_event event);

/* Is that true in its state? Local. */
bool rset_session_is(const rset_session *session, rset_property what);

/* ---- session_base.c ---- */

/* A session of the file at `path`, of which nothing is known yet. Local. */
rset_status rset_session_new(const rset_config *config, const char *path, rset_session **out,
                             rset_err *err);
/* Frees it, and what it holds open; nothing is said, or removed, on disk. NULL is accepted. */
void rset_session_free(rset_session *session);

/* Says to h5redset, with HDF5's locks or without them, that the file is open to be changed, unless that was said. RSET_BUSY. Local. */
rset_status rset_session_say_used(rset_session *session, rset_err *err);

/* Is what lies under its name, or that of its shadow file, what the program has left there (rset_session_left)? True where that is
 * not known, or nothing has changed, or the program goes on to change it. RSET_IO: it cannot be looked at. Local. */
rset_status rset_session_is_as_left(const rset_session *session, bool *is_out, rset_err *err);

/* What has changed since it was opened, or committed, is of the past: it was committed. Local. */
void rset_session_end_changes(rset_session *session);

/* The new file beside the old one is none any more: it has the name, or is gone. Local. */
void rset_session_forget_shadow(rset_session *session);

/* Is it a file of one rank (root=)? Local. */
bool rset_session_is_root(const rset_session *session);

/* Is it a generation that is kept beside a newer one? Local. */
bool rset_session_is_older(const rset_session *session);

/* Is it a file that was there, to be changed; or one that was created, and committed since? Local. */
bool rset_session_is_update(const rset_session *session);

/* Opened so that nothing may be written, not even to restore it? Local. */
bool rset_session_readonly(const rset_session *session);

/* What the disk says now, instead of what it said before. Local. */
rset_status rset_session_survey(rset_session *session, rset_err *err);

/* Has the user said that files like this one are one per rank? Then all ranks are asked also where this one has nothing
 * that says that its file was ever protected: it may have been put back without that. */
bool rset_session_insists(const rset_session *session);

/* This file counts as one of those. Local. */
void rset_session_count(rset_session *session, rset_count what);

/* As rebuilt, or as verified, or not at all. */
void rset_session_count_outcome(rset_session *session, const rset_outcome *outcome);

/* What the first use, or a block that was read and found damaged, came to: for the other ranks and for the history. */
rset_did rset_session_did(const rset_outcome *outcome);

/* For whoever asks later what the open did, by its verdict and what the disk says now. Local. */
void rset_session_note_opened(rset_session *session);

/* A piece of work of the session is over, which began with rset_phases_begin: what it has cost goes to the figures of
 * this process. Local. */
void rset_session_spent(rset_session *session, rset_phase_scope *scope);

/* Is it a file of one rank that is opened together with all ranks? Otherwise it is as if there were no others. Local. */
bool rset_session_is_shared_root(const rset_session *session);

/* Has this process taken part in protecting the generation that the file is of? Local. */
bool rset_session_is_ours(const rset_session *session);

/* ---- session_team.c ---- */

/* The first look at what the disk says, and who protects the file by that: session->team. Failures to look are those of
 * rset_session_survey. Local. */
rset_status rset_session_look(rset_session *session, rset_err *err);

/* From now on it is this process's alone to protect. Without memory it is nobody's. Local. */
void rset_session_be_alone(rset_session *session);

/* SINGLE is wanted, and nobody is there to ask, but others may have more of the file: so it is not this process's to
 * protect. Then *why says so. Local. */
bool rset_session_is_of_others(const rset_session *session, rset_err *why);

/* Is there room in its name for what is added to that? Asked of a session with a team. Local. */
bool rset_session_has_room(const rset_session *session);

/* ---- session_serial.c ---- */

/* First use without MPI, or without the others: pieces within reach of this process. `content`: what is verified at once;
 * RSET_CONTENT_NONE: each block when it is first read. */
rset_status rset_session_resolve_serial(rset_session *session, rset_content content, rset_err *err);

/* Starts verifying each block when it is first read. */
rset_status rset_session_verify_later(rset_session *session, rset_err *err);

/* ---- session_create.c ---- */

/* Before the lower driver creates the file: where that shall be, what is in the way, and what has to be
 * kept or said first. Local. */
rset_status rset_session_begin_creation(rset_session *session, rset_err *err);

/* ---- session_meet.c ---- */

/* What any rank says of its file, or-ed. */
enum {
    RSET_BIT_CHANGED = 1,
    RSET_BIT_READER = 2,
    RSET_BIT_PREPARED = 4,       /* an older commit is prepared, and perhaps decided */
    RSET_BIT_INCOMPLETE = 8,     /* it could not be written completely */
    RSET_BIT_DISTRUSTED = 32,    /* damage was found in its redundancy */
    RSET_BIT_APART = 16,         /* opened without the others, then changed in place */
    RSET_BIT_WRITER = 64,        /* to open: it is going to be changed */
    RSET_BIT_NEWEST = 128,       /* and no older generation is wanted instead (fallback=no) */
    RSET_BIT_REFUSED = 256,      /* created over what could not be opened before */
    RSET_BIT_OVER_NOTHING = 512, /* created where nothing is of what others may have */
    RSET_BIT_HAS = 1024,         /* created over what as many ranks have protected together */
    RSET_BIT_ANEW = 2048,        /* created where nothing protected was beside it */
    RSET_BIT_OLD_COPIES =
        4096,                 /* it may have old copies of other ranks' files in its directories */
    RSET_BIT_EXTERNAL = 8192, /* it has raw data in files that nobody protects (external.h) */
    RSET_BIT_AMISS =
        1
        << 14, /* to open: this rank does not say that its file is whole; else it is, by its size at least, of the generation that is
                    the proposal's base; and so much of it is to be verified: */
    RSET_BIT_WANTS_NONE = 1 << 15,
    RSET_BIT_WANTS_DATA = 1 << 16,
    RSET_BIT_WANTS_ALL = 1 << 17,
    RSET_BIT_UNREAD = 1 << 18 /* which was not done yet */
};

/* What to do about files that are not one per rank; ends every such message. */
#define RSET_ADVICE                                                                                \
    "; if it is not one file per rank, name those that are with files=GLOB in HDF5_DRIVER_CONFIG"

/* The same where the ranks have not come together for any file yet: the likeliest cause first. */
#define RSET_ADVICE_FIRST                                                                          \
    "; either the driver is not in use there (give HDF5_DRIVER to all ranks, as mpiexec -x "       \
    "does), "                                                                                      \
    "or those ranks have no such file: then name those that are not one per rank with files=GLOB " \
    "in HDF5_DRIVER_CONFIG"

/* The same of rank 0, which has not answered. */
#define RSET_ADVICE_SILENT                                                                         \
    "; either the driver is not in use there (give HDF5_DRIVER to all ranks, as mpiexec -x "       \
    "does), or this rank is late and rank 0 has gone on, or rank 0 has no such file: then name "   \
    "those that are not one per rank with files=GLOB in HDF5_DRIVER_CONFIG"

/* What all have agreed on when they met. */
typedef struct rset_agreed {
    uint64_t most, nonce; /* newest generation of any rank; a random number */
    bool     reads;       /* to open: no rank opens its file to change it */
    bool     alike; /* all files are whole by their sizes, of one generation (RSET_ALL_ALIKE) */
    bool
        fallback; /* and all want an older generation where the newest cannot be had, or verified */
    bool only_some; /* have come, and only some have such a file, as was known before */
} rset_agreed;

/* One of the files that are closed, or committed, together, and what the ranks have agreed on about it. */
typedef struct rset_ending {
    rset_session    *session;
    rset_proposal    p; /* what it was proposed as, and with what answer */
    rset_agreed      a;
    bool             met;       /* all have come to it */
    bool             complete;  /* all ranks' files are what their programs wrote, on disk */
    bool             put_aside; /* what was protected before could not be had, and is kept aside */
    rset_old_copies *copies;    /* borrowed; NULL: no rank has to ask for any */
} rset_ending;

/* What this rank proposes to do with its file. Local. */
rset_proposal rset_session_propose(const rset_session *session, rset_rendezvous_op op);

/* Proposes *p; fills a->nonce, or a->known. RSET_PEER when the others do not propose the same: the message ends in advice, and
 * p->told says whether somebody has said it. Collective, as rset_rendezvous_meet. */
rset_status rset_session_meet(rset_session *session, rset_proposal *p, rset_agreed *a,
                              rset_err *err);

/* The same answer as before, of an end that is known (session->ended). Local. */
rset_status rset_session_recall(const rset_session *session, rset_proposal *p, rset_agreed *a,
                                rset_err *err);

/* Was damage found in the redundancy of the file since it was opened (scrub.h)? Local. */
bool rset_session_is_distrusted(const rset_session *session);

/* What protecting the files of all ranks that have met takes, under the next generation; *stamp is filled, and borrowed by *out.
 * out->before: with required=yes, some file has no room in a set. Collective. */
rset_status rset_session_protection(rset_session *session, const rset_agreed *a,
                                    rset_stamp_text *stamp, rset_protect_args *out, rset_err *err);
/* What the next commit of the files of all ranks that have met is called. */
uint64_t rset_session_next_generation(const rset_session *session, const rset_agreed *a);
/* They have been. Local. */
void rset_session_note_protected(rset_session *session, const rset_desc *desc);

/* Encodes the files of all ranks that have met, n of each, in one commit. `a`: what all have agreed on of all of them. `before`:
 * this rank's failure so far, with its message in *err. Collective. */
rset_status rset_sessions_encode(rset_ending *of, int n, const rset_agreed *a, rset_status before,
                                 rset_err *err);

/* ---- session_base.c ---- */

/* What the engine is told where there are no others. The session, `evidence` and `search`, which is filled, are to stay. Local. */
rset_serial_args rset_session_serial_args(const rset_session *session, rset_evidence *evidence,
                                          rset_search_list *search);

/* ---- session_parallel.c ---- */

/* First use with MPI: meets the ranks whose file is protected or missing, and restores what is
 * lost. Without them (they do not come), falls back to what this rank can see by itself. */
rset_status rset_session_resolve_parallel(rset_session *session, rset_status own,
                                          const rset_lower *lower, rset_err *err);

/* ---- session_whole.c: files of which nothing has to be recovered ---- */

/* How much of it is verified at once. Alone there is nothing in the redundancy that could be left for later; what is to become the newest
 * is verified in any case. Pure. */
rset_content rset_session_content_wanted(const rset_session *session, bool reads);

/* With verify=read: starts verifying each block when it is first read. RSET_NOMEM. Local. */
rset_status rset_session_verify_when_read(rset_session *session, rset_err *err);

/* The program has its data; its redundancy is verified while it goes on, or need not be. Local. */
void rset_session_verify_behind(rset_session *session, const rset_outcome *outcome);

/* Is it whole, by what is known before anything of it is read? `own`: this rank's failure so far. Local. */
bool rset_session_seems_whole(const rset_session *session, rset_status own);

/* All others do something else now, and all of this file is as it was protected: it is opened as if they had come, and closed with them.
 * They open theirs only if it is of the same generation. False: it is not. Local. */
bool rset_session_opens_by_itself(rset_session *session);

/* Says with the proposal whether this rank's file is whole, and of which generation, as far as that can be told at once: a small file
 * is read for it. `mine`: this rank's failure so far. Local. */
void rset_session_say_whole(rset_session *session, const rset_err *mine, rset_proposal *p);
/* What all say, by the merged proposal. The same on all ranks. Pure. */
typedef enum rset_session_all {
    RSET_ALL_DIFFER, /* what counts has to be found out */
    RSET_ALL_ALIKE, /* they are whole by their sizes, of one generation; the content has to be verified */
    RSET_ALL_WHOLE /* they are whole, of one generation, and as much was verified as all want */
} rset_session_all;
rset_session_all rset_session_what_all_say(const rset_proposal *p);
/* It is opened as it is; so much of its content was verified. Local. */
void rset_session_take_whole(rset_session *session, rset_content content);

/* ---- session_root.c: files of one rank ---- */

/* What an open of such a file by all ranks has done, or found. */
typedef struct rset_did_root {
    bool          acted;    /* not all was in order, on some rank */
    bool          replaced; /* this rank's file was copied from another one */
    rset_identity verified; /* as in rset_replica_outcome */
    bool gone; /* with RSET_LOST: it is whole nowhere, so an older one may take its place */
} rset_did_root;

/* All ranks have come to open it: whoever has not the newest one gets it; where an older one is opened instead, that. `before`:
 * this rank's failure so far, with its message in *err. Collective. */
rset_status rset_session_recover_root(rset_session *session, rset_status before, rset_did_root *did,
                                      rset_err *err);

/* The older one, `kept`, that all ranks have recovered becomes the newest. The session is that of the file itself. Collective. */
rset_status rset_session_restore_root(rset_session *session, const rset_agreed *a,
                                      const rset_local *kept, rset_status before, rset_err *err);

/* The use of a file of one rank begins: nobody is asked about it any more. `st` and *err are what came of the first use;
 * others who have not come may have replicas, and the message then says so. Local. */
rset_status rset_session_end_root(rset_session *session, rset_status st, rset_err *err);

/* ---- session_fallback.c ---- */

/* The files were refused, with *err, on all ranks: the session becomes that of the next older generation, for another try. Not
 * RSET_OK: there is none, or it is not wanted: *err says why the newest cannot be had, and what else could. Collective where
 * there are others. */
rset_status rset_session_fall_back(rset_session *session, rset_err *err);

/* There is none: the session is that of the newest again. RSET_NOMEM, RSET_IO. Local. */
rset_status rset_session_rise_again(rset_session *session, rset_err *err);

/* Some rank is about to change its file, and all have recovered an older generation instead: that becomes the newest, and what was
 * newer is put aside. The session is that of the file again. Collective. */
rset_status rset_session_restore(rset_session *session, const rset_agreed *a, rset_err *err);

/* Which was opened, and why: for the user. Local. */
void rset_session_say_older(rset_session *session);

/* ---- session_commit.c ---- */

/* Protects the files of all ranks, if all are complete; `lower_ok`: this rank's is, on disk. Of each of the n endings the session is
 * given, and the rest is filled. Collective. */
rset_status rset_sessions_protect_complete(rset_ending *of, int n, bool lower_ok, rset_err *err);

/* Which commit protects the file now? Where that cannot be seen it counts as protected, and is looked for again before the next
 * change. Local. */
void rset_session_look_again(rset_session *session);

/* What is told of a commit that came to *own: RSET_OK, perhaps with a warning, or an error. */
rset_status rset_session_tell(const rset_ending *e, rset_commit_by by, const rset_err *own,
                              char warning_out[RSET_ERR_TEXT], rset_err *err);

/* *why in words that nobody has to look up: *err. */
void rset_session_say_not_protected(const rset_ending *e, const rset_err *why, rset_err *err);

/* ---- session_protect.c ---- */

/* Closes n files of each rank, in one order on all, with or without MPI: meets the other ranks, and protects all of them in one
 * commit if anyone's file was changed. */
rset_status rset_sessions_protect(rset_ending *of, int n, rset_err *err);

#endif
