/* preload_pause.c - for LD_PRELOAD: a thread of one rank is held before a call to the file system.
 *
 *   MOMENT_RANK=N MOMENT=DIR   when rank N's threads but the first one are about to make call number M of those that write, sync,
 *                              name, rename or remove a file, M being what the file DIR/at says, it makes DIR/held and waits for
 *                              DIR/go, or half a second. They are counted from when DIR/at was made; without it nothing is held.
 *                              With -M it is the first thread, and it waits until the others have made no call for some time */
#include "launch.h"
#include "moment.h"
#include "preload.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

/* Milliseconds. Where one thread waits for what the other one does, that goes on. */
enum { PATIENCE = 500, QUIET = 40 };

/* As the C library calls it where files may be large anyway. */
ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t off);
int     ftruncate64(int fd, off64_t len);

typedef int (*link_type)(int, const char *, int, const char *, int);
typedef int (*unlink_type)(int, const char *, int);
typedef int (*sync_type)(int);
typedef int (*truncate_type)(int, off64_t);

static bool
is_there(const char *base)
{
    char name[4096];

    name_of(name, sizeof name, base);
    return access(name, F_OK) == 0;
}

/* The call before which it is held; 0: none. */
static int
where(void)
{
    char  name[4096];
    FILE *f;
    int   at = 0;

    name_of(name, sizeof name, "at");
    f = fopen(name, "r");
    if (f != NULL && fscanf(f, "%d", &at) != 1)
        at = 0;
    if (f != NULL)
        fclose(f);
    return at;
}

static atomic_int first, others; /* calls of the first thread, and of the others */

static void
say_held(void)
{
    char name[4096];

    name_of(name, sizeof name, "held");
    close(open(name, O_CREAT | O_WRONLY, 0666));
}

static void
hold(void)
{
    say_held();
    for (int i = 0; i < PATIENCE && !is_there("go"); i++)
        usleep(1000);
}

static void
hold_first(void)
{
    int quiet = 0, seen = others;

    say_held();
    for (int i = 0; i < PATIENCE && quiet < QUIET; i++, quiet++) {
        usleep(1000);
        if (others != seen)
            quiet = 0;
        seen = others;
    }
}

static void
count_call(void)
{
    const char *mine = getenv("MOMENT_RANK");
    const bool  is_first = gettid() == getpid();
    int         at;

    if (mine == NULL || getenv("MOMENT") == NULL || atoi(mine) != launch_rank())
        return;
    at = where();
    if (at == 0)
        first = others = 0;
    else if (is_first && ++first == -at)
        hold_first();
    else if (!is_first && ++others == at)
        hold();
}

ssize_t
pwrite(int fd, const void *buf, size_t n, off_t off)
{
    count_call();
    CALL(write_type, "pwrite", fd, buf, n, off);
}

ssize_t
pwrite64(int fd, const void *buf, size_t n, off64_t off)
{
    count_call();
    CALL(write_type, "pwrite64", fd, buf, n, off);
}

int
ftruncate64(int fd, off64_t len)
{
    count_call();
    CALL(truncate_type, "ftruncate64", fd, len);
}

int
fsync(int fd)
{
    count_call();
    CALL(sync_type, "fsync", fd);
}

int
renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    count_call();
    CALL(rename_type, "renameat", from_dir, from, to_dir, to);
}

int
renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    count_call();
    CALL(rename2_type, "renameat2", from_dir, from, to_dir, to, flags);
}

int
linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    count_call();
    CALL(link_type, "linkat", from_dir, from, to_dir, to, flags);
}

int
unlinkat(int dir, const char *name, int flags)
{
    count_call();
    CALL(unlink_type, "unlinkat", dir, name, flags);
}
