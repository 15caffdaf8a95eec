/* where.h: is a file that is asked for in one directory the one that was protected in another? Names of different steps are equal
 * where each step has a directory. What is recorded of several ranks tells which parts of their directories are those of a
 * rank or its node, and may be others now; all the rest has to be the same, as it was recorded or as the file lies now. Pure. */
#ifndef RSET_WHERE_H
#define RSET_WHERE_H

#include "format/format.h"

/* Directories that agree in so many parts at the beginning and at the end. Sent as it is. */
typedef struct rset_where_form {
    uint64_t hash;              /* of these parts */
    int16_t  head, tail, parts; /* `parts`: in all; -1: any number */
    int16_t  unused;
} rset_where_form;

enum { RSET_WHERE_FORMS = 3 };

/* Zeroed: nothing is known. Sent as it is. */
typedef struct rset_where {
    int32_t         n, unused;
    rset_where_form form[RSET_WHERE_FORMS]; /* any of them will do */
} rset_where;

/* What a header says of the directory of the file of infos[k], where its own lies in the directory `dir` now (NULL: it is not
 * known where). Nothing, where no absolute path is recorded. */
rset_where rset_where_of(const rset_header *header, int k, const char *dir);

/* May it be the file that is asked for under `path`, in the directory `dir` (the same, as it was opened; or NULL)? */
bool rset_where_fits(const rset_where *where, const char *dir, const char *path);

#endif
