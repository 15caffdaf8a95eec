/* far.c: data files of a rank that are not beside the first of them. See files.h. Their directories are recorded, and what is
 * recorded may be anything: nothing is written outside of those that the user has named. */
#include "files.h"
#include "looked.h"
#include "text.h"

#include <errno.h>
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

/* Opens the directory of that path, *is_out, or the nearest above it that is there. RSET_ABSENT: none is. RSET_IO: one cannot be opened. */
static rset_status
open_nearest(const char *path, rset_dir **dir_out, bool *is_out, rset_err *err)
{
    char       *at = must_copy(path), *slash;
    rset_err    own = RSET_ERR_NONE;
    rset_status st = rset_dir_open(at, false, dir_out, &own);

    *is_out = st == RSET_OK;
    while (st == RSET_ABSENT && (slash = strrchr(at, '/')) != NULL && slash != at) {
        *slash = '\0';
        own = RSET_ERR_NONE;
        st = rset_dir_open(at, false, dir_out, &own);
    }
    free(at);
    return st == RSET_OK ? st : rset_fail_as(err, &own);
}

/* Is `path`, which was named, no directory, but a file, which may be lost, in that directory? */
static rset_status
is_file_in(const char *path, const rset_dir *dir, bool *is_out, rset_err *err)
{
    char       *above = dir_of(path);
    struct stat named, here;
    bool        is = false, there = false;
    rset_status st = looked_is_directory(path, &is, err);

    if (st == RSET_OK && !is)
        st = looked_path(above, true, &named, &there, err);
    if (there && fstat(rset_dir_fd(dir), &here) != 0)
        st = rset_fail_errno(err, RSET_IO, errno, "%s: cannot be looked at", rset_dir_path(dir));
    *is_out = st == RSET_OK && there && named.st_dev == here.st_dev && named.st_ino == here.st_ino;
    free(above);
    return st;
}

rset_status
far_is_below(const strings *paths, const rset_dir *dir, bool of_files, bool *is_out, rset_err *err)
{
    rset_err    first = RSET_ERR_NONE;
    rset_status st;

    *is_out = false;
    for (size_t i = 0; !*is_out && i < paths->n; i++) {
        st = rset_dir_is_below(dir, paths->at[i], is_out, &first);
        if (st == RSET_OK && of_files && !*is_out)
            (void)is_file_in(paths->at[i], dir, is_out, &first);
    }
    return *is_out || first.status == RSET_OK ? RSET_OK : rset_fail_as(err, &first);
}

/* One that is to be made below the directory of a file that was named is not meant with that. */
rset_status
far_is_within(const strings *paths, const char *dir, bool *is_out, rset_err *err)
{
    bool        there = false;
    rset_dir   *nearest = NULL;
    rset_status st = open_nearest(dir, &nearest, &there, err);

    *is_out = false;
    if (st == RSET_OK)
        st = far_is_below(paths, nearest, there, is_out, err);
    rset_dir_close(nearest);
    return st == RSET_ABSENT ? RSET_OK : st;
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
    bool        within = at->within == NULL;
    rset_status st = RSET_OK;

    if (!within && dir != NULL)
        st = far_is_within(at->within, dir, &within, err);
    if (st == RSET_OK && !within)
        st = say_outside(at, f->paths[i], err);
    if (st == RSET_OK && dir != NULL)
        st = rset_dir_open(dir, at->make, &f->dirs[i], &own);
    if (own.status != RSET_OK)
        st = own.status == RSET_ABSENT ? RSET_OK : rset_fail_as(err, &own);
    if (st == RSET_OK && f->dirs[i] != NULL && at->within != NULL)
        st = far_is_below(at->within, f->dirs[i], true, &within, err);
    if (st == RSET_OK && !within)
        st = say_outside(at, f->paths[i], err);
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
