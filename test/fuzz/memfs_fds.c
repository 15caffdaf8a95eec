/* memfs_fds.c: who makes a call, what stands behind its memfs_fd, and whether that rank may change it. See
 * memfs_calls.h. */
#include "memfs_calls.h"

#include "store/recall.h"
#include "tripwire.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FDS = 256, FIRST_FD = 5000, WHY = 512 };

pthread_mutex_t memfs_lock = PTHREAD_MUTEX_INITIALIZER;
memfs_state     memfs_now;
static memfs_fd fds[FDS];

uid_t           memfs_uid;
gid_t           memfs_gid;
static unsigned escapes;
static char     first_escape[WHY];

_Thread_local memfs_rank memfs_me = {.dir = -1};

/* ---- the tripwire ---- */

void
memfs_escape(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    if (escapes++ == 0)
        vsnprintf(first_escape, sizeof first_escape, fmt, args);
    va_end(args);
}

void
memfs_changes(const char *call, int dir, const char *name)
{
    const bool own = memfs_me.dir < 0 ||
                     (dir == memfs_me.dir && tripwire_allows(memfs_me.data, memfs_me.prefix, name));

    if (!own)
        memfs_escape("rank %d: %s of %s in directory %d", memfs_me.dir, call, name, dir);
}

void
memfs_be(int r, const char *data, const char *prefix)
{
    memfs_me = (memfs_rank){r, data, prefix};
}

memfs_rank
memfs_self(void)
{
    return memfs_me;
}

void
memfs_set_self(memfs_rank rank)
{
    memfs_me = rank;
}

unsigned
memfs_escapes(char *why)
{
    snprintf(why, WHY, "%s", first_escape);
    return escapes;
}

/* ---- what there is ---- */

void
memfs_get(memfs_state *to)
{
    memfs_copy(to, &memfs_now);
}

void
memfs_set(const memfs_state *from)
{
    rset_recall_forget(); /* another disk */
    memfs_copy(&memfs_now, from);
    memset(fds, 0, sizeof fds);
    escapes = 0;
    first_escape[0] = '\0';
}

/* ---- descriptors ---- */

int
memfs_fail(int why)
{
    errno = why;
    return -1;
}

int
memfs_new_fd(int dir, memfs_file *file)
{
    for (int i = 0; i < FDS; i++)
        if (!fds[i].used) {
            fds[i] = (memfs_fd){true, dir, file};
            if (file != NULL)
                file->opened++;
            return FIRST_FD + i;
        }
    return memfs_fail(EMFILE);
}

memfs_fd *
memfs_of_fd(int fd)
{
    return fd >= FIRST_FD && fd < FIRST_FD + FDS && fds[fd - FIRST_FD].used ? &fds[fd - FIRST_FD]
                                                                            : NULL;
}

memfs_file *
memfs_file_of(int fd)
{
    memfs_fd *d = memfs_of_fd(fd);

    return d != NULL ? d->file : NULL;
}

int
memfs_dir_of(int dirfd, const char *name)
{
    memfs_fd *d = memfs_of_fd(dirfd);

    if (strchr(name, '/') != NULL || strcmp(name, "..") == 0) {
        memfs_escape("rank %d: name %.200s in an open directory", memfs_me.dir, name);
        return -1;
    }
    return d != NULL ? d->dir : -1;
}
