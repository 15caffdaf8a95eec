/* comm_hosted.c: see comm_hosted.h. This process's thread carries what its ranks send to ranks of other processes: a packet
 * with the first bytes, and where there are more, a message with all of them. Of those it keeps a copy until the receiver
 * has taken them, so a sender is no faster than its receiver (P9). When no rank of a process runs any more it says so, in
 * log2 n steps; then all processes end together. */
#include "comm_hosted_internal.h"

#include <stdlib.h>

/* ---- the end ---- */

/* No rank of this process runs any more; nor, as far as step k has come, of the 2^k processes before it (Hensgen, Finkel and
 * Manber, Two Algorithms for Barrier Synchronization, 1988). */
static bool
go_on_ending(rset_carrier *c)
{
    const rset_comm *outer = c->how->outer;
    bool             any = false;

    while (c->said < c->steps && (c->said == 0 || (c->ended >> (c->said - 1) & 1) != 0)) {
        rset_parcel *p = rset_hosted_new_parcel(c, RSET_HOSTED_END);

        if (p == NULL)
            return false;
        p->packet.receipt = (uint64_t)c->said;
        rset_hosted_send(c, p, (int)((outer->rank + (INT64_C(1) << c->said)) % outer->size));
        c->said++;
        any = true;
    }
    return any;
}

static bool
has_ended(const rset_carrier *c)
{
    return c->said == c->steps && (c->steps == 0 || (c->ended >> (c->steps - 1) & 1) != 0);
}

/* Messages that another process has not taken in stay in memory where the transport may still use them (C4). */
static void
drop_all(rset_carrier *c)
{
    bool safe = true;

    for (rset_arrival *a = c->in, *next; a != NULL; a = next) {
        next = a->next;
        if (rset_comm_cancel(c->how->outer, &a->body))
            free(a->op);
        free(a);
    }
    for (rset_parcel *p = c->out, *next; p != NULL; p = next) {
        const bool out = rset_comm_cancel(c->how->outer, &p->head);

        next = p->next;
        if (rset_comm_cancel(c->how->outer, &p->body))
            free(p->op);
        if (out)
            free(p);
    }
    for (int r = 0; c->told != NULL && r < c->how->outer->size; r++)
        safe = rset_comm_cancel(c->how->outer, &c->told[r]) && safe;
    if (safe)
        free(c->last);
    for (rset_local_op *op = c->post.out, *next; op != NULL; op = next) {
        next = op->next;
        free(op);
    }
}

/* A rank without memory for a message says so to all, where the transport is memory: here the other processes hear it. */
static void
watch_memory(rset_carrier *c)
{
    const int mute = atomic_load_explicit(&c->world.mute, memory_order_acquire);
    rset_err  why = RSET_ERR_NONE;

    if (mute == 0 || c->st != RSET_OK)
        return;
    (void)rset_fail(&why, RSET_NOMEM, "rank %d has no memory for a message", mute - 1);
    rset_hosted_cut(c, &why);
}

/* Runs in the caller's thread while the ranks run in theirs. What is not over at the end was meant for ranks that have
 * ended. */
static void
carry(void *arg)
{
    rset_carrier *c = arg;
    rset_comm    *outer = c->how->outer;
    rset_pause    pause = {0};
    double        since = rset_clock();
    bool          told = false;

    while (!has_ended(c) || atomic_load(&c->world.running) > 0) {
        const bool last =
            atomic_load(&c->world.running) == 0; /* before the last of theirs is looked for */
        bool any = rset_hosted_send_all(c);

        any = rset_hosted_look_for_packets(c) || any;
        any = rset_hosted_look_after_in(c) || any;
        any = rset_hosted_look_after_out(c) || any;
        if (last && c->st == RSET_OK)
            any = go_on_ending(c) || any;
        watch_memory(c);
        if (c->st != RSET_OK && !told) {
            told = true;
            rset_hosted_send_cut(c);
        }
        if (last && c->st != RSET_OK)
            break;
        if (last && !any && rset_clock() > since + outer->timeout) {
            rset_err why = RSET_ERR_NONE;

            (void)rset_fail(&why, RSET_PEER, "another process did not come to the end in %g s",
                            outer->timeout);
            rset_hosted_cut(c, &why);
        }
        if (any || !last)
            since = rset_clock();
        if (any)
            pause.spins = 0;
        rset_pause_once(&pause);
    }
}

/* ---- the door ---- */

static rset_status
make(rset_carrier *c)
{
    const rset_hosting *h = c->how;
    int                 n = 0;

    for (int r = 0; r < h->ranks; r++)
        n += h->host_of[r] == h->outer->rank;
    c->world.nboxes = n;
    c->slot = calloc((size_t)h->ranks + 1, sizeof *c->slot);
    c->members = calloc((size_t)n + 1, sizeof *c->members);
    c->room = calloc(1, sizeof *c->room);
    c->last = calloc(1, sizeof *c->last);
    c->told = calloc((size_t)h->outer->size, sizeof *c->told);
    if (c->slot == NULL || c->members == NULL || c->room == NULL || c->last == NULL ||
        c->told == NULL || !rset_local_boxes_init(&c->world))
        return rset_fail(c->err, RSET_NOMEM, "no memory for %d ranks", n);
    n = 0;
    for (int r = 0; r < h->ranks; r++) {
        c->slot[r] = h->host_of[r] == h->outer->rank ? n++ : -1;
        if (c->slot[r] >= 0)
            c->members[c->slot[r]] = (rset_local_member){
                .world = &c->world, .box = &c->world.boxes[c->slot[r]], .rank = r};
    }
    while (INT64_C(1) << c->steps < h->outer->size)
        c->steps++;
    c->post.slot = c->slot;
    c->in_end = &c->in;
    c->post.out_end = &c->post.out;
    return RSET_OK;
}

/* Threads that cannot be started are told to the other processes, whose ranks wait for them. */
static void
run(rset_carrier *c)
{
    const rset_local_crew crew = {
        .members = c->members, .n = c->world.nboxes, .pump = carry, .arg = c};
    rset_err    why = RSET_ERR_NONE;
    rset_status st;

    pthread_mutex_init(&c->post.lock, NULL);
    st = rset_local_run_crew(&c->world, &crew, &why);
    if (st != RSET_OK) {
        atomic_store(&c->world.running, 0);
        rset_hosted_cut(c, &why);
        carry(c);
    }
    pthread_mutex_destroy(&c->post.lock);
}

rset_status
rset_hosted_run(const rset_hosting *how, void (*body)(rset_comm *comm, void *arg), void *arg,
                rset_err *err)
{
    rset_carrier c = {
        .how = how,
        .err = err,
        .world = {.size = how->ranks, .timeout = how->outer->timeout, .body = body, .arg = arg}};
    rset_status st = how->own == RSET_OK ? make(&c) : how->own;

    st = rset_agree(how->outer, st, how->host, err);
    c.run = how->outer->calls;
    c.world.post = &c.post;
    if (st == RSET_OK)
        run(&c);
    drop_all(&c);
    if (c.world.boxes != NULL)
        rset_local_boxes_free(&c.world);
    free(c.slot);
    free(c.members);
    free(c.room);
    free(c.told);
    return st == RSET_OK ? c.st : st;
}
