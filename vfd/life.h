/* life.h: what is known of one open file; shared by lifecycle.c (the story), life_create.c (where it
 * begins), life_together.c (with the other ranks) and life_alone.c (without). */
#ifndef RSET_LIFE_H
#define RSET_LIFE_H

#include "lifecycle.h"
#include "member/beside.h"
#include "member/journal.h"

/* Changes of at most so many bytes are worth a look whether they were taken back. */
enum { RSET_SMALL_CHANGE = 4096 };

struct rset_life {
    rset_config    config;
    pid_t          process; /* that opened it */
    rset_open_mode mode;
    rset_found     found;
    bool           swmr;
    char         *path, *dir_path, *base, *prefix; /* prefix of redundancy files: base + "." (D2) */
    rset_dir     *dir;                             /* NULL while the directory is missing */
    const char   *names[1], *paths[1];
    rset_local    local;
    rset_evidence evidence;
    rset_err      begun;    /* what failed when it was opened, to be told to all at the first use */
    bool          resolved; /* the first use has been */
    rset_err      verdict;  /* and this is what came of it */
    bool          met;      /* with all other ranks, all opening for update */
    bool          sound; /* content and redundancy of all ranks were verified when it was opened */
    bool          changed; /* or created: the content is not what was protected last */
    uint64_t      changed_bytes;
    bool          others_have; /* when not all came: one that did has such a file, protected */
    bool vain;       /* they were waited for as long as that may be, and this was the first time */
    bool together;   /* all have come to close it */
    bool incomplete; /* when all closed: some rank's file is, this one or another */
    rset_journal *journal;     /* of a protected file that changes in place */
    char         *beside;      /* name of a new file that is written beside the old one, in `dir` */
    char         *beside_path; /* the same with the directory */
    bool          known;       /* before: not all ranks have such a file */
    bool          said_before; /* that it cannot be protected, or another rank says it */
    rset_err    came; /* not RSET_OK: what came of rset_life_come_together, not to be tried again */
    bool        came_told;
    bool        behind;   /* its end is left to the background */
    struct stat closed;   /* then: the file as it was when the program closed it */
    bool        team_met; /* it was seen that all ranks of the communicator have met */
    void       *comm;     /* where config.comm points to when the life is another thread's; owned */
    unsigned char *verified; /* one bit per block of the file that was verified; NULL: all are */
    char           note[RSET_ERR_TEXT]; /* to be said at close, once */
};

/* What the disk says now, instead of what it said before. Local. */
rset_status rset_life_survey(rset_life *life, rset_err *err);

/* life_create.c: before the lower driver creates the file: where that shall be, what is in the way, and what has to be
 * kept or said first. Local. */
rset_status rset_life_begin_creation(rset_life *life, rset_err *err);

/* Removes the new file beside the old one, if there is one, and what stands in for it under its name. */
void rset_life_drop_beside(rset_life *life);
/* Only what stands in for it: an empty file. */
void rset_life_drop_placeholder(rset_life *life);

/* Removes what says that the file is half written, where it was not even created. */
void rset_life_drop_first(rset_life *life);

/* The user is told, when it closes, that there is no way back. */
void rset_life_no_way_back(rset_life *life, const rset_err *why);

/* First use with MPI: meets the ranks whose file is protected or missing, and brings back what is
 * lost. Without them (they do not come), falls back to what this rank can see alone. *replaced_out: and `lower`
 * was not asked to open what is there now. */
rset_status rset_life_resolve_together(rset_life *life, rset_status own, const rset_lower *lower,
                                       bool *replaced_out, rset_err *err);

/* Close with or without MPI: meets the other ranks and protects, if anyone's file was changed. */
rset_status rset_life_protect(rset_life *life, rset_err *err);

/* First use without MPI, or without the others: pieces within reach of this process. */
rset_status rset_life_resolve_alone(rset_life *life, bool *replaced_out, rset_err *err);

/* Starts verifying each block when it is first read (D7). */
rset_status rset_life_verify_later(rset_life *life, rset_err *err);

/* Opened so that nothing may be written, not even to bring it back? */
bool rset_life_frozen(const rset_life *life);

/* Is a missing file recorded by a redundancy file that this process can see? */
bool rset_life_recorded_nearby(const rset_life *life);

#endif
