/* decide.h: what becomes of the files that ranks open together. One pure function over merged reports; the driver with
 * MPI, the driver in one process, and h5redset all ask it, and nobody else decides.
 *
 *   each rank     its disk  -> rset_report      (classify.h: a state, a few facts)
 *   all ranks     reports   -> rset_summary     (rset_merge: associative and commutative, for any number of ranks)
 *   everybody     summary, coverage, policy -> rset_decision   (rset_decide: a table, docs/recovery.md)
 *   each rank     decision, own report -> rset_action          (rset_act)
 *
 * Two generations matter: the one that counts (rset_census_choose: the newest that any rank has published), and a
 * newer one that ranks may have prepared. A report says how a rank stands to these two.
 *
 * Pure and local, all of it. */
#ifndef RSET_DECIDE_H
#define RSET_DECIDE_H

#include "common/label.h"
#include "member/member.h"
#include "set/coverage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- which generation counts ---- */

enum { RSET_CENSUS_MAX = 4 };

/* The newest generations that ranks have, published or prepared, newest first. What does not fit is older. */
typedef struct rset_candidate {
    uint64_t generation;          /* 0: no more */
    uint64_t ranks;               /* by how many it was written */
    uint64_t published, prepared; /* how many of those that came have it so */
} rset_candidate;

typedef struct rset_census {
    rset_candidate at[RSET_CENSUS_MAX];
} rset_census;

/* One rank has this generation, published or only prepared; 0: none, and nothing happens. `ranks` 0: it only knows that
 * it was published, which counts as soon as another rank has prepared it. */
void rset_census_note(rset_census *census, uint64_t generation, uint64_t ranks, bool published);
void rset_census_merge(rset_census *into, const rset_census *other);

/* The newest that is published; of several with one count of commits that which most ranks have. NULL: none is. */
const rset_candidate *rset_census_published(const rset_census *census);
/* The newest that is prepared and newer than what is published. NULL: none is. */
const rset_candidate *rset_census_prepared(const rset_census *census);

/* ---- one rank ---- */

/* What a rank's disk says of its file. Exactly one holds. */
typedef enum rset_state {
    RSET_STATE_NOTHING,    /* no data file, and no redundancy file of the generation that counts */
    RSET_STATE_UNKNOWN,    /* a data file; nothing in its directory records it */
    RSET_STATE_CURRENT,    /* a redundancy file of the generation that counts, no change since */
    RSET_STATE_COMMITTING, /* that generation is decided; this rank has not finished its commit */
    RSET_STATE_OPEN, /* a program died while it changed the file, or wrote it for the first time */
    RSET_STATE_CLOSED, /* a program changed and closed it, but it was not protected: see the label */
    RSET_STATE_OUTDATED, /* a redundancy file of another generation */
    RSET_STATES
} rset_state;

/* Has a program changed the file since the generation that counts? */
bool rset_state_has_changed(rset_state state);

/* What is true besides; any of these with any state. */
enum {
    RSET_FACT_SIGN = 1 << 0, /* there is a sign that the file was protected once */
    RSET_FACT_FIRST =
        1 << 1, /* it is being written for the first time, as far as this rank knows */
    RSET_FACT_MISSING = 1 << 2,    /* the data file is not there */
    RSET_FACT_DAMAGED = 1 << 3,    /* it is not as recorded, or not as it was when it was closed */
    RSET_FACT_BARE = 1 << 4,       /* redundancy or descriptor file lost, or not as recorded */
    RSET_FACT_UNVERIFIED = 1 << 5, /* nobody records what it should be */
    RSET_FACT_IN_PLACE = 1 << 6,   /* the user did without an undo journal (atomic=no, SWMR) */
    RSET_FACT_PREPARED = 1 << 7,   /* it has the newest prepared generation complete */
    RSET_FACT_NEWER = 1 << 8,      /* it belongs to a generation newer than any that is published */
    RSET_FACT_BUSY = 1 << 9,       /* another process is changing it now */
    RSET_FACT_READONLY = 1 << 10,  /* nothing may be written */
    RSET_FACT_REWRITTEN =
        1 << 11, /* the run that protected it has changed it since, without the driver */
    RSET_FACT_RENUMBERED =
        1
        << 12, /* another rank has written it: and nothing recorded tells the files apart by name */
    RSET_FACT_ORPHANS = 1 << 13, /* crashed runs left files beside it */
    RSET_FACT_PRISTINE =
        1 << 14, /* its content was verified: that of its own, or of the prepared generation */
    RSET_FACT_UNREAD = 1 << 15, /* whether its content is as recorded was not verified yet */
    RSET_FACT_RENAMED =
        1 << 16,               /* it was given another name, and what protects it has the old one */
    RSET_FACT_NAMED = 1 << 17, /* the files that it was protected with have different names */
    RSET_FACT_BEHIND = 1 << 18, /* another rank knows of a newer generation of this very file */
    RSET_FACT_PARTED = 1 << 19, /* not so the files that this generation is to be committed with */
    RSET_FACT_GONE =
        1
        << 20, /* none of its data files is there, under any name that it has while it is written */
    RSET_FACT_UNDER_WAY = 1 << 21, /* a process that lives is committing it */
    RSET_FACT_CHANGED = 1 << 22,   /* it is not as recorded, and another program wrote it since */
    RSET_FACT_LONGER = 1 << 23,    /* so it is, and all that was recorded is there: it only grew */
    RSET_FACT_KEEPS = 1 << 24,     /* the user wants what was changed so as it is (changed=keep) */
    RSET_FACT_REPLACED = 1 << 25,  /* new files were to take its place, maybe elsewhere */
    RSET_FACTS = 26,               /* how many */
    /* the data is not what was recorded */
    RSET_FACTS_LOSS = RSET_FACT_MISSING | RSET_FACT_DAMAGED | RSET_FACT_CHANGED
};

typedef struct rset_report {
    rset_state state;
    unsigned   facts;
    rset_label label; /* of a file that is CLOSED */
    uint64_t   mark;  /* generation that the data file itself names, 0: none */
    uint64_t   name;  /* hash of the data file's base name */
    uint64_t wrote; /* rank that wrote it, as its redundancy file says, plus 1; 0: there is none */
    uint64_t when;  /* of a file that is CHANGED: in seconds since 1970; 0: not known */
    bool     later; /* then: that is not before the time that was recorded */
    bool     ours;  /* then: this very run has protected it */
    int      rank;  /* whose report it is, for messages */
} rset_report;

/* ---- all ranks ---- */

enum { RSET_LABELS_MAX = 4 };

/* Sent as it is. All zero is the summary of no rank. */
typedef struct rset_summary {
    uint64_t ranks;              /* that have reported */
    uint64_t count[RSET_STATES]; /* how many are in each state */
    uint64_t facts;              /* that are true of any rank */
    uint64_t common;             /* that are true of all */
    uint64_t labels_lost;        /* there are more labels than fit: then none counts as complete */
    struct {
        rset_label label;
        uint64_t   count;              /* files that have it */
    } labels[RSET_LABELS_MAX];         /* ascending; of jobs of more than one rank */
    uint64_t least_mark, most_mark;    /* of those that there are */
    uint64_t least_name, most_name;    /* the same of names */
    uint64_t least_wrote, most_wrote;  /* the same of ranks that wrote the files */
    uint64_t least_when, most_when;    /* the same of when files were changed */
    uint64_t changed, longer, ours;    /* how many are CHANGED, and LONGER, and `ours` */
    int64_t  first_state[RSET_STATES]; /* lowest rank in that state, plus 1; 0: none */
    int64_t  first_fact[RSET_FACTS];   /* the same */
} rset_summary;

rset_summary rset_summarise(const rset_report *report); /* of one rank */
void         rset_merge(rset_summary *into, const rset_summary *other);

/* The lowest rank in one of these states (bits 1 << RSET_STATE_...), or of which one of these facts is true; -1: none. */
int rset_summary_first(const rset_summary *all, unsigned states, unsigned facts);

/* ---- the decision ---- */

typedef struct rset_policy {
    uint64_t
        published_ranks; /* by how many the generation that counts was written; 0: there is none */
    uint64_t prepared_ranks; /* the same of the newest prepared one */
    bool
        required; /* the user wants an error rather than files that may not be what was protected */
    bool searched; /* files that are missing were looked for where other ranks run */
    bool
         stood_in; /* the files asked for are not all those of one job, and were recovered as by the ranks that wrote them */
    bool reads;    /* no rank opens its file to change it */
    bool asked;    /* which files they open was found out, by their names */
    bool apart;    /* and they are not the files of one job, one for each rank */
    bool mixed;    /* and files of one step, by their names, are of different generations */
    bool restart;  /* and each rank opens one of these, and there are no others */
    bool
         fallback; /* the user wants an older generation rather than files that may not be what was protected, and there may be one */
    bool undelete; /* files that were deleted are wanted back, as far as what protects them goes */
    bool serial;   /* one process has looked at what is within its reach; others may have more */
} rset_policy;

typedef enum rset_verdict {
    RSET_VERDICT_SEARCH, /* not yet: files that are missing may lie where other ranks run */
    RSET_VERDICT_ASK,    /* not yet: which files the ranks open has to be found out first */
    RSET_VERDICT_STAND_IN, /* not yet: the ranks that wrote the files are others than those that have come */
    RSET_VERDICT_VERIFY, /* not yet: each rank has to verify its content first */
    RSET_VERDICT_LOOK,   /* not yet: coverage has to be found out first */
    RSET_VERDICT_ADOPT,  /* not yet: what protects renamed files has to get their names first */
    RSET_VERDICT_NEVER, /* nobody has any sign of protection, or all was deleted: nothing is done */
    RSET_VERDICT_KEEP,  /* files are opened as they are */
    RSET_VERDICT_RESTORE, /* all files become those of the generation that counts */
    RSET_VERDICT_FORWARD, /* the prepared generation counts as published, or one process finishes what was decided:
                           * decide again, with that */
    RSET_VERDICT_REFUSE /* nothing is changed, nothing is opened */
} rset_verdict;

typedef enum rset_protection {
    RSET_PROTECTION_NONE, /* until the files are next written and closed */
    RSET_PROTECTION_VALID,
    RSET_PROTECTION_REENCODE /* the data is right, its redundancy has to be computed again, now */
} rset_protection;

/* Why: a row of the table. rset_reason_text has the words. */
typedef enum rset_reason {
    RSET_REASON_BUSY,
    RSET_REASON_BUSY_AS_IS,
    RSET_REASON_MAKE_ROOM,
    RSET_REASON_MISPLACED,
    RSET_REASON_SEARCH,
    RSET_REASON_ASK,
    RSET_REASON_STAND_IN,
    RSET_REASON_BEHIND,
    RSET_REASON_NEVER,
    RSET_REASON_DELETED,
    RSET_REASON_IN_DOUBT,
    RSET_REASON_IN_DOUBT_NEITHER,
    RSET_REASON_SERIAL_FIRST,
    RSET_REASON_SERIAL_CLOSED,
    RSET_REASON_PREPARED_BY_ALL,
    RSET_REASON_READONLY_PREPARED,
    RSET_REASON_SERIAL_TORN,
    RSET_REASON_SERIAL_NO_RECORD,
    RSET_REASON_SERIAL_UNRECORDED,
    RSET_REASON_NO_RECORD,
    RSET_REASON_NO_RECORD_AS_IS,
    RSET_REASON_FIRST_CLOSED,
    RSET_REASON_FIRST_TORN,
    RSET_REASON_FIRST_LOST,
    RSET_REASON_FIRST_MIXED,
    RSET_REASON_FIRST_AS_IS,
    RSET_REASON_NEWER,
    RSET_REASON_OTHER_RANKS,
    RSET_REASON_OTHER_RANKS_AS_IS,
    RSET_REASON_READ_AS_IS,
    RSET_REASON_MIXED,
    RSET_REASON_MIXED_AS_IS,
    RSET_REASON_CLOSED,
    RSET_REASON_VERIFY,
    RSET_REASON_RENAMED_PARTLY,
    RSET_REASON_RENAMED_AS_IS,
    RSET_REASON_RENAMED,
    RSET_REASON_HEALTHY,
    RSET_REASON_SERIAL_COMMIT,
    RSET_REASON_LOOK,
    RSET_REASON_READONLY,
    RSET_REASON_READONLY_BARE,
    RSET_REASON_RESTORED,
    RSET_REASON_SERIAL_BARE,
    RSET_REASON_REENCODE,
    RSET_REASON_UNVERIFIED,
    RSET_REASON_UNVERIFIABLE,
    RSET_REASON_MIXTURE,
    RSET_REASON_REWRITTEN,
    RSET_REASON_CHANGED,
    RSET_REASON_CHANGED_KEPT,
    RSET_REASON_CHANGED_AS_IS,
    RSET_REASON_CHANGED_TOO,
    RSET_REASON_IN_PLACE_AS_IS,
    RSET_REASON_AHEAD,
    RSET_REASON_UNRECOVERABLE,
    RSET_REASONS
} rset_reason;

typedef struct rset_decision {
    rset_verdict    verdict;
    rset_protection protection; /* afterwards */
    rset_reason     reason;
} rset_decision;

rset_decision rset_decide(const rset_summary *all, rset_coverage worst, const rset_policy *policy);

/* Does another generation come to count by this decision: what is prepared, or, where that has come to count (`forwarded`) and cannot be had,
 * what was published before it? Then it has to be decided again, with that. Pure. */
bool rset_changes_generation(const rset_decision *decision, bool forwarded);

/* The condition UNASKED of the table: what comes first is that readers find out which files they open, unless files are to be
 * searched for. Pure. */
bool rset_has_to_ask(const rset_summary *all, const rset_policy *policy);

/* What a rank does about a decision. */
typedef enum rset_action {
    RSET_ACTION_NOTHING,
    RSET_ACTION_FINISH, /* its share of the decided commit */
    RSET_ACTION_UNDO, /* rolls its file back by the undo journal, rebuilds what that does not give */
    RSET_ACTION_REBUILD /* whatever of its data and redundancy is not as it should be */
} rset_action;

rset_action rset_act(const rset_decision *decision, const rset_report *report);

/* ---- words (decide_text.c) ---- */

/* "FILE: why, and what to do", in a buffer of `size` bytes; "" where there is nothing to say. `before`: the summary that
 * was decided on; `detail`: of what cannot be recovered, else NULL. */
void rset_reason_say(rset_reason reason, const rset_summary *before, const char *file,
                     const char *detail, char *buf, size_t size);

/* " on DATE", in UTC, of seconds since 1970; "" of 0. */
void rset_time_say(uint64_t seconds, char *buf, size_t size);

/* "was changed by another program on DATE", after what names a file; or "without this driver", where nobody knows whose program. */
void rset_changed_say(const rset_altered *altered, char *buf, size_t size);

/* Words the same of a file that was restored since, and where what it was changed to lies now: under `number`, as rset_changed_put gave it, of
 * the data file `name`. A sentence without its subject. Pure. */
void rset_put_aside_say(const rset_altered *altered, const char *name, uint64_t number, char *buf,
                        size_t size);

const char *rset_reason_name(rset_reason reason); /* as in docs/recovery.md */
const char *rset_state_name(rset_state state);
const char *rset_verdict_name(rset_verdict verdict);

#endif
