/* far.c: data files of a rank that are not beside the first of them. See files.h. Their directories are recorded, and what is
 * recorded may be anything: nothing is written outside of those that the user has named. */
#include "files.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- where they are ---- */

/* Length of the directory of a path, with its slash. */
static size_t
dir_length(const char *path)
{
    return (size_t)(rset_path_base(path) - path);
}

/* How much of both, which end with a slash, are the same directories. */
static size_t
common_length(const char *a, size_t na, const char *b, size_t nb)
{
    size_t last = 0;

    for (size_t i = 0; i < na && i < nb && a[i] == b[i]; i++)
        if (a[i] == '/')
            last = i + 1;
    return last;
}

char *
far_dir(const char *dir, const char *first, const char *path)
{
    const size_t na = dir_length(first), nb = dir_length(path);
    const size_t common = common_length(first, na, path, nb);
    char        *here = must_print("%s/", dir), *to, *out = NULL;
    const size_t n = strlen(here), rest = na - common; /* between what is common and the first */

    if (path[0] == '/' && common > 0 && n > rest && here[n - rest - 1] == '/' &&
        strncmp(here + n - rest, first + common, rest) == 0) {
        to = must_print("%.*s%.*s", (int)(n - rest), here, (int)(nb - common), path + common);
        out = absolute(to);
        free(to);
    }
    free(here);
    return out;
}

/* That, or the nearest above it that is there, without symbolic links; NULL: not even that can be looked at. */
static char *
real_path(const char *path)
{
    char *at = must_copy(path), *real = realpath(at, NULL), *slash;

    while (real == NULL && (slash = strrchr(at, '/')) != NULL && slash != at) {
        *slash = '\0';
        real = realpath(at, NULL);
    }
    free(at);
    return real;
}

/* A path that was named and is no directory: a file, which may be lost. */
static bool
is_file(const char *path)
{
    struct stat sb;

    return stat(path, &sb) != 0 || !S_ISDIR(sb.st_mode);
}

/* The directory of a file that was named, and not one below it, which may be made later. */
static bool
is_dir_of_one(const strings *paths, const char *dir)
{
    char *real = realpath(dir, NULL);
    bool  is = false;

    for (size_t i = 0; i < paths->n && real != NULL && !is; i++)
        if (is_file(paths->at[i])) {
            char *named = dir_of(paths->at[i]), *there = realpath(named, NULL);

            is = there != NULL && strcmp(there, real) == 0;
            free(there);
            free(named);
        }
    free(real);
    return is;
}

bool
far_is_within(const strings *paths, const char *dir)
{
    char   *real = real_path(dir);
    strings roots = {0};
    bool    is;

    for (size_t i = 0; i < paths->n; i++) {
        char *root = realpath(paths->at[i], NULL);

        if (root != NULL)
            strings_add(&roots, root);
        else
            strings_add(&roots, paths->at[i]);
        free(root);
    }
    is = (real != NULL && path_is_within(&roots, real)) || is_dir_of_one(paths, dir);
    strings_free(&roots);
    free(real);
    return is;
}

/* ---- opening ---- */

static rset_status
say_outside(const files_place *at, const char *path, rset_err *err)
{
    return rset_fail(err, RSET_USAGE,
                     "%s: belongs to %s/%s, and is not below a path that was named; name its "
                     "directory too",
                     path, at->dir, at->name);
}

/* The directory of a file that was named. */
static bool
is_dir_of(const char *path, const rset_dir *dir)
{
    char     *named = dir_of(path);
    rset_dir *there = NULL;
    bool      is = rset_dir_open(named, false, &there, NULL) == RSET_OK &&
              rset_dir_number(there) == rset_dir_number(dir);

    rset_dir_close(there);
    free(named);
    return is;
}

bool
far_is_below(const strings *paths, const rset_dir *dir)
{
    for (size_t i = 0; i < paths->n; i++)
        if (rset_dir_is_below(dir, paths->at[i]) ||
            (is_file(paths->at[i]) && is_dir_of(paths->at[i], dir)))
            return true;
    return false;
}

/* Where it is counts, once it is open: what its path leads to may have changed since. */
static rset_status
open_one(const files_place *at, files *f, int i, rset_err *err)
{
    char       *dir = far_dir(at->dir, f->paths[0], f->paths[i]);
    rset_err    own = RSET_ERR_NONE;
    rset_status st = RSET_OK;

    if (at->within != NULL && (dir == NULL || !far_is_within(at->within, dir)))
        st = say_outside(at, f->paths[i], err);
    else if (dir != NULL)
        st = rset_dir_open(dir, at->make, &f->dirs[i], &own);
    if (f->dirs[i] != NULL && at->within != NULL && !far_is_below(at->within, f->dirs[i]))
        st = say_outside(at, f->paths[i], err);
    if (own.status != RSET_OK)
        st = own.status == RSET_ABSENT ? RSET_OK : rset_fail(err, st, "%s", own.text);
    free(dir);
    return st;
}

/* As recorded, or, of a path that is not absolute, beside it. */
static bool
is_beside_first(const files *f, int i)
{
    const size_t n = dir_length(f->paths[i]);

    return n == 0 || (n == dir_length(f->paths[0]) && strncmp(f->paths[i], f->paths[0], n) == 0);
}

rset_status
far_open(const files_place *at, files *f, rset_err *err)
{
    bool        any = false;
    rset_status st = RSET_OK;

    for (int i = 1; i < f->n; i++)
        any = any || !is_beside_first(f, i);
    if (!any)
        return RSET_OK;
    f->dirs = must_alloc((size_t)f->n * sizeof(rset_dir *));
    for (int i = 0; st == RSET_OK && i < f->n; i++) {
        if (i == 0 || is_beside_first(f, i))
            f->dirs[i] = f->dir;
        else
            st = open_one(at, f, i, err);
    }
    return st;
}

void
far_close(files *f)
{
    for (int i = 0; f->dirs != NULL && i < f->n; i++)
        if (f->dirs[i] != f->dir)
            rset_dir_close(f->dirs[i]);
    free(f->dirs);
}
