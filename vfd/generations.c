/* generations.c: the generations that there are of one file, as applications ask for them: from what its directory says now. See
 * include/H5FDredset.h. */
#include "H5FDredset.h"
#include "beside.h"
#include "call.h"
#include "fapl.h"
#include "path.h"
#include "recover/recover.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The members that the first version of the struct has; what comes later is left out where there is no room. */
enum { FIRST = offsetof(H5FD_redset_generation_t, why) + H5FD_REDSET_TEXT_SIZE };

static void
fill(const rset_own_generation *g, size_t size, char *to)
{
    const char              *label = g->stamp.label != NULL ? g->stamp.label : "";
    H5FD_redset_generation_t one = {.generation = g->generation,
                                    .commits = rset_generation_commits(g->generation),
                                    .time = g->stamp.time,
                                    .scheme = -1,
                                    .file_size = g->size,
                                    .bytes = g->bytes,
                                    .is_newest = g->newest,
                                    .is_here = g->why[0] == '\0'};

    if (g->recorded) {
        one.scheme = rset_fapl_scheme_number(g->desc.scheme);
        one.parity = g->desc.parity;
        one.ranks = g->desc.ranks;
    }
    snprintf(one.label, sizeof one.label, "%s", label);
    snprintf(one.why, sizeof one.why, "%s", g->why);
    one.size = size < sizeof one ? size : sizeof one;
    memcpy(to, &one, one.size);
}

static rset_status
check(const char *path, const H5FD_redset_generation_t *list, const size_t *n, rset_err *err)
{
    if (path == NULL || path[0] == '\0')
        return rset_fail(err, RSET_USAGE, "H5FDredset_generations: no file is named");
    if (n == NULL || (*n > 0 && list == NULL))
        return rset_fail(err, RSET_USAGE, "%s: H5FDredset_generations: there is no %s", path,
                         n == NULL ? "place for how many there are" : "list");
    if (*n > 0 && list[0].size < FIRST)
        return rset_fail(
            err, RSET_USAGE,
            "%s: H5FDredset_generations: the size of the struct is %zu, at least %d is "
            "expected; set that of the first to sizeof(H5FD_redset_generation_t) first",
            path, list[0].size, (int)FIRST);
    return RSET_OK;
}

/* A program that was compiled with another version of the struct has a list of those. */
static rset_status
list_generations(const char *path, H5FD_redset_generation_t *list, size_t *n, rset_err *err)
{
    const size_t         room = *n, size = room > 0 ? list[0].size : 0;
    rset_own_generations all = {0};
    rset_beside          at;
    rset_status          st = rset_beside_look(path, &at, err);

    if (st == RSET_OK && at.local.dir != NULL)
        st = rset_own_generations_list(&at.local, &at.evidence, &all, err);
    for (size_t i = 0; st == RSET_OK && i < all.n && i < room; i++)
        fill(&all.at[i], size, (char *)list + i * size);
    if (st == RSET_OK)
        *n = all.n;
    rset_own_generations_free(&all);
    rset_beside_free(&at);
    return st;
}

static rset_status
answer(const char *path, H5FD_redset_generation_t *list, size_t *n, rset_err *err)
{
    char       *absolute;
    rset_status st = check(path, list, n, err);

    if (st == RSET_OK)
        st = rset_path_absolute(path, &absolute, err);
    if (st != RSET_OK)
        return st;
    st = list_generations(absolute, list, n, err);
    free(absolute);
    return st;
}

herr_t
H5FDredset_generations(const char *path, H5FD_redset_generation_t *list, size_t *n)
{
    rset_h5err_scope scope;
    rset_err         err = RSET_ERR_NONE;
    rset_status      st;

    st = rset_call_begin(&scope, &err);
    if (st == RSET_OK)
        st = answer(path, list, n, &err);
    RSET_H5ERR_PUSH(H5E_VFL, H5E_READERROR, &err);
    return rset_call_end(&scope, st != RSET_OK);
}
