/* far.c: data files of a rank that are not beside the first of them. See files.h. Their directories are recorded, and what is
 * recorded may be anything: nothing is written outside of those that the user has named. */
#include "files.h"
#include "looked.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

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

/* Where a data file is that is recorded under `path`, where the first of them, recorded under `first`, is in the directory `dir`
 * now: they have not moved apart. A new string, absolute; NULL: nowhere that could be told. */
static char *
dir_of_far(const char *dir, const char *first, const char *path)
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

/* That directory, or the nearest above it that is there; *is_out: it is that. NULL: what is there cannot be opened. */
static rset_dir *
open_nearest(const char *path, bool *is_out)
{
    char       *at = must_copy(path), *slash;
    rset_dir   *dir = NULL;
    rset_status st = rset_dir_open(at, false, &dir, NULL);

    *is_out = st == RSET_OK;
    while (st == RSET_ABSENT && (slash = strrchr(at, '/')) != NULL && slash != at) {
        *slash = '\0';
        st = rset_dir_open(at, false, &dir, NULL);
    }
    free(at);
    return dir;
}

/* A path that was named and is no directory: a file, which may be lost. */
static bool
is_file(const char *path)
{
    rset_err ignored = RSET_ERR_NONE;
    bool     is = false;

    return looked_is_directory(path, &is, &ignored) == RSET_OK && !is;
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

/* Below one of these; or, with `itself`, the directory of a file. */
static bool
is_below(const strings *paths, const rset_dir *dir, bool itself)
{
    for (size_t i = 0; i < paths->n; i++)
        if (rset_dir_is_below(dir, paths->at[i]) ||
            (itself && is_file(paths->at[i]) && is_dir_of(paths->at[i], dir)))
            return true;
    return false;
}

bool
far_is_below(const strings *paths, const rset_dir *dir)
{
    return is_below(paths, dir, true);
}

/* One that is to be made below the directory of a file that was named is not meant with that. */
bool
far_is_within(const strings *paths, const char *dir)
{
    bool       there = false;
    rset_dir  *nearest = open_nearest(dir, &there);
    const bool is = nearest != NULL && is_below(paths, nearest, there);

    rset_dir_close(nearest);
    return is;
}

static rset_status
say_outside(const files_place *at, const char *path, rset_err *err)
{
    return rset_fail(err, RSET_USAGE,
                     "%s: belongs to %s/%s, and is not below a path that was named; name its "
                     "directory too",
                     path, at->dir, at->name);
}

/* Where it is counts, once it is open: what its path leads to may have changed since. */
static rset_status
open_one(const files_place *at, files *f, int i, rset_err *err)
{
    char       *dir = dir_of_far(at->dir, f->paths[0], f->paths[i]);
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
