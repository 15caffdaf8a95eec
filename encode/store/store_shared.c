/* store_shared.c: one descriptor of a directory for all who have it open for long (rset_dir_share in store.h): else a program that
 * has many files of one directory open has as many descriptors more.
 *
 * A descriptor is a number that other code of the process can close and have given to something else. So nobody joins one before it
 * was looked at: it has to be the same directory still, reached through the same mount. A child process joins none of its
 * parent's. */
#include "store_sys.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* Which directory a descriptor is of, and what may be done through it. */
typedef struct identity {
    pid_t    process;
    uint64_t device, inode, mount;
    uid_t    user; /* who opened it, and may do through it what its permissions say */
    bool     search_only;
} identity;

struct rset_shared {
    int             fd;
    unsigned        users;
    identity        is;
    pthread_mutex_t syncing; /* held while it is synced, and while `failed` is used */
    bool failed; /* a sync of it: the kernel says so once, so it has for all who have it open */
    rset_shared *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list, and of each one's users */
static pthread_once_t  once = PTHREAD_ONCE_INIT;
static rset_shared    *all;

/* ---- a process that forks: nobody is in the middle of anything ---- */

static void
before_fork(void)
{
    pthread_mutex_lock(&lock);
    for (rset_shared *s = all; s != NULL; s = s->next)
        pthread_mutex_lock(&s->syncing);
}

static void
after_fork(void)
{
    for (rset_shared *s = all; s != NULL; s = s->next)
        pthread_mutex_unlock(&s->syncing);
    pthread_mutex_unlock(&lock);
}

static void
look_after_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork, after_fork);
}

/* ---- which directory it is ---- */

/* False where the kernel does not tell. */
static bool
identify(int fd, bool search_only, identity *out)
{
#ifdef STATX_MNT_ID
    struct statx sb;

    if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &sb) != 0 ||
        (sb.stx_mask & STATX_MNT_ID) == 0)
        return false;
    *out = (identity){.process = getpid(),
                      .device = (uint64_t)sb.stx_dev_major << 32 | sb.stx_dev_minor,
                      .inode = sb.stx_ino,
                      .mount = sb.stx_mnt_id,
                      .user = rset_user(),
                      .search_only = search_only};
    return true;
#else
    (void)fd, (void)search_only, (void)out;
    return false;
#endif
}

static bool
is_same(const identity *a, const identity *b)
{
    return a->process == b->process && a->device == b->device && a->inode == b->inode &&
           a->mount == b->mount && a->user == b->user && a->search_only == b->search_only;
}

/* May another one use it as well? Nobody waits for a sync that goes on: if that fails, it has failed for who joins now, too. */
static bool
is_good(rset_shared *s)
{
    identity now;
    bool     failed = false;

    if (pthread_mutex_trylock(&s->syncing) == 0) {
        failed = s->failed;
        pthread_mutex_unlock(&s->syncing);
    }
    return !failed && identify(s->fd, s->is.search_only, &now) && is_same(&now, &s->is);
}

static rset_shared *
find(const identity *is)
{
    rset_shared *s = all;

    while (s != NULL && !(is_same(&s->is, is) && is_good(s)))
        s = s->next;
    return s;
}

/* ---- who has it ---- */

/* The descriptor `fd` becomes one that others can have, too. NULL without memory. */
static rset_shared *
add(int fd, const identity *is)
{
    rset_shared *s = calloc(1, sizeof *s);

    if (s == NULL || pthread_mutex_init(&s->syncing, NULL) != 0) {
        free(s);
        return NULL;
    }
    s->fd = fd;
    s->is = *is;
    s->next = all;
    all = s;
    return s;
}

void
rset_dir_share(rset_dir *dir)
{
    identity     is;
    rset_shared *s;

    if (dir->shared != NULL || dir->sync_failed || !identify(dir->fd, dir->search_only, &is))
        return;
    (void)pthread_once(&once, look_after_forks);
    pthread_mutex_lock(&lock);
    s = find(&is);
    if (s != NULL) {
        (void)rset_sys_now->close(dir->fd);
        dir->fd = s->fd;
    } else {
        s = add(dir->fd, &is);
    }
    if (s != NULL)
        s->users++;
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
        (void)pthread_mutex_destroy(&shared->syncing);
        free(shared);
    }
    pthread_mutex_unlock(&lock);
}

bool *
rset_shared_begin_sync(rset_shared *shared)
{
    pthread_mutex_lock(&shared->syncing);
    return &shared->failed;
}

void
rset_shared_end_sync(rset_shared *shared)
{
    pthread_mutex_unlock(&shared->syncing);
}
