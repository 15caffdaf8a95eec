/* beside.h: a file, by its path alone: where it is, and what its directory says of it. For calls that ask nobody else. No HDF5 and
 * no MPI here. */
#ifndef RSET_BESIDE_H
#define RSET_BESIDE_H

#include "config.h"
#include "recover/recover.h"

typedef struct rset_beside {
    char         *path, *dir_path, *base, *prefix; /* prefix of redundancy files: base + "." */
    const char   *paths[1], *names[1];             /* `path` and `base` */
    rset_local    local; /* points to the rest; without a directory where that is missing */
    rset_evidence evidence;
} rset_beside;

/* The file at `path` (absolute), which need not be there, nor its directory. *out, which must stay where it is, is to be freed in
 * any case. RSET_IO, RSET_NOMEM. Local; writes nothing. */
rset_status rset_beside_look(const char *path, rset_beside *out, rset_err *err);

/* The same in two steps, and what comes after them is a survey: what it is called, and its directory. */
rset_status rset_beside_name(const char *path, rset_beside *out, rset_err *err);
rset_status rset_beside_open(rset_beside *b, rset_err *err);
void        rset_beside_free(rset_beside *b);

/* Where to look besides: search=DIR:DIR as a list, which ends with NULL. Local. */
typedef struct rset_search_list {
    char        text[RSET_CONFIG_TEXT];
    const char *dirs[RSET_SEARCH_MAX + 1];
} rset_search_list;
void rset_beside_search(const rset_config *config, rset_search_list *out);

#endif
