/* survey_internal.h: what survey.c (what the files say) and survey_names.c (which they are) share. Nobody else
 * includes this. */
#ifndef RSET_SURVEY_INTERNAL_H
#define RSET_SURVEY_INTERNAL_H

#include "member.h"

typedef enum {
    NAME_DESC,
    NAME_PLAIN,
    NAME_VOID,
    NAME_NEW,
    NAME_FIX,
    NAME_DELTA,
    NAME_REDO,
    NAME_BESIDE,
    NAME_WAITING,
    NAME_BACK, /* the way back to old content */
    NAME_OTHER
} name_kind;

/* What kind of file of ours is `name`, given our prefix? `parsed` is filled unless it is NAME_OTHER or lies
 * beside a data file. */
name_kind rset_survey_classify(const char *name, const char *prefix, rset_name *parsed);

/* The names of ours of one prefix. */
typedef struct rset_names {
    const char *prefix;
    char      **at;
    size_t      n, room;
    bool        nomem;
} rset_names;

rset_status rset_survey_names(rset_dir *dir, const char *prefix, rset_names *out, rset_err *err);
void        rset_survey_names_free(rset_names *list);

#endif
