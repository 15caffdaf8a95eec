/* anew.c: see anew.h. */
#include "anew.h"

#include "session_internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES_MAX = 64 };

/* Files of one kind in one directory. What earlier runs left there is looked at once: within a run no rank moves. */
typedef struct place {
    char            *dir; /* owned */
    char             kind[RSET_KIND_MAX];
    rset_old_copies *copies; /* owned */
    int              users;  /* commits that are under way */
} place;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static place           known[PLACES_MAX]; /* the latest ones, for as long as the process */
static unsigned        next;

/* The place of the session's file; NULL: it was not looked at yet. The lock is held. */
static place *
find_place(const rset_session *session)
{
    for (int i = 0; i < PLACES_MAX; i++)
        if (known[i].dir != NULL && strcmp(known[i].dir, session->at.dir_path) == 0 &&
            strcmp(known[i].kind, session->kind.text) == 0)
            return &known[i];
    return NULL;
}

/* A place for the session's file, in the room of the oldest that nobody uses; NULL: all are used. The lock is held. */
static place *
new_place(const rset_session *session, rset_err *err)
{
    place *at = NULL;

    for (int i = 0; i < PLACES_MAX && (at == NULL || at->users > 0); i++)
        at = &known[next++ % PLACES_MAX];
    if (at->users > 0) {
        (void)rset_fail(err, RSET_NOMEM, "%s: too many commits at one time", session->at.path);
        return NULL;
    }
    free(at->dir);
    rset_old_copies_free(at->copies);
    *at = (place){.dir = strdup(session->at.dir_path)};
    memcpy(at->kind, session->kind.text, sizeof at->kind);
    if (at->dir == NULL)
        (void)rset_fail(err, RSET_NOMEM, "%s: no memory for its directory", session->at.path);
    return at->dir != NULL ? at : NULL;
}

static bool
is_meant(const rset_session *session)
{
    return !rset_session_is_root(session) && session->at.local.nfiles == 1 &&
           (session->team->ranks > 1 || session->config.search[0] != '\0');
}

static bool
is_anew(const rset_session *session)
{
    return session->state != RSET_SESSION_CREATING && rset_session_is(session, RSET_IS_NEW) &&
           !session->at.evidence.any;
}

uint64_t
rset_anew_bits(const rset_session *session)
{
    const place *at;
    bool         may_have;

    if (!is_meant(session))
        return 0;
    pthread_mutex_lock(&lock);
    at = find_place(session);
    may_have =
        at == NULL || at->copies == NULL || rset_old_copies_any(at->copies, session->at.base);
    pthread_mutex_unlock(&lock);
    return (is_anew(session) ? RSET_BIT_ANEW : 0) | (may_have ? RSET_BIT_OLD_COPIES : 0);
}

bool
rset_anew_asks(uint64_t bits)
{
    return (bits & (RSET_BIT_ANEW | RSET_BIT_OLD_COPIES)) == (RSET_BIT_ANEW | RSET_BIT_OLD_COPIES);
}

static rset_status
copies_here(const rset_session *session, rset_old_copies **out, rset_err *err)
{
    rset_search_list search;
    rset_status      st = RSET_OK;
    place           *at;

    rset_beside_search(&session->config, &search);
    pthread_mutex_lock(&lock);
    at = find_place(session);
    if (at == NULL && (at = new_place(session, err)) == NULL)
        st = err->status;
    if (st == RSET_OK && at->copies == NULL)
        st = rset_old_copies_find(&(rset_look_at){.path = session->at.dir_path,
                                                  .like = session->at.base,
                                                  .search = search.dirs,
                                                  .host = session->team->host},
                                  &at->copies, err);
    if (st == RSET_OK) {
        at->users++;
        *out = at->copies;
    }
    pthread_mutex_unlock(&lock);
    return st;
}

rset_status
rset_anew_ask(const rset_session *session, rset_status before, uint64_t *most,
              rset_old_copies **out, rset_err *err)
{
    const rset_old_copies_args args = {.world = session->team->comm,
                                       .local = &session->at.local,
                                       .evidence = &session->at.evidence,
                                       .host = session->team->host,
                                       .anew = is_anew(session)};
    uint64_t                   newest = 0;
    rset_status                st;

    *out = NULL;
    if (before == RSET_OK)
        before = copies_here(session, out, err);
    st = rset_old_copies_ask(*out, &args, before, &newest, err);
    if (st == RSET_OK && rset_generation_newer(newest, *most))
        *most = newest;
    return st;
}

void
rset_anew_settle(rset_old_copies *copies, const rset_comm *comm, rset_status st)
{
    const bool doubt = st != RSET_OK && rset_comm_usable(comm, NULL) != RSET_OK;

    if (copies == NULL)
        return;
    rset_old_copies_settle(copies, st == RSET_OK ? RSET_OLD_COPIES_REPLACED
                                   : doubt       ? RSET_OLD_COPIES_DOUBT
                                                 : RSET_OLD_COPIES_STAY);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < PLACES_MAX; i++)
        if (known[i].copies == copies)
            known[i].users--;
    pthread_mutex_unlock(&lock);
}
