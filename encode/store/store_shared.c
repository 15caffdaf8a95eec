/* store_shared.c: one descriptor of a directory for all who have it open for long (rset_dir_share in store.h): else a program that
 * has many files of one directory open has as many descriptors more. */
#include "store_sys.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct rset_shared {
    int          fd;
    unsigned     users;
    dev_t        device;
    ino_t        inode;
    uid_t        user; /* who opened it, and may do through it what its permissions say */
    bool         search_only;
    _Atomic bool failed; /* a sync of it: nobody joins any more */
    rset_shared *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static rset_shared    *all;

static rset_shared *
find(const rset_dir *dir, const struct stat *sb)
{
    const uid_t  user = rset_user();
    rset_shared *s = all;

    while (s != NULL && (s->device != sb->st_dev || s->inode != sb->st_ino || s->user != user ||
                         s->search_only != dir->search_only || s->failed))
        s = s->next;
    return s;
}

/* The descriptor of `dir` becomes one that others can have, too. */
static rset_shared *
add(const rset_dir *dir, const struct stat *sb)
{
    rset_shared *s = calloc(1, sizeof *s);

    if (s == NULL)
        return NULL;
    *s = (rset_shared){.fd = dir->fd,
                       .users = 1,
                       .device = sb->st_dev,
                       .inode = sb->st_ino,
                       .user = rset_user(),
                       .search_only = dir->search_only,
                       .next = all};
    all = s;
    return s;
}

void
rset_dir_share(rset_dir *dir)
{
    struct stat  sb;
    rset_shared *s;

    if (dir->shared != NULL || dir->sync_failed || rset_sys_now->fstat(dir->fd, &sb) != 0)
        return;
    pthread_mutex_lock(&lock);
    s = find(dir, &sb);
    if (s != NULL) {
        (void)rset_sys_now->close(dir->fd);
        dir->fd = s->fd;
        s->users++;
    } else {
        s = add(dir, &sb);
    }
    dir->shared = s;
    pthread_mutex_unlock(&lock);
}

void
rset_shared_leave(rset_shared *shared)
{
    rset_shared **at = &all;

    pthread_mutex_lock(&lock);
    if (--shared->users == 0) {
        while (*at != shared)
            at = &(*at)->next;
        *at = shared->next;
        (void)rset_sys_now->close(shared->fd);
        free(shared);
    }
    pthread_mutex_unlock(&lock);
}

void
rset_shared_fail(rset_shared *shared)
{
    shared->failed = true;
}

bool
rset_shared_has_failed(const rset_shared *shared)
{
    return shared->failed;
}
