/* below.c: see below.h. */
#include "below.h"

#include "recover/recover.h"

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
} found;

/* The signature is at the beginning, or where a user block of 512 bytes, or of a power of two more, ends (HDF5 File Format
 * Specification, II.A). */
static bool
is_hdf5(rset_dir *dir, const char *name, uint64_t size)
{
    static const char signature[] = {'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n'};
    char              at[sizeof signature];
    rset_err          ignored = RSET_ERR_NONE;
    rset_file        *file = NULL;
    size_t            got = 0;
    bool              is = false;

    if (rset_file_open(dir, name, &file, &ignored) != RSET_OK)
        return false;
    for (uint64_t off = 0; !is && off + sizeof at <= size; off = off == 0 ? 512 : 2 * off)
        is = rset_file_read(file, off, at, sizeof at, &got, &ignored) == RSET_OK &&
             got == sizeof at && memcmp(at, signature, sizeof at) == 0;
    rset_file_close(file, NULL);
    return is;
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

    if (is_ours(name) || rset_dir_stat(f->dir, name, &sb, NULL) != RSET_OK || S_ISDIR(sb.st_mode))
        return true;
    if (S_ISREG(sb.st_mode) && is_hdf5(f->dir, name, (uint64_t)sb.st_size)) {
        char *file = must_print("%s/%s", strcmp(f->path, "/") == 0 ? "" : f->path, name);

        strings_add(f->files, file);
        free(file);
    } else {
        f->others++;
    }
    return true;
}

/* Files of a directory that cannot be read are not added. */
static void
add_directory(const char *path, strings *files, size_t *others)
{
    found    f = {.path = path, .files = files};
    rset_err ignored = RSET_ERR_NONE;

    if (rset_dir_open(path, false, &f.dir, &ignored) == RSET_OK)
        (void)rset_dir_list(f.dir, add_one, &f, &ignored);
    rset_dir_close(f.dir);
    *others += f.others;
}

void
below_add_files(const char *dir, strings *out, size_t *others_out)
{
    strings dirs = {0}, files = {0};

    *others_out = 0;
    walk_below(dir, &dirs);
    for (size_t i = 0; i < dirs.n; i++)
        add_directory(dirs.at[i], &files, others_out);
    strings_sort(&files);
    for (size_t i = 0; i < files.n; i++)
        strings_add(out, files.at[i]);
    strings_free(&files);
    strings_free(&dirs);
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
