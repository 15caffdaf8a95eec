/* history.c: see history.h. */
#include "history.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    struct entry *next; /* used before this one */
    char         *path, *why, *in_place;
    rset_opened   opened;
    bool          changing;
    bool          lost; /* it was refused, since what was protected could not be had */
} entry;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static entry          *latest;

static void
drop(entry *e)
{
    free(e->path);
    free(e->why);
    free(e->in_place);
    free(e);
}

/* The ones that were not used for longest go, where there are too many; not those that are being changed. */
static void
forget_some(void)
{
    int n = 0;

    for (entry **at = &latest; *at != NULL; n++) {
        entry *e = *at;

        if (n < RSET_HISTORY_FILES || e->changing) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        drop(e);
    }
}

static entry *
make(const char *path)
{
    entry *e = calloc(1, sizeof *e);

    if (e == NULL)
        return NULL;
    e->path = strdup(path);
    if (e->path != NULL)
        return e;
    free(e);
    return NULL;
}

/* That of `path`, which becomes the latest. NULL: there is no memory. */
static entry *
use(const char *path)
{
    entry **at = &latest, *e;

    while (*at != NULL && strcmp((*at)->path, path) != 0)
        at = &(*at)->next;
    e = *at;
    if (e != NULL)
        *at = e->next;
    else
        e = make(path);
    if (e == NULL)
        return NULL;
    e->next = latest;
    latest = e;
    return e;
}

static void
set_text(char **text, const rset_err *why)
{
    free(*text);
    *text = why != NULL ? strdup(why->text) : NULL;
}

void
rset_history_opened(const char *path, const rset_opened *opened, const rset_err *why)
{
    entry *e;

    pthread_mutex_lock(&lock);
    e = use(path);
    if (e != NULL) {
        e->opened = *opened;
        set_text(&e->why, why);
        if (why != NULL)
            e->lost = why->status == RSET_LOST || why->status == RSET_DAMAGED;
        else if (opened->did != RSET_DID_NOT_ASK) /* nor is it when it is created */
            e->lost = false;
    }
    forget_some();
    pthread_mutex_unlock(&lock);
}

void
rset_history_changes(const char *path)
{
    entry *e;

    pthread_mutex_lock(&lock);
    e = use(path);
    if (e != NULL)
        e->changing = true;
    pthread_mutex_unlock(&lock);
}

void
rset_history_in_place(const char *path, const rset_err *why)
{
    entry *e;

    pthread_mutex_lock(&lock);
    e = use(path);
    if (e != NULL)
        set_text(&e->in_place, why);
    pthread_mutex_unlock(&lock);
}

void
rset_history_closed(const char *path, const rset_err *why)
{
    entry *e;

    pthread_mutex_lock(&lock);
    e = use(path);
    if (e != NULL) {
        e->changing = false;
        e->lost = e->lost && why != NULL;
        set_text(&e->why, why);
        set_text(&e->in_place, NULL);
    }
    forget_some();
    pthread_mutex_unlock(&lock);
}

bool
rset_history_lost(const char *path)
{
    bool lost = false;

    pthread_mutex_lock(&lock);
    for (const entry *e = latest; e != NULL; e = e->next)
        if (strcmp(e->path, path) == 0)
            lost = e->lost;
    pthread_mutex_unlock(&lock);
    return lost;
}

void
rset_history_get(const char *path, rset_history *out)
{
    *out = (rset_history){0};
    pthread_mutex_lock(&lock);
    for (const entry *e = latest; e != NULL; e = e->next)
        if (strcmp(e->path, path) == 0) {
            out->opened = e->opened;
            out->changing = e->changing;
            snprintf(out->why, sizeof out->why, "%s", e->why != NULL ? e->why : "");
            snprintf(out->in_place, sizeof out->in_place, "%s",
                     e->in_place != NULL ? e->in_place : "");
        }
    pthread_mutex_unlock(&lock);
}
