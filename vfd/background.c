/* background.c: see background.h. */
#include "background.h"

#include "common/phases.h"
#include "common/thread.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The stack of the thread; seconds that exit() waits for it; failures that are kept for who asks. */
enum { STACK = 1 << 20, EXIT_PATIENCE = 5, OWED_MAX = 64 };

typedef struct task {
    struct task          *next;
    char                 *path;
    rset_background_work *work;
    void                 *arg;
    rset_err              err;
    char                  warning[RSET_ERR_TEXT];
} task;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t  more = PTHREAD_COND_INITIALIZER; /* something was added, or it shall end */
static pthread_cond_t  less;  /* something is done; made with the thread */
static task           *queue; /* the first of it is being worked on */
static task           *owed;  /* done, and somebody has to hear of it; oldest first */
static pthread_t       thread;
static atomic_int      owner; /* the process that has the thread; 0: there was none yet */
static bool            ended, stuck;

static _Thread_local bool here; /* this is the thread */

/* Without the lock: in a child that was forked it may be held by a thread that is not there. */
static bool
is_ours(void)
{
    return owner == (int)getpid();
}

bool
rset_background_is_here(void)
{
    return here;
}

static void
append(task **list, task *t)
{
    while (*list != NULL)
        list = &(*list)->next;
    t->next = NULL;
    *list = t;
}

static void
task_free(task *t)
{
    free(t->path);
    free(t);
}

/* ---- the thread ---- */

/* Nobody waits for it: to be woken up must not take the core away from the program, which is in H5Fclose. */
static void
step_back(void)
{
    const struct sched_param none = {0};

    (void)pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
}

/* Nobody asks for so many: the oldest failures become warnings, which are taken by whoever may speak. */
static void
bound_owed(void)
{
    int n = 0;

    for (const task *t = owed; t != NULL; t = t->next)
        n += t->err.status != RSET_OK;
    for (task *t = owed; t != NULL && n > OWED_MAX; t = t->next)
        if (t->err.status != RSET_OK) {
            t->err.status = RSET_OK;
            memcpy(t->warning, t->err.text, RSET_ERR_TEXT);
            n--;
        }
}

static void *
work_on(void *unused)
{
    (void)unused;
    here = true;
    step_back();
    pthread_mutex_lock(&lock);
    while (queue != NULL || !ended) {
        task       *t = queue;
        rset_status st;

        if (t == NULL) {
            pthread_cond_wait(&more, &lock);
            continue;
        }
        pthread_mutex_unlock(&lock);
        st = t->work(t->arg, t->warning, &t->err);
        pthread_mutex_lock(&lock);
        t->err.status = st;
        queue = t->next;
        if (st != RSET_OK || t->warning[0] != '\0')
            append(&owed, t);
        else
            task_free(t);
        bound_owed();
        pthread_cond_broadcast(&less);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* exit() without MPI_Finalize: what takes no longer than this is still done. Whatever else happens is what
 * would happen if the process were killed. */
static void
at_exit(void)
{
    struct timespec until;
    int             rc = 0;

    if (!is_ours())
        return;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += EXIT_PATIENCE;
    pthread_mutex_lock(&lock);
    while (queue != NULL && rc == 0)
        rc = pthread_cond_timedwait(&less, &lock, &until);
    stuck = queue != NULL;
    ended = true;
    pthread_mutex_unlock(&lock);
}

/* Who waits for `less` waits by a clock that nobody sets. */
static bool
make_less(void)
{
    pthread_condattr_t monotonic;
    bool               made;

    if (pthread_condattr_init(&monotonic) != 0)
        return false;
    made = pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0 &&
           pthread_cond_init(&less, &monotonic) == 0;
    (void)pthread_condattr_destroy(&monotonic);
    return made;
}

static bool
start(void)
{
    pthread_attr_t attr;
    bool           started;

    if (is_ours())
        return true;
    if (ended || owner != 0 || atexit(at_exit) != 0 || pthread_attr_init(&attr) != 0)
        return false;
    started = pthread_attr_setstacksize(&attr, STACK) == 0 && make_less() &&
              rset_thread_create(&thread, &attr, work_on, NULL) == 0;
    (void)pthread_attr_destroy(&attr);
    if (started)
        owner = (int)getpid();
    return started;
}

/* NULL without memory. */
static task *
new_task(const char *path)
{
    task *t = calloc(1, sizeof *t);

    if (t != NULL && (t->path = strdup(path)) == NULL) {
        free(t);
        return NULL;
    }
    if (t != NULL)
        t->err = RSET_ERR_NONE;
    return t;
}

/* Appends it to the queue, or to `owed`, while there is a thread; else it is freed. */
static bool
hand_in(task **list, task *t)
{
    bool taken = false;

    if (t != NULL && start()) {
        pthread_mutex_lock(&lock);
        taken = !ended;
        if (taken)
            append(list, t);
        bound_owed();
        pthread_mutex_unlock(&lock);
    }
    if (t != NULL && !taken)
        task_free(t);
    return taken;
}

bool
rset_background_add(const char *path, rset_background_work *work, void *arg)
{
    task *t = new_task(path);

    if (t != NULL) {
        t->work = work;
        t->arg = arg;
    }
    if (!hand_in(&queue, t))
        return false;
    pthread_cond_signal(&more);
    return true;
}

bool
rset_background_owe(const char *path, const rset_err *failure)
{
    task *t = new_task(path);

    if (t != NULL)
        t->err = *failure;
    return hand_in(&owed, t);
}

void
rset_background_end(void)
{
    bool first;

    if (owner != 0 && !is_ours())
        return;
    pthread_mutex_lock(&lock);
    first = !ended;
    ended = true;
    pthread_mutex_unlock(&lock);
    pthread_cond_signal(&more);
    if (first && is_ours())
        (void)pthread_join(thread, NULL);
}

bool
rset_background_stuck(void)
{
    bool is;

    if (!is_ours())
        return false;
    pthread_mutex_lock(&lock);
    is = stuck;
    pthread_mutex_unlock(&lock);
    return is;
}

/* ---- questions ---- */

/* `unknown`: the answer where one of them cannot be looked at, which is not one that is missing. */
static bool
same_file(const char *a, const char *b, bool unknown)
{
    struct stat sa, sb;

    if (strcmp(a, b) == 0)
        return true;
    if (stat(a, &sa) == 0 && stat(b, &sb) == 0)
        return sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
    return unknown && errno != ENOENT && errno != ENOTDIR;
}

/* May the list have a file of that path? To wait for one more does no harm. */
static bool
any(const task *list, const char *path)
{
    while (list != NULL && path != NULL && !same_file(list->path, path, true))
        list = list->next;
    return list != NULL;
}

bool
rset_background_busy(const char *path)
{
    bool is;

    if (!is_ours())
        return false;
    pthread_mutex_lock(&lock);
    is = any(queue, path);
    pthread_mutex_unlock(&lock);
    return is;
}

void
rset_background_wait(const char *path)
{
    rset_phase before;

    if (!is_ours())
        return;
    before = rset_phase_enter(RSET_PHASE_WAIT);
    pthread_mutex_lock(&lock);
    while (!stuck && any(queue, path))
        pthread_cond_wait(&less, &lock);
    pthread_mutex_unlock(&lock);
    rset_phase_leave(before);
}

void
rset_background_wait_for_all(void)
{
    rset_background_wait(NULL);
}

/* The link to the first failure. */
static task **
find_failure(const char *path)
{
    task **at = &owed;

    while (*at != NULL &&
           ((*at)->err.status == RSET_OK || (path != NULL && !same_file((*at)->path, path, false))))
        at = &(*at)->next;
    return at;
}

static void
drop_if_told(task **at)
{
    task *t = *at;

    if (t->err.status != RSET_OK || t->warning[0] != '\0')
        return;
    *at = t->next;
    task_free(t);
}

bool
rset_background_owes(const char *path)
{
    bool does;

    if (!is_ours())
        return false;
    pthread_mutex_lock(&lock);
    does = *find_failure(path) != NULL;
    pthread_mutex_unlock(&lock);
    return does;
}

rset_status
rset_background_take(const char *path, rset_err *err)
{
    rset_status st = RSET_OK;
    task      **at;

    if (!is_ours())
        return RSET_OK;
    pthread_mutex_lock(&lock);
    at = find_failure(path);
    if (*at != NULL) {
        st = (*at)->err.status;
        *err = (*at)->err;
        (*at)->err.status = RSET_OK;
        drop_if_told(at);
    }
    pthread_mutex_unlock(&lock);
    return st;
}

bool
rset_background_warning(char text_out[RSET_ERR_TEXT])
{
    task **at = &owed;
    bool   found;

    if (!is_ours())
        return false;
    pthread_mutex_lock(&lock);
    while (*at != NULL && (*at)->warning[0] == '\0')
        at = &(*at)->next;
    found = *at != NULL;
    if (found) {
        memcpy(text_out, (*at)->warning, RSET_ERR_TEXT);
        (*at)->warning[0] = '\0';
        drop_if_told(at);
    }
    pthread_mutex_unlock(&lock);
    return found;
}
