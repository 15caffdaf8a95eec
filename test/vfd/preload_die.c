/* preload_die.c - for LD_PRELOAD: one rank is killed in the middle of what it does to its files.
 *
 *   DIE_RANK=N DIE_AT=M       rank N dies instead of its call number M that writes, syncs, renames or removes a
 *                             file with "data_" in its name (ranks.c, changes.c), or its directory's names;
 *                             DIED=FILE: it makes this file before, because MPICH's launcher now and then ends with 0 then
 *   DIE_RANK=N STOP_AT=M      it stops before that call, and goes on when it is told to
 *   DIE_RANK=N STOP_AT=END    it stops before each that renames one whose name ends like that */
#include "launch.h"
#include "preload.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

int     renameat(int from_dir, const char *from, int to_dir, const char *to);
ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t off);

static int
number(const char *name)
{
    const char *value = getenv(name);

    return value != NULL ? atoi(value) : -1;
}

static void
count_call(const char *name)
{
    static int calls, at, stop, rank;

    if (name == NULL || strstr(name, "data_") == NULL)
        return;
    if (calls++ == 0) {
        at = number("DIE_AT");
        stop = number("STOP_AT");
        rank = launch_rank();
    }
    if (calls == stop && rank == number("DIE_RANK"))
        raise(SIGSTOP);
    if (calls == at && rank == number("DIE_RANK")) {
        if (getenv("DIED") != NULL)
            creat(getenv("DIED"), 0600);
        raise(SIGKILL);
    }
}

static void
count_file(int fd)
{
    char name[4096];

    find_name(fd, name, sizeof name);
    count_call(name);
}

typedef int (*unlink_type)(int, const char *, int);
typedef int (*sync_type)(int);

ssize_t
pwrite(int fd, const void *buf, size_t n, off_t off)
{
    count_file(fd);
    CALL(write_type, "pwrite", fd, buf, n, off);
}

ssize_t
pwrite64(int fd, const void *buf, size_t n, off64_t off)
{
    count_file(fd);
    CALL(write_type, "pwrite64", fd, buf, n, off);
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
    CALL(rename_type, "renameat", from_dir, from, to_dir, to);
}

int
renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    count_call(from);
    stop_at_rename(from);
    CALL(rename2_type, "renameat2", from_dir, from, to_dir, to, flags);
}

int
unlinkat(int dir, const char *name, int flags)
{
    count_call(name);
    CALL(unlink_type, "unlinkat", dir, name, flags);
}

int
fsync(int fd)
{
    count_file(fd);
    CALL(sync_type, "fsync", fd);
}
