/* path.c: see path.h. */
#include "path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40 };

/* Does errno say that no open of the name can succeed now? Then the lower driver has the words for it. Anything else says only that it could
 * not be looked at. */
static bool
leads_nowhere(void)
{
    return errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENAMETOOLONG ||
           errno == EACCES;
}

static rset_status
cannot_look(const char *name, rset_err *err)
{
    return rset_fail_errno(err, RSET_IO, errno, "%s: cannot be looked at", name);
}

/* The directory part of `name` as it really is, then `base`. */
static rset_status
beside(const char *name, const char *base, char **path_out, rset_err *err)
{
    const char *slash = strrchr(name, '/');
    char *dir = slash ? strndup(name, slash == name ? 1 : (size_t)(slash - name)) : strdup(".");
    char *real = dir != NULL ? realpath(dir, NULL) : NULL;
    rset_status st =
        dir != NULL && (real != NULL || leads_nowhere()) ? RSET_OK : cannot_look(name, err);

    *path_out = NULL;
    if (real == NULL && st == RSET_OK)
        real = rset_path_from_here(dir);
    if (st == RSET_OK && (real == NULL || asprintf(path_out, "%s/%s",
                                                   strcmp(real, "/") == 0 ? "" : real, base) < 0)) {
        *path_out = NULL;
        st = rset_fail(err, RSET_NOMEM, "%s: no memory for its path", name);
    }
    free(real);
    free(dir);
    return st;
}

/* Where the link leads that `name` may be, in *next_out; NULL: it is none. */
static rset_status
follow(const char *name, char **next_out, rset_err *err)
{
    char    target[PATH_MAX];
    ssize_t n = readlink(name, target, sizeof target - 1);

    *next_out = NULL;
    if (n < 0)
        return errno == EINVAL || leads_nowhere() ? RSET_OK : cannot_look(name, err);
    target[n] = '\0';
    if (target[0] != '/')
        return beside(name, target, next_out, err);
    *next_out = strdup(target);
    return *next_out != NULL ? RSET_OK : cannot_look(name, err);
}

/* Where `name` leads: to *path_out, or to a link's target, *next_out, which is looked at next. */
static rset_status
step(const char *name, char **path_out, char **next_out, rset_err *err)
{
    const char *slash = strrchr(name, '/');
    rset_status st;

    *next_out = NULL;
    if ((*path_out = realpath(name, NULL)) != NULL)
        return RSET_OK;
    st = errno == ELOOP    ? RSET_OK
         : leads_nowhere() ? follow(name, next_out, err)
                           : cannot_look(name, err);
    return st != RSET_OK || *next_out != NULL
               ? st
               : beside(name, slash != NULL ? slash + 1 : name, path_out, err);
}

rset_status
rset_path_absolute(const char *name, char **path_out, rset_err *err)
{
    char       *at = NULL, *next = NULL;
    rset_status st = step(name, path_out, &next, err);

    for (int links = 1; st == RSET_OK && *path_out == NULL; links++) {
        free(at);
        at = next;
        st = links <= LINKS_MAX
                 ? step(at, path_out, &next, err)
                 : rset_fail_errno(err, RSET_IO, ELOOP, "%s: cannot be looked at", name);
    }
    free(at);
    return st;
}

rset_status
rset_path_is_link(const char *name, bool *is_out, rset_err *err)
{
    struct stat sb;
    const bool  there = lstat(name, &sb) == 0;

    *is_out = there && S_ISLNK(sb.st_mode);
    return there || leads_nowhere() ? RSET_OK : cannot_look(name, err);
}

rset_status
rset_path_is_missing(const char *name, bool *is_out, rset_err *err)
{
    struct stat sb;
    const bool  there = stat(name, &sb) == 0;

    *is_out = !there && errno == ENOENT;
    return there || leads_nowhere() ? RSET_OK : cannot_look(name, err);
}

char *
rset_path_from_here(const char *name)
{
    char *cwd = name[0] != '/' ? getcwd(NULL, 0) : NULL, *path = NULL;

    if (cwd == NULL)
        return strdup(name);
    if (asprintf(&path, "%s/%s", cwd, name) < 0)
        path = NULL;
    free(cwd);
    return path;
}
