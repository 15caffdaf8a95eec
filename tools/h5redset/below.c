/* below.c: see below.h. */
#include "below.h"

#include "files.h"
#include "looked.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What a directory has, as far as it was listed. */
typedef struct found {
    rset_dir   *dir;
    const char *path;
    strings    *files;
    size_t      others;
    rset_err    failed; /* the first that could not be looked at */
} found;

/* The signature is at the beginning, or where a user block of 512 bytes, or of a power of two more, ends (HDF5 File Format
 * Specification, II.A). */
static bool
is_hdf5(found *f, const char *name, uint64_t size)
{
    static const char signature[] = {'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n'};
    char              at[sizeof signature];
    rset_err          err = RSET_ERR_NONE;
    rset_file        *file = NULL;
    size_t            got = 0;
    bool              is = false;
    rset_status       st = rset_file_open(f->dir, name, &file, &err);

    for (uint64_t off = 0; st == RSET_OK && !is && off + sizeof at <= size;
         off = off == 0 ? 512 : 2 * off) {
        st = rset_file_read(file, off, at, sizeof at, &got, &err);
        is = st == RSET_OK && got == sizeof at && memcmp(at, signature, sizeof at) == 0;
    }
    rset_file_close(file, NULL);
    return looked(st, &err, &f->failed) && is;
}

static bool
is_ours(const char *name)
{
    char    *prefix = NULL;
    rset_err ignored = RSET_ERR_NONE;
    bool     ours = false;

    (void)rset_name_seen(name, &ours, &prefix, &ignored);
    free(prefix);
    return ours;
}

static bool
add_one(const char *name, void *arg)
{
    found      *f = arg;
    struct stat sb;

    if (is_ours(name) || !looked_at(f->dir, name, &sb, &f->failed) || S_ISDIR(sb.st_mode))
        return true;
    if (S_ISREG(sb.st_mode) && is_hdf5(f, name, (uint64_t)sb.st_size)) {
        char *file = must_print("%s/%s", strcmp(f->path, "/") == 0 ? "" : f->path, name);

        strings_add(f->files, file);
        free(file);
    } else {
        f->others++;
    }
    return true;
}

static void
add_directory(found *f, const char *path)
{
    rset_err    err = RSET_ERR_NONE;
    rset_status st = rset_dir_open(path, false, &f->dir, &err);

    f->path = path;
    if (st == RSET_OK)
        st = rset_dir_list(f->dir, add_one, f, &err);
    (void)looked(st, &err, &f->failed);
    rset_dir_close(f->dir);
    f->dir = NULL;
}

bool
below_add_files(const char *dir, strings *out, size_t *others_out, rset_err *err)
{
    strings dirs = {0}, paths = {0}, failed = {0};
    found   f = {.files = &paths};

    walk_below(dir, &dirs, &failed);
    if (failed.n > 0)
        (void)rset_fail(&f.failed, RSET_IO, "%s", failed.at[0]);
    for (size_t i = 0; i < dirs.n; i++)
        add_directory(&f, dirs.at[i]);
    strings_sort(&paths);
    for (size_t i = 0; i < paths.n; i++)
        strings_add(out, paths.at[i]);
    strings_free(&paths);
    strings_free(&dirs);
    strings_free(&failed);
    *others_out = f.others;
    return f.failed.status == RSET_OK || rset_fail_as(err, &f.failed) == RSET_OK;
}

/* ---- directories ---- */

/* Paths of directories, and a message for each that could not be read. */
typedef struct walk {
    strings *out, *failed;
} walk;

/* Did that work? What is gone by now, or is no directory, is no failure. */
static bool
note(const walk *w, rset_status st, const rset_err *err)
{
    if (st != RSET_OK && st != RSET_ABSENT)
        strings_add(w->failed, err->text);
    return st == RSET_OK;
}

static bool
add_name(const char *name, void *arg)
{
    strings_add(arg, name);
    return true;
}

static void walk_in(const walk *w, rset_dir *dir);

/* A path that is too long cannot be opened by anybody; so this ends. */
static void
walk_to(const walk *w, rset_dir *above, const char *name)
{
    rset_err  err = RSET_ERR_NONE;
    rset_dir *dir = NULL;

    if (strlen(rset_dir_path(above)) + 1 + strlen(name) < PATH_MAX &&
        note(w, rset_dir_enter(above, name, &dir, &err), &err))
        walk_in(w, dir);
    rset_dir_close(dir);
}

/* Lists it before any that it has is entered: so each on the way down takes one descriptor. */
static void
walk_in(const walk *w, rset_dir *dir)
{
    strings  names = {0};
    rset_err err = RSET_ERR_NONE;

    if (note(w, rset_dir_list_dirs(dir, add_name, &names, &err), &err)) {
        strings_add_once(w->out, rset_dir_path(dir));
        for (size_t i = 0; i < names.n; i++)
            walk_to(w, dir, names.at[i]);
    }
    strings_free(&names);
}

void
walk_below(const char *root, strings *out, strings *failed)
{
    const walk w = {out, failed};
    rset_err   err = RSET_ERR_NONE;
    rset_dir  *dir = NULL;

    if (note(&w, rset_dir_open(root, false, &dir, &err), &err))
        walk_in(&w, dir);
    rset_dir_close(dir);
}
