/* walk.c: see walk.h. Each directory is opened in the one above it. */
#include "walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPEN_DIR = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK };

static void walk_in(int fd, const char *path, strings *out);

/* A path that is too long cannot be opened by anybody; so this ends. */
static void
walk_to(int above, const char *path, const char *name, strings *out)
{
    char     *below = must_print("%s/%s", strcmp(path, "/") == 0 ? "" : path, name);
    const int fd = strlen(below) < PATH_MAX ? openat(above, name, OPEN_DIR | O_NOFOLLOW) : -1;

    if (fd >= 0)
        walk_in(fd, below, out);
    else if (errno == EACCES || errno == EMFILE || errno == ENFILE)
        strings_add_once(out, below);
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
