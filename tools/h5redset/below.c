/* below.c: see below.h. */
#include "below.h"

#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    return files_looked(st, &err, &f->failed) && is;
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

    if (is_ours(name) || !files_stat(f->dir, name, &sb, &f->failed) || S_ISDIR(sb.st_mode))
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
    (void)files_looked(st, &err, &f->failed);
    rset_dir_close(f->dir);
    f->dir = NULL;
}

bool
below_add_files(const char *dir, strings *out, size_t *others_out, rset_err *err)
{
    strings dirs = {0}, paths = {0};
    found   f = {.files = &paths};

    walk_below(dir, &dirs);
    for (size_t i = 0; i < dirs.n; i++)
        add_directory(&f, dirs.at[i]);
    strings_sort(&paths);
    for (size_t i = 0; i < paths.n; i++)
        strings_add(out, paths.at[i]);
    strings_free(&paths);
    strings_free(&dirs);
    *others_out = f.others;
    return f.failed.status == RSET_OK || rset_fail_as(err, &f.failed) == RSET_OK;
}

bool
below_is_directory(const char *path)
{
    struct stat sb;

    return stat(path, &sb) == 0 && S_ISDIR(sb.st_mode);
}

/* ---- directories ---- */

enum { OPEN_DIR = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK };

static void walk_in(int fd, const char *path, strings *out);

/* Is what cannot be opened no directory, or none any more? */
static bool
is_none(int why)
{
    return why == ENOTDIR || why == ELOOP || why == ENOENT;
}

/* A path that is too long cannot be opened by anybody; so this ends. What cannot be opened is in the list: who looks there says it. */
static void
walk_to(int above, const char *path, const char *name, strings *out)
{
    char *below = must_print("%s/%s", strcmp(path, "/") == 0 ? "" : path, name);
    int   fd;

    if (strlen(below) < PATH_MAX) {
        fd = openat(above, name, OPEN_DIR | O_NOFOLLOW);
        if (fd >= 0)
            walk_in(fd, below, out);
        else if (!is_none(errno))
            strings_add_once(out, below);
    }
    free(below);
}

/* `fd` is closed. */
static void
walk_in(int fd, const char *path, strings *out)
{
    DIR           *dir = fdopendir(fd);
    struct dirent *entry;

    strings_add_once(out, path);
    if (dir == NULL)
        close(fd);
    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if ((entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) &&
            strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            walk_to(dirfd(dir), path, entry->d_name, out);
    if (dir != NULL)
        closedir(dir);
}

void
walk_below(const char *root, strings *out)
{
    const int fd = open(root, OPEN_DIR);

    if (fd >= 0)
        walk_in(fd, root, out);
    else
        strings_add_once(out, root);
}
