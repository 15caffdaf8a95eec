/* space.c: see space.h. */
#include "space.h"

#include "names/names.h"

#include <stdlib.h>

enum { BLOCK = 512 }; /* of st_blocks */

/* One that has no other name is never met again. */
static bool
is_new(rset_space *counted, const struct stat *sb, bool *new_out)
{
    struct rset_counted *grown;

    *new_out = true;
    if (sb->st_nlink < 2)
        return true;
    for (size_t i = 0; i < counted->n; i++)
        if (counted->at[i].dev == sb->st_dev && counted->at[i].ino == sb->st_ino) {
            *new_out = false;
            return true;
        }
    if (counted->n == counted->room) {
        grown = realloc(counted->at, (2 * counted->room + 8) * sizeof *grown);
        if (grown == NULL)
            return false;
        counted->at = grown;
        counted->room = 2 * counted->room + 8;
    }
    counted->at[counted->n++] = (struct rset_counted){sb->st_dev, sb->st_ino};
    return true;
}

rset_status
rset_space_add(rset_space *counted, rset_dir *dir, const char *name, uint64_t *bytes, rset_err *err)
{
    rset_err    own = RSET_ERR_NONE;
    struct stat sb;
    bool new = false;
    rset_status st = rset_dir_stat(dir, name, &sb, &own);

    if (st == RSET_ABSENT)
        return RSET_OK;
    if (st != RSET_OK)
        return rset_fail_as(err, &own);
    if (!is_new(counted, &sb, &new))
        return rset_fail(err, RSET_NOMEM, "%s/%s: no memory to count it", rset_dir_path(dir), name);
    if (new)
        *bytes += (uint64_t)sb.st_blocks * BLOCK;
    return RSET_OK;
}

static rset_status
add_beside(rset_space *counted, const rset_local *local, uint64_t *bytes, rset_err *err)
{
    rset_names  names;
    rset_name   parsed;
    uint64_t    generation;
    rset_status st = rset_names_find(local->dir, local->prefix, local->names[0], &names, err);

    for (size_t i = 0; st == RSET_OK && i < names.n; i++) {
        const rset_name_kind kind =
            rset_name_classify(names.at[i], local->prefix, &parsed, &generation);

        if (rset_name_role_of(kind) == RSET_ROLE_OWN)
            st = rset_space_add(counted, local->dir, names.at[i], bytes, err);
    }
    rset_names_free(&names);
    return st;
}

rset_status
rset_space_of(rset_space *counted, const rset_local *local, uint64_t *bytes_out, rset_err *err)
{
    char       *list = rset_join_names(local->prefix, RSET_NAME_NAMES);
    rset_status st = RSET_OK;

    *bytes_out = 0;
    if (list == NULL)
        return rset_fail(err, RSET_NOMEM, "%s: no memory to count it", rset_local_name(local));
    for (int i = 0; st == RSET_OK && i < local->nfiles; i++)
        if (rset_local_dir(local, i) != NULL)
            st = rset_space_add(counted, rset_local_dir(local, i), local->names[i], bytes_out, err);
    if (st == RSET_OK)
        st = add_beside(counted, local, bytes_out, err);
    if (st == RSET_OK)
        st = rset_space_add(counted, local->dir, list, bytes_out, err);
    free(list);
    return st;
}

void
rset_space_free(rset_space *counted)
{
    free(counted->at);
    *counted = (rset_space){0};
}
