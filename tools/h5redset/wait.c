/* wait.c: see wait.h. A lock that is asked for again and again is had for the first time when it is free, and let go at once: no
 * program is kept from its files more than by one attempt. */
#include "wait.h"

#include "owner.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const double patience = 2; /* seconds, until it is told who is waited for */

void
wait_begin(waiting *w, double seconds)
{
    *w = (waiting){.on = true, .until = rset_clock() + seconds};
    pthread_mutex_init(&w->lock, NULL);
    srand48(getpid());
}

static void
forget(waiting *w)
{
    for (size_t i = 0; i < w->n; i++) {
        free((char *)w->at[i].dir);
        free((char *)w->at[i].name);
        free((char *)w->at[i].text);
    }
    free(w->what);
    w->what = NULL;
    w->n = 0;
    w->refused = 0;
}

void
wait_end(waiting *w)
{
    forget(w);
    free(w->at);
    strings_free(&w->done);
    strings_free(&w->told);
    pthread_mutex_destroy(&w->lock);
}

/* ---- in an attempt ---- */

void
wait_note(const job *j, const obstacle *o)
{
    waiting *w = j->wait;

    if (w == NULL || !w->on)
        return;
    pthread_mutex_lock(&w->lock);
    w->at = must_have_room(w->at, w->n, &w->room, sizeof *w->at);
    w->at[w->n++] = (obstacle){.dir = must_copy(o->dir),
                               .name = must_copy(o->name),
                               .exclusive = o->exclusive,
                               .text = must_copy(o->text),
                               .owner = owner_now(),
                               .is_free = o->is_free};
    pthread_mutex_unlock(&w->lock);
}

bool
wait_tries_again(const job *j, rset_status st, const char *text)
{
    waiting *w = j->wait;

    if (st != RSET_BUSY || w == NULL || !w->on)
        return false;
    pthread_mutex_lock(&w->lock);
    w->refused++;
    if (w->what == NULL && text != NULL)
        w->what = must_copy(text);
    pthread_mutex_unlock(&w->lock);
    return true;
}

int
wait_refused(const job *j)
{
    return j->wait != NULL ? j->wait->refused : 0;
}

bool
wait_has_refused(job *j)
{
    return j->wait != NULL && job_most(j, wait_refused(j) > 0) > 0;
}

bool
wait_settles(job *j, const char *key, int before)
{
    if (j->wait == NULL)
        return true;
    if (job_most(j, wait_refused(j) > before) > 0)
        return false;
    strings_add_once(&j->wait->done, key);
    return true;
}

bool
wait_is_done(const job *j, const char *key)
{
    return j->wait != NULL && strings_find(&j->wait->done, key) >= 0;
}

/* ---- between two of them ---- */

/* Each process waits a little less than that, and none as long as another: two that have kept each other from some of the same files
 * do not come back at the same moment. */
static void
pause_for(double seconds)
{
    const double          own = seconds * (0.5 + drand48() / 2);
    const struct timespec time = {.tv_sec = (time_t)own,
                                  .tv_nsec = (long)((own - (double)(time_t)own) * 1e9)};

    nanosleep(&time, NULL);
}

static bool
is_free(const obstacle *o)
{
    bool is = true;

    if (owner_become(o->owner, NULL) == RSET_OK)
        is = o->is_free(o);
    owner_return();
    return is;
}

/* The first that is not; NULL: all are. */
static const obstacle *
find_obstacle(const waiting *w)
{
    for (size_t i = 0; i < w->n; i++)
        if (!is_free(&w->at[i]))
            return &w->at[i];
    return NULL;
}

static void
tell_once(waiting *w, const char *text)
{
    if (text == NULL || rset_clock() - w->since < patience || strings_find(&w->told, text) >= 0)
        return;
    strings_add(&w->told, text);
    print_error("waiting: %s", text);
}

/* What a process says to the others: the highest counts. */
enum { SAYS_FREE, SAYS_IN_USE, SAYS_OVER };

static int
look(const job *j, waiting *w)
{
    const obstacle *o = find_obstacle(w);

    if (w->refused > 0)
        tell_once(w, o != NULL ? o->text : w->n == 0 ? w->what : NULL);
    return j->rank == 0 && rset_clock() >= w->until ? SAYS_OVER
           : o != NULL                              ? SAYS_IN_USE
                                                    : SAYS_FREE;
}

bool
wait_for_next(job *j)
{
    enum { SHORT = 32, LONG = 512, TIMES = 4 }; /* ms */
    waiting *w = j->wait;
    int      said = SAYS_IN_USE, blind;

    if (w == NULL || !w->on || !wait_has_refused(j))
        return false;
    fflush(stdout); /* what was done is told before the wait */
    w->since = w->since > 0 ? w->since : rset_clock();
    blind = LONG << w->blind;
    w->blind +=
        w->n == 0 && w->blind < TIMES; /* only another look tells, which may read all content */
    for (int ms = w->n > 0 ? SHORT : blind; said == SAYS_IN_USE; ms = ms < LONG ? 2 * ms : ms) {
        pause_for(ms / 1000.0);
        said = job_most(j, look(j, w));
    }
    w->on = said == SAYS_FREE;
    forget(w);
    return said >= 0;
}
