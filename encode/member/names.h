/* names.h: what the files are called that lie next to a data file (FORMAT-extensions.md 3). The prefix is the data
 * file's name and a dot. Local. */
#ifndef RSET_NAMES_H
#define RSET_NAMES_H

#include "format/format.h"
#include "store/store.h"

/* Suffixes of our own temporary and marked files, after a redundancy file's name. */
#define RSET_SUFFIX_VOID  ".void" /* protection is void: the data file was opened for change (P3) */
#define RSET_SUFFIX_NEW   ".new"  /* written by an encode, prepared, not yet published */
#define RSET_SUFFIX_FIX   ".fix"  /* written by a rebuild, not yet published */
#define RSET_SUFFIX_DELTA ".delta" /* an update of the redundancy file, prepared */
#define RSET_SUFFIX_REDO  ".redo"  /* the same, published */

/* Beside a data file while it changes, after the prefix. None ends in a suffix above: a data file may be called
 * "state.3", and what lies beside it is not the descriptor of rank 3's "state". */
#define RSET_NAME_JOURNAL "redset.journal"       /* undo.h */
#define RSET_NAME_BEGUN   "redset.journal.begun" /* before it has its name */

typedef enum {
    RSET_NAME_DESC,
    RSET_NAME_PLAIN,
    RSET_NAME_VOID,
    RSET_NAME_NEW,
    RSET_NAME_FIX,
    RSET_NAME_DELTA,
    RSET_NAME_REDO,
    RSET_NAME_SHADOW,
    RSET_NAME_ASIDE,
    RSET_NAME_UNDO, /* the undo journal, under its name */
    RSET_NAME_HALF, /* the same before that */
    RSET_NAME_OTHER
} rset_name_kind;

/* What kind of file of ours is `name`, given our prefix? `parsed` is filled where it is a redundancy or descriptor file,
 * whatever its suffix (parsed->scheme NULL: a descriptor); *generation_out is that of a shadow file or one put aside. */
rset_name_kind rset_name_classify(const char *name, const char *prefix, rset_name *parsed,
                                  uint64_t *generation_out);

/* New strings; NULL without memory. */
char *rset_join_names(const char *first, const char *second);
char *rset_shadow_name(const char *prefix, uint64_t generation);
char *rset_aside_name(const char *prefix, uint64_t generation);
/* The name of a redundancy or descriptor file without a suffix of ours. */
char *rset_bare_name(const char *name);

/* The names of ours of one prefix. */
typedef struct rset_names {
    const char *prefix;
    char      **at;
    size_t      n, room;
    bool        nomem;
} rset_names;

rset_status rset_names_list(rset_dir *dir, const char *prefix, rset_names *out, rset_err *err);
void        rset_names_free(rset_names *list);

#endif
