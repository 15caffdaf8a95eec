/* scrub.c: see scrub.h. */
#include "scrub.h"

#include "comm/comm.h"
#include "common/thread.h"
#include "recover/recover.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Files that wait at most, more are not verified; the stack of the thread; pieces after which it rests. */
enum { ENTRIES_MAX = 65536, STACK = 256 * 1024, PIECES = 16 };

typedef struct entry {
    struct entry *next;
    char         *dir, *base;
    uint64_t      generation;
    bool          damaged; /* it was verified; else it waits for that */
} entry;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t  more = PTHREAD_COND_INITIALIZER;
static entry          *entries, **last = &entries;
static size_t          nentries;
static atomic_int      owner; /* the process that has the thread; 0: there was none yet */
static atomic_bool     ended;

/* Without the lock: in a child that was forked it may be held by a thread that is not there. */
static bool
is_ours(void)
{
    return owner == 0 || owner == (int)getpid();
}

/* ---- the list, with the lock ---- */

static void
entry_free(entry *e)
{
    if (e != NULL) {
        free(e->dir);
        free(e->base);
    }
    free(e);
}

static entry *
entry_new(const char *dir, const char *base, uint64_t generation)
{
    entry *e = calloc(1, sizeof *e);

    if (e == NULL)
        return NULL;
    e->dir = strdup(dir);
    e->base = strdup(base);
    e->generation = generation;
    if (e->dir != NULL && e->base != NULL)
        return e;
    entry_free(e);
    return NULL;
}

/* The link to it; one to NULL where there is none. */
static entry **
find(const char *dir, const char *base)
{
    entry **at = &entries;

    while (*at != NULL && (strcmp((*at)->base, base) != 0 || strcmp((*at)->dir, dir) != 0))
        at = &(*at)->next;
    return at;
}

static void
take_out(entry **at)
{
    entry *e = *at;

    *at = e->next;
    if (last == &e->next)
        last = at;
    nentries--;
    entry_free(e);
}

/* ---- the thread ---- */

/* What is verified now. The thread rests as long as it has read: half of a disk is the program's. */
typedef struct under_way {
    const entry *what;
    double       since;
    unsigned     pieces;
} under_way;

static bool
go_on(void *arg)
{
    under_way *u = arg;
    double     took = rset_clock() - u->since;

    if (++u->pieces % PIECES == 0) {
        const struct timespec pause = {(time_t)took, (long)((took - (double)(time_t)took) * 1e9)};

        (void)nanosleep(&pause, NULL);
        u->since = rset_clock();
    }
    return !ended;
}

static void
note(const entry *what, bool damaged)
{
    entry **at = find(what->dir, what->base);

    if (*at == NULL || (*at)->generation != what->generation)
        return;
    if (damaged)
        (*at)->damaged = true;
    else
        take_out(at);
}

/* This process knows before the disk says so: a rank that sees the mark may close the file with the others. */
static void
found(void *arg)
{
    const under_way *u = arg;

    pthread_mutex_lock(&lock);
    note(u->what, true);
    pthread_mutex_unlock(&lock);
}

static bool
verify(const entry *e)
{
    rset_err        ignored = RSET_ERR_NONE;
    rset_dir       *dir = NULL;
    char           *prefix = NULL;
    under_way       u = {.what = e, .since = rset_clock()};
    const rset_pace pace = {go_on, &u};
    bool            damaged = false;

    if (asprintf(&prefix, "%s.", e->base) < 0)
        return false;
    if (rset_dir_open(e->dir, false, &dir, &ignored) == RSET_OK) {
        const char *const names[] = {e->base};
        const rset_local  local = {.dir = dir, .prefix = prefix, .nfiles = 1, .names = names};

        damaged = rset_find_damaged_redundancy(&local, e->generation, &pace, found);
    }
    rset_dir_close(dir);
    free(prefix);
    return damaged;
}

/* A copy: while it is verified the list may change. NULL: nothing waits. */
static entry *
next(void)
{
    const entry *e = entries;

    while (e != NULL && e->damaged)
        e = e->next;
    return e != NULL ? entry_new(e->dir, e->base, e->generation) : NULL;
}

static void *
work(void *unused)
{
    const struct sched_param none = {0};

    (void)unused;
    if (rset_sys_unshare_files()) /* else a process that is killed could hold its locks for long */
        (void)pthread_setschedparam(pthread_self(), SCHED_IDLE, &none);
    pthread_mutex_lock(&lock);
    while (!ended) {
        entry *e = next();
        bool   damaged;

        if (e == NULL) {
            pthread_cond_wait(&more, &lock);
            continue;
        }
        pthread_mutex_unlock(&lock);
        damaged = verify(e);
        pthread_mutex_lock(&lock);
        note(e, damaged);
        entry_free(e);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static bool
start(void)
{
    pthread_attr_t attr;
    pthread_t      thread;
    bool           started;

    if (owner != 0)
        return true;
    if (pthread_attr_init(&attr) != 0)
        return false;
    started = pthread_attr_setstacksize(&attr, STACK) == 0 &&
              pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED) == 0 &&
              rset_thread_create(&thread, &attr, work, NULL) == 0;
    (void)pthread_attr_destroy(&attr);
    if (started)
        owner = (int)getpid();
    return started;
}

/* ---- what others ask ---- */

static void
add(const char *dir, const char *base, uint64_t generation)
{
    entry **at = find(dir, base), *e;

    if (*at != NULL && (*at)->generation == generation)
        return;
    if (*at != NULL)
        take_out(at);
    if (nentries == ENTRIES_MAX || (e = entry_new(dir, base, generation)) == NULL)
        return;
    *last = e;
    last = &e->next;
    nentries++;
}

void
rset_scrub_begin(const char *dir, const char *base, uint64_t generation)
{
    if (!is_ours() || ended)
        return;
    pthread_mutex_lock(&lock);
    if (start())
        add(dir, base, generation);
    pthread_mutex_unlock(&lock);
    pthread_cond_signal(&more);
}

bool
rset_scrub_found_damage(const char *dir, const char *base, uint64_t generation)
{
    const entry *e;
    bool         found;

    if (!is_ours())
        return false;
    pthread_mutex_lock(&lock);
    e = *find(dir, base);
    found = e != NULL && e->generation == generation && e->damaged;
    pthread_mutex_unlock(&lock);
    return found;
}

void
rset_scrub_forget(const char *dir, const char *base)
{
    entry **at;

    if (!is_ours())
        return;
    pthread_mutex_lock(&lock);
    at = find(dir, base);
    if (*at != NULL)
        take_out(at);
    pthread_mutex_unlock(&lock);
}

void
rset_scrub_end(void)
{
    ended = true;
    if (is_ours())
        pthread_cond_signal(&more);
}
