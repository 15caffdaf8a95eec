/* classify.h: from what one rank's disk says to its report (decide.h). */
#ifndef RSET_CLASSIFY_H
#define RSET_CLASSIFY_H

#include "decide.h"
#include "member/member.h"

/* Generations as decide.h has them: that of files which were protected by a program that records none is this, and 0 is
 * none at all. */
enum { RSET_GENERATION_FOREIGN = 1 };
uint64_t rset_generation_code(const rset_evidence *ev); /* of its redundancy file */
uint64_t rset_generation_of_code(uint64_t code);

/* What this rank has, for the census. */
rset_census rset_take_census(const rset_evidence *ev);

/* What is known of the files that a report is about. */
typedef struct rset_standing {
    uint64_t counts;   /* code of the generation that counts, 0: none is published */
    uint64_t prepared; /* of the newest prepared one, 0: none */
} rset_standing;

/* Takes the generations to stand to out of the census, and by how many ranks they were written into policy->..._ranks: the
 * newest published one, and unless `no_forward` what is prepared. Pure. */
void rset_stand(const rset_census *census, bool no_forward, rset_standing *standing_out,
                rset_policy *policy);
/* What is prepared counts as published from now on. Pure. */
void rset_stand_forward(rset_standing *standing, rset_policy *policy);

/* What evidence alone does not say. */
typedef struct rset_looked {
    bool     there;    /* the data file is there, and is the file itself */
    bool     gone;     /* rset_evidence_gone */
    uint64_t size;     /* its size */
    int      rank;     /* this rank */
    bool     readonly; /* nothing may be written */
    bool     renamed;  /* the evidence is that of another name that the file had */
} rset_looked;

/* How the rank stands to these generations. Whether content is as recorded is not known yet: RSET_FACT_UNREAD. Pure. */
rset_report rset_classify(const rset_evidence *ev, const rset_standing *standing,
                          const rset_looked *looked);

/* The same of the files of `local`: looks whether they are there. looked->rank and ->readonly are given. RSET_IO: that cannot
 * be told; *report_out is filled in even so. Local. */
rset_status rset_classify_look(const rset_local *local, const rset_evidence *ev,
                               const rset_standing *standing, rset_looked *looked,
                               rset_report *report_out, rset_err *err);

/* Adds to the report that the data is not as recorded: damaged, or where `altered` says so, changed by another program. Pure. */
void rset_classify_altered(const rset_altered *altered, rset_report *report);

/* Compares data and redundancy of a file that is CURRENT with what its own redundancy file records, and adds what is not
 * as it should be to report->facts. RSET_BUSY: the data file was replaced meanwhile, so what was read says nothing of what has
 * its name. *found_out, which may be of before: what was found; to be freed. Local. */
rset_status rset_classify_verify(const rset_local *local, const rset_evidence *ev,
                                 rset_content content, rset_report *report,
                                 rset_verified *found_out, rset_err *err);

#endif
