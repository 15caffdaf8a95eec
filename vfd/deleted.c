/* deleted.c: see deleted.h. */
#include "deleted.h"

#include "deleted/deletions.h"
#include "session_internal.h"

#include <pthread.h>
#include <string.h>

enum { KINDS_MAX = 64 };

typedef struct of_kind {
    const rset_team *team;
    char             kind[RSET_KIND_MAX];
    rset_deletions  *files;
} of_kind;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static of_kind         known[KINDS_MAX]; /* for as long as the process, as teams are */

/* Those of this kind among these ranks, or those that they are a part of; NULL: there are too many kinds, or there is no memory. */
static rset_deletions *
files_of(const rset_session *session)
{
    const rset_team *team = session->team->whole != NULL ? session->team->whole : session->team;
    rset_deletions  *files = NULL;
    int              i = 0;

    pthread_mutex_lock(&lock);
    while (i < KINDS_MAX && known[i].files != NULL &&
           (known[i].team != team || strcmp(known[i].kind, session->kind.text) != 0))
        i++;
    if (i < KINDS_MAX && known[i].files == NULL &&
        (known[i].files = rset_deletions_new()) != NULL) {
        known[i].team = team;
        memcpy(known[i].kind, session->kind.text, sizeof known[i].kind);
    }
    files = i < KINDS_MAX ? known[i].files : NULL;
    pthread_mutex_unlock(&lock);
    return files;
}

/* Files of one rank have replicas on others, of which their rank knows nothing. */
static bool
is_meant(const rset_session *session)
{
    return !rset_session_is_root(session) && session->at.local.dir != NULL &&
           session->team != NULL && session->team->comm != NULL && session->at.local.nfiles == 1;
}

void
rset_deleted_say(rset_session *session, rset_proposal *proposal)
{
    rset_deletions  *files;
    const rset_comm *comm;

    if (!is_meant(session))
        return;
    comm = session->team->comm;
    files = files_of(session);
    rset_deletions_find(files, session->at.local.dir, session->at.base, comm->rank, comm->size);
    rset_deletions_say(files, proposal->gone);
}

void
rset_deleted_committed(const rset_session *session, const rset_proposal *agreed)
{
    rset_deletions *files;

    if (!is_meant(session))
        return;
    files = files_of(session);
    rset_deletions_remove(files, agreed->gone);
    rset_deletions_note(files, &session->at.local, session->basis.generation);
}
