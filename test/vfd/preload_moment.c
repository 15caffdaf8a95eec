/* preload_moment.c - for LD_PRELOAD: one rank is held in the middle of a commit in the background, and cannot keep what the file was
 * when that began. It is told where the next journal can be given up: all of it has been read, and the commit is not published.
 *
 *   MOMENT_RANK=N MOMENT=DIR   while DIR/armed is there, rank N, when it is about to publish a redundancy file, makes DIR/held and
 *                              waits for DIR/go; and what it writes to next journals (those with a generation in the name) fails, as on a full disk
 *   MOMENT_HEAD=TEXT           their heads too, if it is not empty; else only their entries
 *   MOMENT_CUT=TEXT            if it is not empty: while DIR/armed is there the other ranks publish their redundancy files, and then
 *                              their threads in the background give no file a name any more: as if the job died there */
#include "launch.h"
#include "moment.h"
#include "preload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { ENTRIES = 1024 }; /* where those of a journal begin */

/* As the C library calls it where files may be large anyway. */
ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t off);

static bool
is_there(const char *base)
{
    char name[4096];

    name_of(name, sizeof name, base);
    return access(name, F_OK) == 0;
}

static bool
is_armed(bool held)
{
    const char *mine = getenv("MOMENT_RANK");

    return mine != NULL && getenv("MOMENT") != NULL && (atoi(mine) == launch_rank()) == held &&
           is_there("armed");
}

static bool
is_set(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0';
}

static bool
ends_in(const char *name, const char *end)
{
    const size_t n = strlen(name), m = strlen(end);

    return n >= m && strcmp(name + n - m, end) == 0;
}

static void
hold(void)
{
    char name[4096];

    name_of(name, sizeof name, "held");
    close(open(name, O_CREAT | O_WRONLY, 0666));
    for (int i = 0; i < 600 && !is_there("go"); i++)
        usleep(100000);
}

/* Is it a next journal, of which one of the two heads says so? */
static bool
is_next(int fd)
{
    enum { HEAD = 32, FLAGS = 24, PLACE = 512, NEXT = 8 };
    unsigned char head[HEAD];

    for (off_t at = 0; at <= PLACE; at += PLACE)
        if (pread(fd, head, HEAD, at) == HEAD && (head[FLAGS] & NEXT) != 0)
            return true;
    return false;
}

static bool
fails_to_write(int fd, off_t off)
{
    char name[4096];

    if (!is_armed(true) || (off < ENTRIES && !is_set("MOMENT_HEAD")))
        return false;
    find_name(fd, name, sizeof name);
    if (!ends_in(name, ".undo") || !is_next(fd) || !is_there("held"))
        return false;
    errno = ENOSPC;
    return true;
}

ssize_t
pwrite(int fd, const void *buf, size_t n, off_t off)
{
    if (fails_to_write(fd, off))
        return -1;
    CALL(write_type, "pwrite", fd, buf, n, off);
}

ssize_t
pwrite64(int fd, const void *buf, size_t n, off64_t off)
{
    if (fails_to_write(fd, off))
        return -1;
    CALL(write_type, "pwrite64", fd, buf, n, off);
}

static bool
publishes(const char *from)
{
    return ends_in(from, ".redset.new");
}

/* One thread in the background does all of that. */
static void
cut_short(const char *from)
{
    static bool published;

    if (!is_set("MOMENT_CUT") || gettid() == getpid() || !is_armed(false))
        return;
    while (published)
        pause();
    published = publishes(from);
}

int
renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    if (publishes(from) && is_armed(true) && !is_there("go"))
        hold();
    cut_short(from);
    CALL(rename_type, "renameat", from_dir, from, to_dir, to);
}
