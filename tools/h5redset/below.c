/* below.c: see below.h. */
#include "below.h"

#include "walk.h"

#include "recover/recover.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The signature is at the beginning, or where a user block of 512 bytes, or of a power of two more, ends (HDF5 File Format
 * Specification, II.A). */
static bool
is_hdf5(int fd, off_t size)
{
    static const char signature[] = {'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n'};
    char              at[sizeof signature];

    for (off_t off = 0; off + (off_t)sizeof at <= size; off = off == 0 ? 512 : 2 * off)
        if (pread(fd, at, sizeof at, off) == (ssize_t)sizeof at &&
            memcmp(at, signature, sizeof at) == 0)
            return true;
    return false;
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

static void
add_one(int dir, const char *path, const char *name, strings *out, size_t *others)
{
    const int   fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat sb;

    if (fd >= 0 && fstat(fd, &sb) == 0 && S_ISREG(sb.st_mode) && is_hdf5(fd, sb.st_size)) {
        char *file = must_print("%s/%s", strcmp(path, "/") == 0 ? "" : path, name);

        strings_add(out, file);
        free(file);
    } else {
        (*others)++;
    }
    if (fd >= 0)
        close(fd);
}

static void
add_directory(const char *path, strings *out, size_t *others)
{
    DIR           *dir = opendir(path);
    struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (entry->d_type != DT_DIR && !is_ours(entry->d_name) && strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0)
            add_one(dirfd(dir), path, entry->d_name, out, others);
    if (dir != NULL)
        closedir(dir);
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
