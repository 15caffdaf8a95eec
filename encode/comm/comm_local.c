/* comm_local.c: see comm_local.h.
 *
 * Each rank has a mailbox with two lists: messages that wait for a receive, and receives that wait for
 * a message. Whoever comes second, sender or receiver, takes the other out of the list under the
 * mailbox's lock and copies outside of it, straight from the sender's buffer into the receiver's: one
 * copy. Small messages are copied into the list instead, so that their sender is done at once.
 *
 * That takes memory, which MPI has of its own: who gets none says so in a flag that all look at, and nobody waits
 * for what it cannot send or take. */
#include "comm_local.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { EAGER = 4096, STACK = 256 * 1024 };

enum { WAITING, DONE, TOO_LONG };

/* A send or a receive. `state` hands it, and the buffer, back to its rank. */
typedef struct op {
    struct op  *next;
    int         from, tag;
    char       *buf; /* of the message or for it; not written when it is a message */
    size_t      len, got;
    bool        eager; /* a message that its sender has forgotten; data below */
    struct box *box;   /* where it waits */
    atomic_int  state;
    char        data[];
} op;

typedef struct box {
    pthread_mutex_t lock;
    op             *messages, **messages_end;
    op             *receives, **receives_end;
} box;

typedef struct world {
    int        size;
    double     timeout;
    box       *boxes;
    atomic_int mute; /* rank + 1 of one without memory for a message; 0: nobody */
    void (*body)(rset_comm *comm, void *arg);
    void           *arg;
    pthread_mutex_t gate;
    pthread_cond_t  opened;
    int             verdict; /* 0: wait, 1: run, -1: go home */
} world;

typedef struct member {
    world    *world;
    int       rank;
    pthread_t thread;
} member;

/* ---- lists ---- */

/* Takes the first op that matches out of a list; `from` < 0: from anyone. */
static op *
take_match(op **list, op ***end, int from, int tag)
{
    for (op **at = list; *at != NULL; at = &(*at)->next) {
        op *found = *at;

        if (found->tag != tag || (from >= 0 && found->from != from))
            continue;
        *at = found->next;
        if (found->next == NULL)
            *end = at;
        return found;
    }
    return NULL;
}

static bool
take_this(op **list, op ***end, const op *this)
{
    for (op **at = list; *at != NULL; at = &(*at)->next)
        if (*at == this) {
            *at = this->next;
            if (this->next == NULL)
                *end = at;
            return true;
        }
    return false;
}

static void
append(op ***end, op *last)
{
    last->next = NULL;
    **end = last;
    *end = &last->next;
}

/* What waits in `at`: a message from rank `from`, or a receive of one. */
static op *
new_op(box *at, int from, const rset_message *message, bool eager, rset_err *err)
{
    op *new = malloc(sizeof *new + (eager ? message->len : 0));

    if (new == NULL) {
        (void)rset_fail(err, RSET_NOMEM, "no memory for a message of %zu bytes", message->len);
        return NULL;
    }
    *new = (op){.from = from,
                .tag = message->tag,
                .buf = message->room,
                .len = message->len,
                .eager = eager,
                .box = at};
    if (eager) {
        new->buf = new->data;
        if (message->len > 0)
            memcpy(new->data, message->data, message->len);
    }
    return new;
}

/* ---- a message and a receive that match, both out of their lists ---- */

static void
fill(op *receive, const void *buf, size_t len)
{
    const bool fits = len <= receive->len;

    if (fits && len > 0)
        memcpy(receive->buf, buf, len);
    receive->got = len;
    atomic_store_explicit(&receive->state, fits ? DONE : TOO_LONG, memory_order_release);
}

static void
release_message(op *message)
{
    if (message->eager)
        free(message);
    else
        atomic_store_explicit(&message->state, DONE, memory_order_release);
}

/* ---- the transport ---- */

static rset_status
have_no_memory(const member *me)
{
    atomic_store_explicit(&me->world->mute, me->rank + 1, memory_order_release);
    return RSET_NOMEM;
}

/* To be asked before one looks at what has come: what was sent before that counts. */
static int
who_is_mute(const member *me)
{
    return atomic_load_explicit(&me->world->mute, memory_order_acquire) - 1;
}

static rset_status
unmet(int mute, rset_err *err)
{
    return mute < 0 ? RSET_OK
                    : rset_fail(err, RSET_PEER, "rank %d has no memory for a message", mute);
}

static rset_status
local_isend(void *self, const rset_message *out, rset_req *req, rset_err *err)
{
    const member *me = self;
    box          *at = &me->world->boxes[out->peer];
    op           *receive, *message;

    *req = (rset_req){.active = true};
    message = new_op(at, me->rank, out, out->len <= EAGER, err);
    if (message == NULL) {
        req->active = false;
        return have_no_memory(me);
    }
    pthread_mutex_lock(&at->lock);
    receive = take_match(&at->receives, &at->receives_end, me->rank, out->tag);
    if (receive == NULL)
        append(&at->messages_end, message);
    pthread_mutex_unlock(&at->lock);
    if (receive != NULL) {
        fill(receive, out->data, out->len);
        free(message);
    } else if (out->len > EAGER) {
        req->h = (uintptr_t)message;
    }
    return RSET_OK; /* h 0: done already */
}

static rset_status
local_irecv(void *self, const rset_message *in, rset_req *req, rset_err *err)
{
    const member *me = self;
    box          *at = &me->world->boxes[me->rank];
    op           *receive = new_op(at, in->peer, in, false, err);
    op           *message;

    *req = (rset_req){.h = (uintptr_t)receive, .active = receive != NULL};
    if (receive == NULL)
        return have_no_memory(me);
    pthread_mutex_lock(&at->lock);
    message = take_match(&at->messages, &at->messages_end, in->peer, in->tag);
    if (message == NULL)
        append(&at->receives_end, receive);
    pthread_mutex_unlock(&at->lock);
    if (message != NULL) {
        fill(receive, message->buf, message->len);
        release_message(message);
    }
    return RSET_OK;
}

static bool
local_cancel(void *self, rset_req *req)
{
    op  *mine = (op *)req->h;
    bool waits;

    (void)self;
    req->active = false;
    req->h = 0;
    if (mine == NULL)
        return true;
    pthread_mutex_lock(&mine->box->lock);
    waits = take_this(&mine->box->messages, &mine->box->messages_end, mine) ||
            take_this(&mine->box->receives, &mine->box->receives_end, mine);
    pthread_mutex_unlock(&mine->box->lock);
    /* Out of the lists: another thread is about to copy, or has copied. */
    while (!waits && atomic_load_explicit(&mine->state, memory_order_acquire) == WAITING)
        sched_yield();
    free(mine);
    return true;
}

static rset_status
local_test(void *self, rset_req *req, bool *done, rset_err *err)
{
    const int   mute = who_is_mute(self);
    op         *mine = (op *)req->h;
    rset_status st = RSET_OK;
    int         state;

    *done = true;
    if (!req->active)
        return RSET_OK;
    if (mine != NULL) {
        state = atomic_load_explicit(&mine->state, memory_order_acquire);
        if (state == WAITING) {
            *done = false;
            st = unmet(mute, err);
            if (st != RSET_OK)
                req->active = !local_cancel(self, req);
            return st;
        }
        if (state == TOO_LONG)
            st = rset_fail(err, RSET_PEER, "rank %d sent %zu bytes where at most %zu make sense",
                           mine->from, mine->got, mine->len);
        req->got = mine->got;
        free(mine);
    }
    req->h = 0;
    req->active = false;
    return st;
}

static rset_status
local_test_all(void *self, rset_req *const *reqs, int n, rset_err *err)
{
    rset_status st = RSET_OK;
    bool        done;

    for (int i = 0; st == RSET_OK && i < n; i++)
        st = local_test(self, reqs[i], &done, err);
    return st;
}

static rset_status
local_poll(void *self, rset_message *in, bool *found_out, rset_err *err)
{
    const member *me = self;
    box          *at = &me->world->boxes[me->rank];
    const int     mute = who_is_mute(me);
    op           *message;
    rset_status   st = RSET_OK;

    pthread_mutex_lock(&at->lock);
    message = take_match(&at->messages, &at->messages_end, -1, in->tag);
    pthread_mutex_unlock(&at->lock);
    *found_out = message != NULL && message->len <= in->len;
    if (message == NULL)
        return unmet(mute, err);
    if (*found_out) {
        in->peer = message->from;
        in->len = message->len;
        if (message->len > 0)
            memcpy(in->room, message->buf, message->len);
    } else {
        st = rset_fail(err, RSET_PEER, "rank %d sent %zu bytes where at most %zu make sense",
                       message->from, message->len, in->len);
    }
    release_message(message);
    return st;
}

static const rset_transport local_transport = {local_isend,    local_irecv, local_test,
                                               local_test_all, local_poll,  local_cancel};

/* ---- running ---- */

static void
run_member(member *me)
{
    rset_comm comm;

    rset_comm_init(&comm, &local_transport, me, me->rank, me->world->size, me->world->timeout);
    me->world->body(&comm, me->world->arg);
    rset_comm_free(&comm);
}

static void *
thread_main(void *arg)
{
    member *me = arg;
    world  *all = me->world;
    int     verdict;

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
start_thread(member *me)
{
    pthread_attr_t attr;
    int            rc = pthread_attr_init(&attr);

    if (rc != 0)
        return rc;
    (void)pthread_attr_setstacksize(&attr, STACK);
    rc = pthread_create(&me->thread, &attr, thread_main, me);
    if (rc == EINVAL) /* thread-local data of this program needs more than that */
        rc = pthread_create(&me->thread, NULL, thread_main, me);
    pthread_attr_destroy(&attr);
    return rc;
}

static void
free_ops(op *list)
{
    while (list != NULL) {
        op *next = list->next;

        free(list);
        list = next;
    }
}

static void
init_boxes(world *all)
{
    for (int r = 0; r < all->size; r++) {
        box *at = &all->boxes[r];

        pthread_mutex_init(&at->lock, NULL);
        at->messages_end = &at->messages;
        at->receives_end = &at->receives;
    }
}

static void
free_boxes(world *all)
{
    for (int r = 0; r < all->size; r++) {
        free_ops(all->boxes[r].messages); /* nobody asked for them */
        free_ops(all->boxes[r].receives);
        pthread_mutex_destroy(&all->boxes[r].lock);
    }
}

/* Starts a thread per rank but 0, runs rank 0 here, waits for all. */
static rset_status
run_world(world *all, member *members, rset_err *err)
{
    sigset_t    every, before;
    int         started = 1, rc = 0;
    rset_status st = RSET_OK;

    for (int r = 0; r < all->size; r++)
        members[r] = (member){.world = all, .rank = r};
    sigfillset(&every);
    pthread_sigmask(SIG_BLOCK, &every,
                    &before); /* new threads inherit it: signals stay the caller's */
    while (started < all->size && (rc = start_thread(&members[started])) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
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
    world       all = {.size = size, .timeout = timeout, .body = body, .arg = arg};
    member     *members = NULL;
    rset_status st;

    if (size < 1)
        return rset_fail(err, RSET_BUG, "%d ranks", size);
    all.boxes = calloc((size_t)size, sizeof *all.boxes);
    members = calloc((size_t)size, sizeof *members);
    if (all.boxes == NULL || members == NULL) {
        free(all.boxes);
        free(members);
        return rset_fail(err, RSET_NOMEM, "no memory for %d threads", size);
    }
    init_boxes(&all);
    pthread_mutex_init(&all.gate, NULL);
    pthread_cond_init(&all.opened, NULL);
    st = run_world(&all, members, err);
    pthread_cond_destroy(&all.opened);
    pthread_mutex_destroy(&all.gate);
    free_boxes(&all);
    free(all.boxes);
    free(members);
    return st;
}
