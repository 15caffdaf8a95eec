/* preload_die.c - for LD_PRELOAD: one rank is killed in the middle of what it does to its files.
 *
 *   DIE_RANK=N DIE_AT=M       rank N dies instead of its call number M that writes, syncs, renames or removes a
 *                             file with "data_" in its name (ranks.c, changes.c), or its directory's names;
 *                             DIED=FILE: it makes this file before, because MPICH's launcher now and then ends with 0 then
 *   DIE_RANK=N STOP_AT=END    it stops instead of the first that renames one whose name ends like that */
#include "launch.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

int     renameat(int from_dir, const char *from, int to_dir, const char *to);
ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t off);

static void *
next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (found == NULL)
        abort();
    return found;
}

static int
number(const char *name)
{
    const char *value = getenv(name);

    return value != NULL ? atoi(value) : -1;
}

static void
count_call(const char *name)
{
    static int calls, at, rank;

    if (name == NULL || strstr(name, "data_") == NULL)
        return;
    if (calls++ == 0) {
        at = number("DIE_AT");
        rank = launch_rank();
    }
    if (calls == at && rank == number("DIE_RANK")) {
        if (getenv("DIED") != NULL)
            creat(getenv("DIED"), 0600);
        raise(SIGKILL);
    }
}

static void
count_file(int fd)
{
    char    link[64], name[4096];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, name, sizeof name - 1);
    name[n > 0 ? n : 0] = '\0';
    count_call(name);
}

/* A function pointer comes out of dlsym as an object pointer, which C does not convert. */
#define CALL(name, type, ...)                                                                      \
    type  call;                                                                                    \
    void *found = next(name);                                                                      \
    memcpy(&call, &found, sizeof call);                                                            \
    return call(__VA_ARGS__)

typedef ssize_t (*write_type)(int, const void *, size_t, off64_t);
typedef int (*rename_type)(int, const char *, int, const char *);
typedef int (*unlink_type)(int, const char *, int);
typedef int (*sync_type)(int);

ssize_t
pwrite(int fd, const void *buf, size_t n, off_t off)
{
    count_file(fd);
    CALL("pwrite", write_type, fd, buf, n, off);
}

ssize_t
pwrite64(int fd, const void *buf, size_t n, off64_t off)
{
    count_file(fd);
    CALL("pwrite64", write_type, fd, buf, n, off);
}

static void
stop_at_rename(const char *name)
{
    const char  *end = getenv("STOP_AT");
    const size_t n = strlen(name), m = end != NULL ? strlen(end) : 0;

    if (end != NULL && n >= m && strcmp(name + n - m, end) == 0 && strstr(name, "data_") != NULL &&
        launch_rank() == number("DIE_RANK"))
        raise(SIGSTOP);
}

int
renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    count_call(from);
    stop_at_rename(from);
    CALL("renameat", rename_type, from_dir, from, to_dir, to);
}

int
unlinkat(int dir, const char *name, int flags)
{
    count_call(name);
    CALL("unlinkat", unlink_type, dir, name, flags);
}

int
fsync(int fd)
{
    count_file(fd);
    CALL("fsync", sync_type, fd);
}
