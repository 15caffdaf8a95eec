/* comm_local.c: see comm_local.h: starting the ranks, as threads of this process. How they talk: comm_local_move.c. */
#include "comm_local.h"

#include "comm_local_internal.h"
#include "common/thread.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

enum { STACK = 256 * 1024 };

static void
run_member(rset_local_member *me)
{
    rset_comm comm;

    rset_comm_init(&comm, &rset_local_transport, me, me->rank, me->world->size, me->world->timeout);
    comm.spare = RSET_SPARE_NO; /* the ranks have the process's processors already */
    rset_pause_in(rset_local_wait, me);
    me->world->body(&comm, me->world->arg);
    rset_pause_in(NULL, NULL);
    rset_comm_free(&comm);
}

static void *
thread_main(void *arg)
{
    rset_local_member *me = arg;
    rset_local_world  *all = me->world;
    int                verdict;

    pthread_mutex_lock(&all->gate);
    while (all->verdict == 0)
        pthread_cond_wait(&all->opened, &all->gate);
    verdict = all->verdict;
    pthread_mutex_unlock(&all->gate);
    if (verdict > 0)
        run_member(me);
    atomic_fetch_sub(&all->running, 1);
    return NULL;
}

static int
start_thread(rset_local_member *me)
{
    pthread_attr_t attr;
    int            rc = pthread_attr_init(&attr);

    if (rc != 0)
        return rc;
    (void)pthread_attr_setstacksize(&attr, STACK);
    rc = rset_thread_create(&me->thread, &attr, thread_main, me);
    if (rc == EINVAL) /* thread-local data of this program needs more than that */
        rc = rset_thread_create(&me->thread, NULL, thread_main, me);
    pthread_attr_destroy(&attr);
    return rc;
}

static void
open_gate(rset_local_world *all, int verdict)
{
    pthread_mutex_lock(&all->gate);
    all->verdict = verdict;
    pthread_cond_broadcast(&all->opened);
    pthread_mutex_unlock(&all->gate);
}

rset_status
rset_local_run_crew(rset_local_world *all, const rset_local_crew *crew, rset_err *err)
{
    const int   first = crew->pump != NULL ? 0 : 1;
    int         started = first, rc = 0;
    rset_status st = RSET_OK;

    pthread_mutex_init(&all->gate, NULL);
    pthread_cond_init(&all->opened, NULL);
    atomic_store(&all->running, crew->n - first);
    while (started < crew->n && (rc = start_thread(&crew->members[started])) == 0)
        started++;
    if (rc != 0)
        st = rset_fail_errno(err, RSET_NOMEM, rc, "cannot start %d threads, only %d", crew->n,
                             started);
    open_gate(all, rc == 0 ? 1 : -1);
    if (rc == 0 && crew->pump != NULL)
        crew->pump(crew->arg);
    else if (rc == 0)
        run_member(&crew->members[0]);
    while (--started >= first)
        pthread_join(crew->members[started].thread, NULL);
    pthread_cond_destroy(&all->opened);
    pthread_mutex_destroy(&all->gate);
    return st;
}

rset_status
rset_local_run(int size, double timeout, void (*body)(rset_comm *comm, void *arg), void *arg,
               rset_err *err)
{
    rset_local_world all = {
        .size = size, .nboxes = size, .timeout = timeout, .body = body, .arg = arg};
    rset_local_member *members = NULL;
    rset_status        st;

    if (size < 1)
        return rset_fail(err, RSET_BUG, "%d ranks", size);
    members = calloc((size_t)size, sizeof *members);
    if (members == NULL || !rset_local_boxes_init(&all)) {
        free(members);
        return rset_fail(err, RSET_NOMEM, "no memory for %d threads", size);
    }
    for (int r = 0; r < size; r++)
        members[r] = (rset_local_member){.world = &all, .box = &all.boxes[r], .rank = r};
    st = rset_local_run_crew(&all, &(rset_local_crew){.members = members, .n = size}, err);
    rset_local_boxes_free(&all);
    free(members);
    return st;
}
