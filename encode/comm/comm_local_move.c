/* comm_local_move.c: how ranks that are threads of one process talk. See comm_local_internal.h.
 *
 * Each rank has a mailbox with two lists: messages that wait for a receive, and receives that wait for
 * a message. Whoever comes second, sender or receiver, takes the other out of the list under the
 * mailbox's lock and copies outside of it, straight from the sender's buffer into the receiver's: one
 * copy. Small messages are copied into the list instead, so that their sender is done at once.
 *
 * What a rank may wait for - a message, a buffer that was taken - is an event of its mailbox, and a rank that has nothing to
 * do sleeps until there is one (C7): thousands of ranks that wait take no processor time from those that work.
 *
 * That takes memory, which MPI has of its own: who gets none says so in a flag that all look at, and nobody waits
 * for what it cannot send or take. */
#include "comm_local_internal.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WAITING, DONE, TOO_LONG };

/* ---- lists ---- */

/* Takes the first op that matches out of a list; `from` < 0: from anyone. */
static rset_local_op *
take_match(rset_local_op **list, rset_local_op ***end, int from, int tag)
{
    for (rset_local_op **at = list; *at != NULL; at = &(*at)->next) {
        rset_local_op *found = *at;

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
take_this(rset_local_op **list, rset_local_op ***end, const rset_local_op *this)
{
    for (rset_local_op **at = list; *at != NULL; at = &(*at)->next)
        if (*at == this) {
            *at = this->next;
            if (this->next == NULL)
                *end = at;
            return true;
        }
    return false;
}

static void
append(rset_local_op ***end, rset_local_op *last)
{
    last->next = NULL;
    **end = last;
    *end = &last->next;
}

/* What waits in `at`: a message from rank `from`, or a receive of one. */
static rset_local_op *
new_op(rset_local_box *at, int from, const rset_message *message, bool eager, rset_err *err)
{
    rset_local_op *new = malloc(sizeof *new + (eager ? message->len : 0));

    if (new == NULL) {
        (void)rset_fail(err, RSET_NOMEM, "no memory for a message of %zu bytes", message->len);
        return NULL;
    }
    *new = (rset_local_op){.from = from,
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

/* ---- events ---- */

/* With the mailbox's lock held. */
static void
happen(rset_local_box *at)
{
    at->events++;
    if (at->asleep)
        pthread_cond_signal(&at->event);
}

static void
happen_to(rset_local_box *at)
{
    pthread_mutex_lock(&at->lock);
    happen(at);
    pthread_mutex_unlock(&at->lock);
}

/* The coarse clock has the same time, at most a tick (10 ms) ago: no earlier than asked for. */
#define TICK 0.01

static struct timespec
time_in(double seconds)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &at);
    seconds += TICK;
    at.tv_sec += (time_t)seconds;
    at.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

/* Seconds, for each rank that there is: clocks may jump, so a wait looks at its own from time to time, and all ranks together
 * do so 500 times in a second at most. */
#define LOOK_EVERY 0.002

void
rset_local_wait(void *self, double seconds)
{
    const rset_local_member *me = self;
    rset_local_box          *at = me->box;
    const double             most = LOOK_EVERY * me->world->nboxes;
    const struct timespec    until = time_in(seconds < most ? seconds : most);
    int                      rc = 0;

    pthread_mutex_lock(&at->lock);
    at->asleep = true;
    while (at->events == at->seen && rc == 0)
        rc = pthread_cond_timedwait(&at->event, &at->lock, &until);
    at->asleep = false;
    at->seen = at->events;
    pthread_mutex_unlock(&at->lock);
}

/* ---- a message and a receive that match, both out of their lists ---- */

static void
fill(rset_local_op *receive, const void *buf, size_t len)
{
    rset_local_box *at = receive->box;
    const bool      fits = len <= receive->len;

    if (fits && len > 0)
        memcpy(receive->buf, buf, len);
    receive->got = len;
    atomic_store_explicit(&receive->state, fits ? DONE : TOO_LONG, memory_order_release);
    happen_to(at); /* the receive may be freed by now */
}

/* What its own process does not look after any more goes out. */
static void
give_to_post(rset_local_post *post, rset_local_op *op)
{
    pthread_mutex_lock(&post->lock);
    append(&post->out_end, op);
    pthread_mutex_unlock(&post->lock);
}

static void
release_message(const rset_local_world *all, rset_local_op *message)
{
    rset_local_box *sender;

    if (message->receipt != 0) {
        give_to_post(all->post, message);
        return;
    }
    if (message->eager) {
        free(message);
        return;
    }
    sender = &all->boxes[all->post != NULL ? all->post->slot[message->from] : message->from];
    atomic_store_explicit(&message->state, DONE, memory_order_release);
    happen_to(sender);
}

/* ---- the transport ---- */

static rset_status
have_no_memory(const rset_local_member *me)
{
    atomic_store_explicit(&me->world->mute, me->rank + 1, memory_order_release);
    for (int r = 0; r < me->world->nboxes; r++)
        happen_to(&me->world->boxes[r]);
    return RSET_NOMEM;
}

/* To be asked before one looks at what has come: what was sent before that counts. */
static int
who_is_mute(const rset_local_member *me)
{
    return atomic_load_explicit(&me->world->mute, memory_order_acquire) - 1;
}

static rset_status
unmet(const rset_local_member *me, int mute, rset_err *err)
{
    const rset_local_post *post = me->world->post;

    if (post != NULL && atomic_load_explicit(&post->cut, memory_order_acquire))
        return rset_fail(err, RSET_PEER, "%s", post->why.text);
    return mute < 0 ? RSET_OK
                    : rset_fail(err, RSET_PEER, "rank %d has no memory for a message", mute);
}

/* To a rank of another process. What is long is kept, as a copy, until somebody has taken it there: a sender is no faster than
 * who receives. */
static rset_status
send_far(const rset_local_member *me, const rset_message *out, rset_req *req, rset_err *err)
{
    rset_local_op *message = new_op(me->box, me->rank, out, true, err);

    *req = (rset_req){.active = message != NULL};
    if (message == NULL)
        return have_no_memory(me);
    message->far = true;
    message->to = out->peer;
    message->eager = out->len <= RSET_LOCAL_EAGER;
    if (!message->eager)
        req->h = (uintptr_t)message;
    give_to_post(me->world->post, message);
    return RSET_OK;
}

static rset_status
local_isend(void *self, const rset_message *out, rset_req *req, rset_err *err)
{
    const rset_local_member *me = self;
    const rset_local_post   *post = me->world->post;
    const int                slot = post != NULL ? post->slot[out->peer] : out->peer;
    rset_local_box          *at;
    rset_local_op           *receive, *message;

    if (slot < 0)
        return send_far(me, out, req, err);
    at = &me->world->boxes[slot];
    *req = (rset_req){.active = true};
    message = new_op(at, me->rank, out, out->len <= RSET_LOCAL_EAGER, err);
    if (message == NULL) {
        req->active = false;
        return have_no_memory(me);
    }
    pthread_mutex_lock(&at->lock);
    receive = take_match(&at->receives, &at->receives_end, me->rank, out->tag);
    if (receive == NULL) {
        append(&at->messages_end, message);
        happen(at);
    }
    pthread_mutex_unlock(&at->lock);
    if (receive != NULL) {
        fill(receive, out->data, out->len);
        free(message);
    } else if (out->len > RSET_LOCAL_EAGER) {
        req->h = (uintptr_t)message;
    }
    return RSET_OK; /* h 0: done already */
}

static rset_status
local_irecv(void *self, const rset_message *in, rset_req *req, rset_err *err)
{
    const rset_local_member *me = self;
    rset_local_box          *at = me->box;
    rset_local_op           *receive = new_op(at, in->peer, in, false, err);
    rset_local_op           *message;

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
        release_message(me->world, message);
    }
    return RSET_OK;
}

/* Its carrier may be at it. */
static bool
cancel_far(rset_local_op *mine)
{
    rset_local_box *at = mine->box;
    bool            arrived;

    pthread_mutex_lock(&at->lock);
    arrived = atomic_load_explicit(&mine->state, memory_order_acquire) == DONE;
    mine->given_up = true;
    pthread_mutex_unlock(&at->lock);
    if (arrived)
        free(mine);
    return true;
}

void
rset_local_arrived(rset_local_op *message)
{
    rset_local_box *at = message->box;
    bool            given_up;

    pthread_mutex_lock(&at->lock);
    given_up = message->given_up;
    if (!given_up)
        atomic_store_explicit(&message->state, DONE, memory_order_release);
    happen(at);
    pthread_mutex_unlock(&at->lock);
    if (given_up)
        free(message);
}

void
rset_local_deliver(rset_local_world *all, rset_local_box *at, rset_local_op *message)
{
    rset_local_op *receive;

    pthread_mutex_lock(&at->lock);
    receive = take_match(&at->receives, &at->receives_end, message->from, message->tag);
    if (receive == NULL) {
        append(&at->messages_end, message);
        happen(at);
    }
    pthread_mutex_unlock(&at->lock);
    if (receive != NULL) {
        fill(receive, message->buf, message->len);
        release_message(all, message);
    }
}

void
rset_local_cut(rset_local_world *all, const rset_err *why)
{
    if (atomic_load(&all->post->cut))
        return;
    all->post->why = *why;
    atomic_store_explicit(&all->post->cut, true, memory_order_release);
    for (int r = 0; r < all->nboxes; r++)
        happen_to(&all->boxes[r]);
}

static bool
local_cancel(void *self, rset_req *req)
{
    rset_local_op *mine = (rset_local_op *)req->h;
    bool           waits;

    (void)self;
    req->active = false;
    req->h = 0;
    if (mine == NULL)
        return true;
    if (mine->far)
        return cancel_far(mine);
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
    const int      mute = who_is_mute(self);
    rset_local_op *mine = (rset_local_op *)req->h;
    rset_status    st = RSET_OK;
    int            state;

    *done = true;
    if (!req->active)
        return RSET_OK;
    if (mine != NULL) {
        state = atomic_load_explicit(&mine->state, memory_order_acquire);
        if (state == WAITING) {
            *done = false;
            st = unmet(self, mute, err);
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
    const rset_local_member *me = self;
    rset_local_box          *at = me->box;
    const int                mute = who_is_mute(me);
    rset_local_op           *message;
    rset_status              st = RSET_OK;

    pthread_mutex_lock(&at->lock);
    message = take_match(&at->messages, &at->messages_end, -1, in->tag);
    pthread_mutex_unlock(&at->lock);
    *found_out = message != NULL && message->len <= in->len;
    if (message == NULL)
        return unmet(me, mute, err);
    if (*found_out) {
        in->peer = message->from;
        in->len = message->len;
        if (message->len > 0)
            memcpy(in->room, message->buf, message->len);
    } else {
        st = rset_fail(err, RSET_PEER, "rank %d sent %zu bytes where at most %zu make sense",
                       message->from, message->len, in->len);
    }
    release_message(me->world, message);
    return st;
}

const rset_transport rset_local_transport = {local_isend,    local_irecv, local_test,
                                             local_test_all, local_poll,  local_cancel};

/* ---- mailboxes ---- */

static void
free_ops(rset_local_op *list)
{
    while (list != NULL) {
        rset_local_op *next = list->next;

        free(list);
        list = next;
    }
}

bool
rset_local_boxes_init(rset_local_world *all)
{
    pthread_condattr_t monotonic;

    all->boxes = calloc((size_t)all->nboxes + 1, sizeof *all->boxes);
    if (all->boxes == NULL)
        return false;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    for (int r = 0; r < all->nboxes; r++) {
        rset_local_box *at = &all->boxes[r];

        pthread_mutex_init(&at->lock, NULL);
        pthread_cond_init(&at->event, &monotonic);
        at->messages_end = &at->messages;
        at->receives_end = &at->receives;
    }
    pthread_condattr_destroy(&monotonic);
    return true;
}

void
rset_local_boxes_free(rset_local_world *all)
{
    for (int r = 0; r < all->nboxes; r++) {
        free_ops(all->boxes[r].messages); /* nobody asked for them */
        free_ops(all->boxes[r].receives);
        pthread_cond_destroy(&all->boxes[r].event);
        pthread_mutex_destroy(&all->boxes[r].lock);
    }
    free(all->boxes);
}
