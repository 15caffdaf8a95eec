/* recover_internal.h: what the steps of rset_recover share:
 *   recover.c   the door               stand_in.c  the ranks that wrote the files are not those that have come
 *   apart.c     who opens which        openings.c  which names all open, and what they see of these
 *   rounds.c    the order of steps     report.c    what each rank has
 *   hosts.c     who hosts which member restore.c   what the sets can have, and bringing it back
 *   leftovers.c the same, of what is   renamed.c   files that have other names than what protects them
 *               left over
 * What becomes of the files is decided in decide.c. Nobody else includes this. */
#ifndef RSET_RECOVER_INTERNAL_H
#define RSET_RECOVER_INTERNAL_H

#include "classify.h"
#include "move/move.h"
#include "recover.h"
#include "set/rebuild.h"

enum { RSET_MOVES = 2 }; /* a look for missing files before, and one after others were rebuilt */

/* A rebuild, as far as it concerns one rank, or summed up over several. Zeroed: nothing has to be rebuilt. */
typedef struct rset_work {
    uint64_t bytes, ranks;
    int64_t  first; /* the lowest of them, plus 1 */
} rset_work;

/* What ranks know of the division into sets, added up. */
typedef struct rset_division {
    uint64_t sets;  /* the most that a header says there are */
    uint64_t known; /* sets of which a place is known */
    uint64_t seen;  /* ranks that have a set */
} rset_division;

typedef struct rset_recovery {
    const rset_recover_args *args;
    rset_err                *err;
    bool hosted; /* the ranks are those that wrote the files: nobody stands in for them once more */
    rset_outcome *out;
    /* the generations, and what all say */
    rset_census   census;
    rset_standing standing;
    rset_policy   policy;
    rset_content  content;    /* the most that any rank wants verified */
    bool          one_dir;    /* all ranks look into one directory, and see the same */
    bool          reported;   /* what all report came with the census */
    bool          differ;     /* it matters which files the ranks open: readers have said so */
    bool          unread;     /* redundancy of this rank was taken for good by its size */
    bool          forwarded;  /* the prepared generation counts, since all have it */
    bool          no_forward; /* that was tried, and it cannot be had */
    bool          closely;    /* what is there is not taken for good any more */
    int           busy;       /* how often another process has repaired these files meanwhile */
    bool          acts;       /* in this round something was changed */
    bool          begun; /* all have their files, and were to use them: what fails then is final */
    bool          pressed;     /* on some rank there was no room beside what had to be replaced */
    bool          cramped;     /* on this one */
    bool          unprotected; /* of ranks that read apart: nobody has ever protected its file */
    bool          behind;      /* another rank knows of a newer generation of this rank's file */
    rset_report   mine;
    rset_verified verified; /* this rank's files, for that report */
    rset_summary  all;
    rset_decision decision;
    /* what is looked at: as the disk says, or as it will once this rank has finished its commit */
    rset_evidence  ahead;
    char          *ahead_shadow;
    rset_local     local;
    rset_evidence *evidence;
    char        *
        renamed_from; /* prefix of the name that this rank's file had; the evidence is what is there under it. NULL: it has its name */
    bool       adopted; /* what protects files that were renamed got their names, on some rank */
    rset_move *moves[RSET_MOVES]; /* files that were missing were brought here, on some rank */
    int        nmoves;
    rset_move_record heard; /* what others record of this rank's file, which was missing */
    /* which rank hosts which member */
    bool          by_numbers;  /* names were changed, but for the numbers in them */
    bool          hosts_known; /* it was found out */
    rset_comm     set;
    bool          has_set;
    int           left; /* with it: infos of left neighbours that its headers have, where members lack theirs and all know that; else 0 or less */
    rset_division division;
    bool          was_left_over; /* without a set, as no set had room for it (layout.h) */
    /* what the sets can have */
    bool          optimistic;
    rset_coverage coverage;
    rset_work     own_work, work; /* of this rank, and of all */
    rset_repair   rep;
} rset_recovery;

/* ---- stand_in.c ---- */

/* Each generation that the files asked for were last protected in is recovered as by the ranks that wrote it: the ranks that
 * have come host those whose files, or records of them, they can see; one whose file is lost is hosted by the rank that opens
 * its name. Then each rank's own file stands to its own generation. RSET_LOST: one of these files cannot be had, or nobody
 * sees what one of the ranks had; what could be restored was. Collective. */
rset_status rset_recovery_stand_in(rset_recovery *r);

/* ---- apart.c ---- */

/* Who opens which files is found out: r->policy.apart, the same on all, and r->behind. Generations are chosen anew. Collective.
 * RSET_NOMEM, RSET_IO, RSET_PEER. */
rset_status rset_recovery_ask(rset_recovery *r);

/* ---- rounds.c ---- */

/* A recovery of args->local, of which nothing is known yet; and its end: *out is complete, and what it holds is freed. The
 * status that there is to return. Local. */
void        rset_recovery_begin(rset_recovery *r, const rset_recover_args *args, rset_outcome *out,
                                rset_err *err);
rset_status rset_recovery_end(rset_recovery *r, rset_status st);

/* Returns the refusal that the table has decided on as an error: RSET_BUSY or RSET_LOST, with the reason. Local; collective where
 * r->coverage is RSET_COVERAGE_NOT. */
rset_status rset_recovery_refuse(rset_recovery *r);

/* From the census to the end: all files are as they are to be opened, or RSET_LOST and so on, as rset_recover; or the
 * verdict is STAND_IN, and nothing was done. Collective, with this rank's failure so far. */
rset_status rset_recovery_go(rset_recovery *r, rset_status before);

/* `st` of what was tried, the same on all ranks. What was found amiss is no finding where another process works on the files: then all
 * look again, some times (*again_out), before that is said: RSET_BUSY. Nor is it tried again where the table says that they are in use.
 * Collective. */
rset_status rset_recovery_doubt(rset_recovery *r, rset_status st, bool *again_out);

/* What the table says of what is known now. Local. */
void rset_recovery_decide(rset_recovery *r);

/* All have prepared a generation: it counts from now on; or it was tried, and cannot be had. Nothing is changed. Local. */
void rset_recovery_change_generation(rset_recovery *r, bool forward);

/* ---- renamed.c ---- */

/* Where this rank's file has another name than what protects it, the evidence becomes that of the old name. Local. */
rset_status rset_recovery_recognise(rset_recovery *r);

/* What protects it there gets its name, on all ranks where that is so. Local. */
rset_status rset_recovery_adopt(rset_recovery *r);

/* How the names of files that are recorded differ from those that the records have: of one rank, or merged. Sent as it is. */
typedef struct rset_name_changes {
    uint64_t kept, numbered, other;                    /* not; but for numbers; in any other way */
    uint64_t least_old, most_old, least_new, most_new; /* kinds of those that are `numbered` */
} rset_name_changes;
rset_name_changes rset_recovery_own_change(const rset_local *local, const rset_evidence *ev);
void rset_recovery_merge_changes(rset_name_changes *into, const rset_name_changes *other);

/* By what a file's name is compared with recorded ones. All that have records of their files agree on how names were changed: all
 * or none, with the numbers in them as they were: in that case only numbers count. The census has found that out; ranks that have to
 * finish a commit look at what they will have then. Collective, before any name is compared, with this rank's failure so far; nobody
 * waits for others where no commit has to be finished. */
void        rset_recovery_take_changes(rset_recovery *r, const rset_name_changes *all);
rset_status rset_recovery_agree_on_names(rset_recovery *r, rset_status own);
uint64_t    rset_recovery_name_hash(const rset_recovery *r, const char *base);

/* ---- report.c ---- */

/* Which generations there are; and mostly what all report with it, so that rset_recovery_report has nothing left to do. Collective over
 * the world, with this rank's failure so far. */
rset_status rset_recovery_take_census(rset_recovery *r, rset_status own);

/* False if the ranks that have come are as many as wrote the generation that counts, and that counts for all. The same on all. Local. */
bool rset_recovery_is_of_others(const rset_recovery *r);

/* Takes the generations to stand to out of the census: the newest published one, and what is prepared. Local. */
void rset_recovery_choose(rset_recovery *r);

/* Looks at this rank's files by size - small ones by content - and sums up what all say in r->all. Collective. */
rset_status rset_recovery_report(rset_recovery *r);

/* Ranks that have not verified their content do, and all sum up again. Collective. */
rset_status rset_recovery_verify(rset_recovery *r);

/* Files that are missing, and lie where other ranks run now, are brought here (move/move.h); then the generations are looked at
 * again. At most RSET_MOVES times in a recovery, which ends r->moves. Collective. */
rset_status rset_recovery_search(rset_recovery *r);

/* The reports once more, as they are now, and the worst coverage. Collective, with this rank's failure so far. */
rset_status rset_recovery_sum_up(rset_recovery *r, rset_status own);

/* ---- hosts.c ---- */

/* Finds out which rank hosts which member, and makes r->set of this rank's set. Ranks of whose set nothing is
 * known any more have no set (r->has_set false). Collective, with this rank's failure so far. */
rset_status rset_recovery_find_hosts(rset_recovery *r, rset_status own);
void        rset_recovery_forget_hosts(rset_recovery *r);

/* ---- leftovers.c ---- */

/* May the file that a rank opens be that of the member? Not when it is protected itself, under another path: files of two steps
 * have one name in two directories, and none is to be overwritten with the other (P2). An old copy of the same file, in
 * a directory that comes back, records the same path. Pure. */
bool rset_recovery_may_be(const rset_holding *opened, const rset_holding *member);

/* Fits together what is left over (an rset_keeper; to->arg: the rset_recovery). Of what is said, who asks opens that file and hosts no
 * member; and of the rest `rank` -1 is a place that nobody recorded, else a member without host or without set. Each member that is of a
 * set then goes to the rank of that set's number, with its host in `by`. RSET_LOST, RSET_NOMEM. */
rset_status rset_recovery_fit(rset_answers *to, const rset_saying *said, size_t n);

/* ---- report.c: in the place of a census ---- */

/* All ranks have said that their files are alike: what counts is what this rank's evidence says, and all report on their content. Collective,
 * with this rank's failure so far. */
rset_status rset_recovery_take_alike(rset_recovery *r, rset_status own);

/* ---- restore.c ---- */

/* What of the generation can be had: r->coverage, and this rank's facts. Collective; changes nothing. */
rset_status rset_recovery_look(rset_recovery *r);

/* Finishes the commit where ranks have not. Collective. */
rset_status rset_recovery_finish(rset_recovery *r);

/* Rolls back and rebuilds. RSET_DAMAGED: it was taken for good too soon (r->optimistic), nothing was done. RSET_BUSY: another process
 * repairs some of the files, or has done so meanwhile; nothing of these was changed. Collective. */
rset_status rset_recovery_restore(rset_recovery *r);

/* Why it cannot be had, on all ranks. Collective. */
rset_status rset_recovery_why_not(rset_recovery *r);

/* What crashed runs left behind takes space, and would be looked at again at every open. Local. */
void rset_recovery_remove_orphans(rset_recovery *r);

#endif
