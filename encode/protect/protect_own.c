/* protect_own.c: what is protected is what this rank's process has written, and what is published is what it has made, not what
 * lies under the path a moment later. See protect_internal.h.
 *
 * Two jobs under one name keep out of each other's way by claims (names/claim.h). This is what notices that one has not, or that
 * a program writes without the driver. */
#include "protect_internal.h"
#include "store/identity.h"

#include <stdlib.h>

static bool
is_same_file(const struct stat *a, const struct stat *b)
{
    const rset_identity x = rset_identity_of(a), y = rset_identity_of(b);

    return rset_identity_same(&x, &y);
}

static bool
has_same_content(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static rset_status
of_another(const protect *p, const char *path, const char *what)
{
    return rset_fail(p->err, RSET_BUSY,
                     "%s: another process has %s it while it was closed and protected, so nothing "
                     "of it is protected; two jobs must not write the same files at once",
                     path, what);
}

/* A program that goes on with the file changes it itself: what it was is in its next journal. */
static rset_status
compare(const protect *p, int i, const struct stat *then, const struct stat *now)
{
    if (!is_same_file(then, now))
        return of_another(p, p->local.paths[i], "replaced");
    if (p->local.next == NULL && !has_same_content(then, now))
        return of_another(p, p->local.paths[i], "changed");
    return RSET_OK;
}

rset_status
rset_protect_see(protect *p)
{
    rset_status st = RSET_OK;

    p->seen = calloc((size_t)p->data.n + 1, sizeof *p->seen);
    if (p->seen == NULL)
        return rset_fail(p->err, RSET_NOMEM, "no memory to protect %s", p->local.prefix);
    for (int i = 0; st == RSET_OK && i < p->data.n; i++)
        st = rset_file_stat(p->data.files[i], &p->seen[i], p->err);
    if (st == RSET_OK && p->args->left != NULL && p->data.n > 0)
        st = compare(p, 0, p->args->left, &p->seen[0]);
    return st;
}

/* By name as well: what is published is what has the name. */
rset_status
rset_protect_see_again(protect *p)
{
    rset_status st = RSET_OK;

    for (int i = 0; st == RSET_OK && i < p->data.n; i++) {
        const char *name = i == 0 && p->local.shadow != NULL ? p->local.shadow : p->local.names[i];
        struct stat now;
        bool        has_name = false;

        st = rset_file_stat(p->data.files[i], &now, p->err);
        if (st == RSET_OK)
            st = compare(p, i, &p->seen[i], &now);
        if (st == RSET_OK)
            st = rset_file_has_name(rset_local_dir(&p->local, i), name, p->data.files[i], &has_name,
                                    p->err);
        if (st == RSET_OK && !has_name)
            st = of_another(p, p->local.paths[i], "renamed, removed or replaced");
    }
    return st;
}

rset_status
rset_protect_is_ours(protect *p, const char *name)
{
    struct stat now;
    bool        there = false;
    rset_status st = rset_dir_find_file(p->local.dir, name, &now, &there, p->err);

    if (st != RSET_OK || (there && is_same_file(&now, &p->made)))
        return st;
    return rset_fail(
        p->err, RSET_BUSY,
        "%s/%s: another process has replaced or removed it before it got its name; two "
        "jobs must not write the same files at once",
        rset_dir_path(p->local.dir), name);
}
