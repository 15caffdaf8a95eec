/* path.c: see path.h. */
#include "path.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINKS_MAX = 40 };

/* The directory part of `name` as it really is, then `base`. */
static char *
beside(const char *name, const char *base)
{
    const char *slash = strrchr(name, '/');
    char        cwd[PATH_MAX], *path = NULL;
    char *dir = slash ? strndup(name, slash == name ? 1 : (size_t)(slash - name)) : strdup(".");
    char *real = dir ? realpath(dir, NULL) : NULL;
    int   n;

    if (real != NULL)
        n = asprintf(&path, "%s/%s", strcmp(real, "/") == 0 ? "" : real, base);
    else if (dir != NULL && dir[0] != '/' && getcwd(cwd, sizeof cwd) != NULL)
        n = asprintf(&path, "%s/%s/%s", cwd, dir, base);
    else
        n = asprintf(&path, "%s/%s", dir ? dir : "", base);
    free(real);
    free(dir);
    return n < 0 ? NULL : path;
}

static char *
absolute(const char *name, int depth)
{
    const char *slash = strrchr(name, '/');
    char       *path = realpath(name, NULL);
    char        target[PATH_MAX];
    ssize_t     n;

    if (path != NULL)
        return path;
    n = depth > 0 ? readlink(name, target, sizeof target - 1) : -1;
    if (n <= 0)
        return beside(name, slash ? slash + 1 : name);
    target[n] = '\0';
    if (target[0] == '/')
        return absolute(target, depth - 1);
    if ((path = beside(name, target)) != NULL) {
        char *joined = path;

        path = absolute(joined, depth - 1);
        free(joined);
    }
    return path;
}

char *
rset_path_absolute(const char *name)
{
    return absolute(name, LINKS_MAX);
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
