/* together.c: see together.h and, for what applications call, include/H5FDredset.h. */
#include "together.h"

#include "H5FDredset.h"
#include "background.h"
#include "call.h"
#include "comm/mpi/comm_mpi.h"
#include "fapl.h"
#include "lock.h"
#include "path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One that waits, in the place of its pattern. */
typedef struct waiting {
    rset_session *session; /* NULL: it is not closed yet */
    char         *path;
    int           guard; /* descriptor with the lock on the old file; -1: none */
    bool          lower_ok;
} waiting;

typedef struct group {
    struct group *next;
    char         *patterns; /* together=, and the directory; or NULL */
    char         *dir;
    char         *paths[RSET_TOGETHER_MAX]; /* of H5FDredset_group, or NULL */
    int           n;
    waiting       at[RSET_TOGETHER_MAX];
} group;

static group *groups; /* HDF5 calls drivers one at a time */

/* ---- which group ---- */

static char *
directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? strndup(path, (size_t)(slash - path)) : strdup("");
}

static group *
find_named(const char *path, int *place_out)
{
    for (group *g = groups; g != NULL; g = g->next)
        for (int i = 0; g->patterns == NULL && i < g->n; i++)
            if (strcmp(g->paths[i], path) == 0) {
                *place_out = i;
                return g;
            }
    return NULL;
}

/* NULL without memory. */
static group *
add(const char *patterns, char *dir, int n)
{
    group *g = calloc(1, sizeof *g);

    if (g == NULL || (patterns != NULL && (g->patterns = strdup(patterns)) == NULL)) {
        free(g);
        return NULL;
    }
    for (int i = 0; i < RSET_TOGETHER_MAX; i++)
        g->at[i].guard = -1;
    g->dir = dir;
    g->n = n;
    g->next = groups;
    groups = g;
    return g;
}

/* That of together=: the files in one directory. */
static group *
find_matching(const rset_config *config, const char *path, int *place_out)
{
    int    n = 0;
    char  *dir;
    group *g = groups;

    *place_out = rset_config_together(config, path, &n);
    if (*place_out < 0 || (dir = directory_of(path)) == NULL)
        return NULL;
    while (g != NULL && (g->patterns == NULL || strcmp(g->patterns, config->together) != 0 ||
                         strcmp(g->dir, dir) != 0))
        g = g->next;
    if (g == NULL && (g = add(config->together, dir, n)) != NULL)
        return g;
    free(dir);
    return g;
}

/* ---- the end of a group ---- */

static void
forget(waiting *w)
{
    if (w->guard >= 0) /* until now nobody else could change the old file */
        (void)close(w->guard);
    free(w->path);
    *w = (waiting){.guard = -1};
}

/* Protects what waits of the group. */
static rset_status
end_group(group *g, char warning_out[RSET_ERR_TEXT], rset_err *err)
{
    rset_session *sessions[RSET_TOGETHER_MAX];
    bool          lower_ok = true;
    int           n = 0;
    rset_status   st;

    for (int i = 0; i < g->n; i++)
        if (g->at[i].session != NULL) {
            sessions[n++] = g->at[i].session;
            lower_ok = lower_ok && g->at[i].lower_ok;
        }
    for (int i = 0; i < g->n; i++)
        g->at[i].session = NULL;
    rset_background_wait(NULL);
    st = rset_sessions_close(sessions, n, lower_ok, warning_out, err);
    for (int i = 0; i < g->n; i++)
        forget(&g->at[i]);
    return st;
}

/* All ranks do the same, and one says it. */
static void
say_missing(const group *g)
{
    char  text[RSET_ERR_TEXT], patterns[RSET_CONFIG_TEXT], *rest = NULL;
    char *pattern = NULL;
    int   first = 0;

    if (rset_mpi_world_rank() != 0)
        return;
    while (g->at[first].session == NULL)
        first++;
    snprintf(patterns, sizeof patterns, "%s", g->patterns != NULL ? g->patterns : "");
    for (int i = 0; i < g->n; i++) {
        pattern =
            g->patterns == NULL ? g->paths[i] : strtok_r(i == 0 ? patterns : NULL, ",", &rest);
        if (g->at[i].session == NULL)
            break;
    }
    snprintf(
        text, sizeof text,
        "%s: is protected without %s, which it is to be committed together with (together=): "
        "that was not closed before this one was used again, or MPI_Finalize was called; close "
        "all of them first",
        g->at[first].path, pattern != NULL ? pattern : "another file");
    rset_h5err_warn(text);
}

static rset_status
end_early(group *g, rset_err *err)
{
    char        warning[RSET_ERR_TEXT];
    rset_status st;

    say_missing(g);
    st = end_group(g, warning, err);
    if (warning[0] != '\0')
        rset_h5err_warn(warning);
    return st;
}

/* ---- what happens to files ---- */

static bool
keep(waiting *w, rset_session *session, const rset_together_closed *how)
{
    *w = (waiting){.path = strdup(how->path), .guard = -1, .lower_ok = how->lower_ok};
    if (w->path != NULL && rset_lock_keep(how->guard, &w->guard) &&
        rset_session_leave(session, rset_fapl_keep_comm(how->config->comm))) {
        w->session = session;
        return true;
    }
    forget(w);
    return false;
}

bool
rset_together_take(rset_session *session, const rset_together_closed *how, rset_status *st_out,
                   char warning_out[RSET_ERR_TEXT], rset_err *err)
{
    int    place = -1, missing = 0;
    group *g = find_named(how->path, &place);

    if (g == NULL)
        g = find_matching(how->config, how->path, &place);
    if (g == NULL || !rset_mpi_usable() || !rset_session_needs_others(session))
        return false;
    *st_out = RSET_OK;
    if (g->at[place].session != NULL) /* another step's: its others will not come any more */
        *st_out = end_early(g, err);
    if (!keep(&g->at[place], session, how))
        return false;
    for (int i = 0; i < g->n; i++)
        missing += g->at[i].session == NULL;
    if (missing == 0)
        *st_out = end_group(g, warning_out, err);
    return true;
}

static bool
has(const group *g, const char *path)
{
    for (int i = 0; i < g->n; i++)
        if (g->at[i].session != NULL && !rset_session_is_inherited(g->at[i].session) &&
            (path == NULL || strcmp(g->at[i].path, path) == 0))
            return true;
    return false;
}

bool
rset_together_waits(const char *path)
{
    for (const group *g = groups; g != NULL; g = g->next)
        if (has(g, path))
            return true;
    return false;
}

rset_status
rset_together_end(const char *path, rset_err *err)
{
    rset_status st = RSET_OK, own;

    for (group *g = groups; g != NULL; g = g->next)
        if (has(g, path)) {
            own = end_early(g, err);
            st = st == RSET_OK ? own : st;
        }
    return st;
}

/* ---- what applications call ---- */

/* After those that the group has. */
static rset_status
add_path(group *g, const char *given, rset_err *err)
{
    char       *path = NULL, *dir;
    bool        known, same, twice = false;
    rset_status st = rset_path_absolute(given, &path, err);

    if (st != RSET_OK)
        return st;
    dir = directory_of(path);
    if (g->n == 0)
        g->dir = dir != NULL ? strdup(dir) : NULL;
    known = dir != NULL && g->dir != NULL;
    same = known && strcmp(dir, g->dir) == 0;
    free(dir);
    for (int i = 0; i < g->n; i++)
        twice = twice || strcmp(path, g->paths[i]) == 0;
    g->paths[g->n] = path;
    if (!same)
        return rset_fail(err, known ? RSET_USAGE : RSET_NOMEM,
                         "H5FDredset_group: %s is not in the directory of the first file", given);
    return !twice ? RSET_OK
                  : rset_fail(err, RSET_USAGE, "H5FDredset_group: %s is given twice", given);
}

static rset_status
name_group(const char *const *paths, size_t n, rset_err *err)
{
    group      *g;
    rset_status st = RSET_OK;

    if (paths == NULL || n < 2 || n > RSET_TOGETHER_MAX)
        return rset_fail(err, RSET_USAGE,
                         "H5FDredset_group: %zu files; 2 to %d are committed together", n,
                         (int)RSET_TOGETHER_MAX);
    g = add(NULL, NULL, 0);
    if (g == NULL)
        return rset_fail(err, RSET_NOMEM, "H5FDredset_group: no memory");
    for (; st == RSET_OK && g->n < (int)n; g->n += st == RSET_OK)
        st = paths[g->n] != NULL
                 ? add_path(g, paths[g->n], err)
                 : rset_fail(err, RSET_USAGE, "H5FDredset_group: file %d has no name", g->n + 1);
    return st;
}

/* It was added last. */
static void
drop_first(void)
{
    group *g = groups;

    groups = g->next;
    for (int i = 0; i < RSET_TOGETHER_MAX; i++)
        free(g->paths[i]);
    free(g->dir);
    free(g);
}

static bool
have_same_paths(const group *a, const group *b)
{
    bool same = a->patterns == NULL && a->n == b->n;

    for (int i = 0; same && i < a->n; i++)
        same = strcmp(a->paths[i], b->paths[i]) == 0;
    return same;
}

/* A program may name its files each time that it writes them. Where the one added last was named before, that comes first again,
 * with what waits of it, and is all there is. */
static void
name_again(void)
{
    group **at = &groups->next, *same;

    while (*at != NULL && !have_same_paths(*at, groups))
        at = &(*at)->next;
    same = *at;
    if (same == NULL)
        return;
    *at = same->next;
    drop_first();
    same->next = groups;
    groups = same;
}

herr_t
H5FDredset_group(const char *const *paths, size_t n)
{
    rset_h5err_scope scope;
    rset_err         err = RSET_ERR_NONE;
    group           *before = groups;
    rset_status      st;

    st = rset_call_begin(&scope, &err);
    if (st == RSET_OK)
        st = name_group(paths, n, &err);
    if (st != RSET_OK && groups != before)
        drop_first();
    if (st == RSET_OK)
        name_again();
    RSET_H5ERR_PUSH(H5E_VFL, H5E_BADVALUE, &err);
    return rset_call_end(&scope, st != RSET_OK);
}
