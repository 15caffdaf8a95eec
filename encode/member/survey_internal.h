/* survey_internal.h: what survey.c and survey_redundancy.c share. Nobody else includes this. */
#ifndef RSET_SURVEY_INTERNAL_H
#define RSET_SURVEY_INTERNAL_H

#include "member.h"
#include "names/names.h"

/* One survey under way. */
typedef struct rset_survey_run {
    rset_dir   *dir;
    const char *prefix;
    uint64_t    ahead;     /* a generation whose prepared file counts as published, 0 for none */
    bool        prepared;  /* there is a redundancy file that is not published */
    int         published; /* redundancy files that are */
    bool        vanished;  /* what was just seen was gone when it was opened: somebody renames */
    uint64_t
        *journals; /* generations that undo journals lead back to, but those that are kept; owned */
    size_t njournals;
} rset_survey_run;

/* Notes that something which protects the file is there, and could not be read. */
void rset_survey_note_unread(rset_evidence *ev, const rset_err *own);

/* Reads the redundancy file, or the update of one, that has this name: `kind` and `parsed` say what for. Puts it into *ev if it counts
 * more than what is there, or if it is prepared only and newer, as the next one; s->vanished: it was gone. What cannot be read
 * counts as not there. Local. RSET_USAGE: a newer release has written it; RSET_IO: an update that was decided on cannot be read;
 * RSET_NOMEM. */
rset_status rset_survey_redundancy(rset_survey_run *s, const char *name, rset_name_kind kind,
                                   const rset_name *parsed, rset_evidence *ev, rset_err *err);

#endif
