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

/* Starts a thread per rank but 0, runs rank 0 here, waits for all. */
static rset_status
run_world(rset_local_world *all, rset_local_member *members, rset_err *err)
{
    int         started = 1, rc = 0;
    rset_status st = RSET_OK;

    for (int r = 0; r < all->size; r++)
        members[r] = (rset_local_member){.world = all, .rank = r};
    while (started < all->size && (rc = start_thread(&members[started])) == 0)
        started++;
    if (rc != 0)
        st = rset_fail_errno(err, RSET_NOMEM, rc, "cannot start %d threads, only %d", all->size,
                             started);
    pthread_mutex_lock(&all->gate);
    all->verdict = rc == 0 ? 1 : -1;
    pthread_cond_broadcast(&all->opened);
    pthread_mutex_unlock(&all->gate);
    if (rc == 0)
        run_member(&members[0]);
    while (--started > 0)
        pthread_join(members[started].thread, NULL);
    return st;
}

rset_status
rset_local_run(int size, double timeout, void (*body)(rset_comm *comm, void *arg), void *arg,
               rset_err *err)
{
    rset_local_world   all = {.size = size, .timeout = timeout, .body = body, .arg = arg};
    rset_local_member *members = NULL;
    rset_status        st;

    if (size < 1)
        return rset_fail(err, RSET_BUG, "%d ranks", size);
    all.boxes = calloc((size_t)size, sizeof *all.boxes);
    members = calloc((size_t)size, sizeof *members);
    if (all.boxes == NULL || members == NULL) {
        free(all.boxes);
        free(members);
        return rset_fail(err, RSET_NOMEM, "no memory for %d threads", size);
    }
    rset_local_boxes_init(&all);
    pthread_mutex_init(&all.gate, NULL);
    pthread_cond_init(&all.opened, NULL);
    st = run_world(&all, members, err);
    pthread_cond_destroy(&all.opened);
    pthread_mutex_destroy(&all.gate);
    rset_local_boxes_free(&all);
    free(all.boxes);
    free(members);
    return st;
}
