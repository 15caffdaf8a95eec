/* wait.h: --wait: what another process has in use is tried again when it is free. An attempt is a look and what follows from it. What is
 * in use is left out of it, silently, and main.c begins another attempt after the wait: nothing that was seen before counts then. */
#ifndef WAIT_H
#define WAIT_H

#include "job.h"
#include "text.h"

#include <pthread.h>

/* One lock that another process has. */
typedef struct obstacle {
    const char *dir, *name; /* of what is locked, as far as `is_free` needs it */
    bool        exclusive;  /* the lock that is wanted */
    const char *text;       /* who has what: told when the wait is long */
    uint64_t    owner;      /* as whom it is looked at: owner_now */
    bool (*is_free)(const struct obstacle *o);
} obstacle;

typedef struct waiting {
    bool   on; /* what is in use is tried again; else, after the last wait, it is refused */
    double until, since;   /* by rset_clock; since: 0: nothing has been in use yet */
    pthread_mutex_t lock;  /* ranks are threads */
    unsigned        blind; /* attempts after which no obstacle was known: the next is further off */
    int             refused; /* what was in use in this attempt, as many times */
    size_t          n, room;
    obstacle       *at;
    char           *what; /* what is told where no obstacle is known; NULL: nothing */
    strings         done; /* keys of what is not to be done again */
    strings         told;
} waiting;

/* `seconds`: that long at most. */
void wait_begin(waiting *w, double seconds);
void wait_end(waiting *w);

/* Another process has what `o` says, of which copies are taken. Without --wait nothing happens. */
void wait_note(const job *j, const obstacle *o);

/* Is that the status of files that are in use and are tried again? Then nothing is to be said of it. `text`: what would be;
 * NULL: another process says it. */
bool wait_tries_again(const job *j, rset_status st, const char *text);

/* How much was left out of this attempt by this process; and was anything, by any? Then its exit status does not count. Collective. */
int  wait_refused(const job *j);
bool wait_has_refused(job *j);

/* Are the files of this key done (family_key), with nothing left out on any process since it was `before`? Else their exit status does not count.
 * Collective. wait_is_done: they are, since an earlier attempt, and are not to be done again. */
bool wait_settles(job *j, const char *key, int before);
bool wait_is_done(const job *j, const char *key);

/* Waits until what was in use is free on all processes, or the time is over; then the next attempt is the last one. False: nothing was
 * left out. Collective. */
bool wait_for_next(job *j);

#endif
