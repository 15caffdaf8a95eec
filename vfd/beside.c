/* beside.c: see beside.h. */
#include "beside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

rset_status
rset_beside_name(const char *path, rset_beside *b, rset_err *err)
{
    rset_status st;

    *b = (rset_beside){.path = strdup(path)};
    st = rset_path_split(path, &b->dir_path, &b->base, err);
    if (st == RSET_OK && (b->path == NULL || (b->prefix = rset_join_names(b->base, ".")) == NULL))
        st = rset_fail(err, RSET_NOMEM, "%s: no memory for its name", path);
    b->paths[0] = b->path;
    b->names[0] = b->base;
    b->local = (rset_local){.prefix = b->prefix, .nfiles = 1, .names = b->names, .paths = b->paths};
    return st;
}

rset_status
rset_beside_open(rset_beside *b, rset_err *err)
{
    rset_err          own = RSET_ERR_NONE;
    const rset_status st = rset_dir_open(b->dir_path, false, &b->local.dir, &own);

    return st == RSET_OK || st == RSET_ABSENT ? RSET_OK : rset_fail_as(err, &own);
}

rset_status
rset_beside_look(const char *path, rset_beside *b, rset_err *err)
{
    rset_status st = rset_beside_name(path, b, err);

    if (st == RSET_OK)
        st = rset_beside_open(b, err);
    return st == RSET_OK && b->local.dir != NULL ? rset_survey_local(&b->local, &b->evidence, err)
                                                 : st;
}

void
rset_beside_free(rset_beside *b)
{
    rset_evidence_free(&b->evidence);
    rset_dir_close(b->local.dir);
    free(b->path);
    free(b->dir_path);
    free(b->base);
    free(b->prefix);
    *b = (rset_beside){0};
}

void
rset_beside_search(const rset_config *config, rset_search_list *out)
{
    char *next = NULL;
    int   n = 0;

    snprintf(out->text, sizeof out->text, "%s", config->search);
    for (char *dir = strtok_r(out->text, ":", &next); dir != NULL; dir = strtok_r(NULL, ":", &next))
        out->dirs[n++] = dir;
    out->dirs[n] = NULL;
}
