/* rendezvous.c: see rendezvous.h: the door of each rank. Rank 0's side is in root.c. */
#include "rendezvous_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* How long a rank that withdraws waits for what rank 0 says to that: it may have called everybody in
 * that very moment. When rank 0 is silent it has not come itself. */
#define GRACE 0.5

rset_status
rset_rendezvous_new(const char *host, int size, rset_rendezvous **out, rset_err *err)
{
    rset_rendezvous *m = calloc(1, sizeof *m);

    if (m == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for a rendezvous of %d ranks", size);
    m->size = size;
    snprintf(m->host, sizeof m->host, "%s", host);
    *out = m;
    return RSET_OK;
}

rset_status
rset_rendezvous_attach(rset_rendezvous *m, rset_comm *comm, rset_err *err)
{
    rset_status st = rset_outbox_open(&m->outbox, comm, err);

    if (st == RSET_OK && comm->rank == 0)
        m->guests = calloc((size_t)comm->size, sizeof *m->guests);
    if (st == RSET_OK && comm->rank == 0 && m->guests == NULL) {
        rset_outbox_close(&m->outbox);
        st = rset_fail(err, RSET_NOMEM, "no memory for a rendezvous of %d ranks", comm->size);
    }
    if (st == RSET_OK)
        m->comm = comm;
    return st;
}

void
rset_rendezvous_free(rset_rendezvous *place)
{
    if (place == NULL)
        return;
    if (place->comm != NULL)
        rset_outbox_close(&place->outbox);
    rset_kinds_free(place->kinds);
    free(place->guests);
    free(place);
}

/* ---- before there is a communicator ---- */

double
rset_rendezvous_patience(rset_rendezvous *m, const rset_proposal *p, double timeout,
                         bool *known_out)
{
    const rset_known_kind *k = rset_kinds_find(m->kinds, p->kind.text);
    const bool             insists = p->evidence && p->op == RSET_RENDEZVOUS_OPEN;
    const double           wait = rset_kind_wait(k, timeout, m->timed_out && !p->required);

    *known_out = wait <= 0 && !insists;
    if (!insists || k == NULL || k->timeouts == 0)
        return wait;
    return timeout < RSET_RENDEZVOUS_SHORT ? timeout : RSET_RENDEZVOUS_SHORT;
}

void
rset_rendezvous_skip(rset_rendezvous *m, const rset_kind *kind)
{
    rset_known_kind *k = rset_kinds_get(&m->kinds, kind->text);

    if (k != NULL)
        k->epoch++;
}

/* One step further, together or not. */
static void
count_close(rset_rendezvous *m, const rset_proposal *p)
{
    if (p->op == RSET_RENDEZVOUS_CLOSE)
        rset_rendezvous_skip(m, &p->kind);
}

void
rset_rendezvous_timed_out(rset_rendezvous *m, const rset_proposal *p)
{
    rset_known_kind *k = rset_kinds_get(&m->kinds, p->kind.text);

    if (k != NULL) {
        k->timeouts++;
        k->told = true;
    }
    m->timed_out = true;
    count_close(m, p);
}

/* ---- receiving ---- */

static void
take_from_root(rset_rendezvous *m, const rset_note *n)
{
    rset_known_kind *k;

    m->root_missed = 0;
    switch (n->type) {
    case RSET_NOTE_SOME:
        if ((k = rset_kinds_get(&m->kinds, n->kind.text)) != NULL) {
            (void)rset_kind_not_met(k, n->op, n->evidence != 0);
            k->told = true;
        }
        break;
    case RSET_NOTE_ALL:
        if ((k = rset_kinds_find(m->kinds, n->kind.text)) != NULL)
            rset_kind_for_all(k, n->op);
        break;
    case RSET_NOTE_LEAVE_ALL: m->all_gone = true; break;
    case RSET_NOTE_GO:
    case RSET_NOTE_NO:
        if (n->seq == m->seq)
            m->answer = *n;
        break;
    default: break;
    }
}

static void
take_failure(rset_rendezvous *m, int from, const rset_note *n)
{
    rset_known_kind *k = rset_kinds_get(&m->kinds, n->kind.text);

    if (k != NULL)
        rset_kind_note_failure(k, from, n);
}

/* What came is as good as hostile. */
static void
take(rset_rendezvous *m, int from, rset_note *n)
{
    n->kind.text[sizeof n->kind.text - 1] = n->host[sizeof n->host - 1] =
        n->text[sizeof n->text - 1] = '\0';
    if (n->kind.nruns > RSET_RUNS_MAX ||
        (n->op != RSET_RENDEZVOUS_OPEN && n->op != 0 && n->op != RSET_RENDEZVOUS_CLOSE))
        return;
    if (n->type == RSET_NOTE_FAILED)
        take_failure(m, from, n);
    else if (m->comm->rank == 0)
        rset_root_take(m, from, n);
    else if (from == 0)
        take_from_root(m, n);
}

/* Takes in all messages that are there; *any_out: there was one. */
static rset_status
take_all(rset_rendezvous *m, bool *any_out, rset_err *err)
{
    rset_status st = RSET_OK;
    bool        found = true;

    *any_out = false;
    rset_outbox_reap(&m->outbox);
    while (st == RSET_OK && found) {
        rset_note    n = {0};
        rset_message in = {.tag = RSET_TAG_RENDEZVOUS, .room = &n, .len = sizeof n};

        st = rset_comm_poll(m->comm, &in, &found, err);
        if (st == RSET_OK && found && in.len == sizeof n)
            take(m, in.peer, &n);
        *any_out = *any_out || found;
    }
    return st;
}

/* ---- waiting ---- */

static rset_note
note_of(const rset_rendezvous *m, const rset_proposal *p, const rset_known_kind *k)
{
    rset_note n = {.type = RSET_NOTE_PROPOSE,
                   .op = (int32_t)p->op,
                   .seq = m->seq,
                   .required = p->required,
                   .evidence = p->evidence,
                   .protected_ = p->protected_,
                   .needs_all = p->needs_all,
                   .key = p->key,
                   .bits = p->bits,
                   .most = p->most,
                   .least_base = p->least_base,
                   .most_base = p->most_base,
                   .epoch = p->op == RSET_RENDEZVOUS_CLOSE || p->step ? k->epoch + 1 : 0,
                   .kind = p->kind};

    snprintf(n.host, sizeof n.host, "%s", m->host);
    return n;
}

/* Rank 0 itself has not come. */
static rset_status
give_up(rset_rendezvous *m, const rset_note *mine, rset_known_kind *k, double waited, rset_err *err)
{
    if (rset_kind_was_met(k, mine->op))
        m->root_missed++;
    else
        m->timed_out = true;
    m->answer.told = k->told;
    k->told = true;
    if (rset_kind_was_met(k, mine->op) || mine->op == RSET_RENDEZVOUS_OPEN ||
        ++k->timeouts >= RSET_TRIES)
        m->answer.told |= !rset_kind_not_met(k, mine->op, mine->evidence != 0);
    return rset_fail(err, RSET_PEER, "%s %s: timed out after %.3g s waiting for rank 0",
                     rset_rendezvous_op_text(mine->op), mine->kind.text, waited);
}

/* On rank 0. */
static void
say_waiting(const rset_rendezvous *m)
{
    char text[RSET_NOTE_TEXT];

    if (!rset_comm_long_wait(m->guests[0].since, RSET_LONG_WAIT))
        return;
    rset_root_say_missing(m, 0, "waiting", text, sizeof text);
    rset_comm_say_waiting("for other ranks, at most %g s (timeout=): %s", m->comm->timeout, text);
}

/* On rank 0: decides until its own proposal is answered as well. */
static rset_status
wait_at_root(rset_rendezvous *m, rset_err *err)
{
    rset_pause  pause = {0};
    bool        any = false;
    rset_status st = take_all(m, &any, err);

    while (st == RSET_OK) {
        if (!any)
            rset_root_decide(m);
        if (m->answer.type != 0)
            return RSET_OK;
        if (any) {
            pause.spins = 0;
        } else {
            say_waiting(m);
            rset_pause_once(&pause);
        }
        st = take_all(m, &any, err);
    }
    return st;
}

static rset_status
withdraw(rset_rendezvous *m, const rset_note *mine, rset_err *err)
{
    rset_note n = *mine;

    n.type = RSET_NOTE_WITHDRAW;
    return rset_outbox_post(&m->outbox, 0, &n, err);
}

static rset_status
wait_for_answer(rset_rendezvous *m, const rset_note *mine, rset_known_kind *k, rset_err *err)
{
    rset_pause  pause = {0};
    double      start = rset_clock(), until = start + rset_rendezvous_wait(m, mine, m->root_missed);
    bool        any = false, withdrawn = false;
    rset_status st = RSET_OK;

    while (st == RSET_OK) {
        const double now = rset_clock(); /* before the look: who was stopped looks once more */
        const int    missed = m->root_missed;

        st = take_all(m, &any, err);
        if (st != RSET_OK || m->answer.type != 0)
            return st;
        if (m->root_missed < missed && !withdrawn) /* it lives, and has the whole time */
            until = start + rset_rendezvous_wait(m, mine, m->root_missed);
        if (rset_kind_has_failed(k, mine)) {
            rset_kind_say_failed(k, m->comm->rank, &m->answer);
            return withdraw(m, mine, err);
        }
        if (now > until && withdrawn)
            return give_up(m, mine, k, now - start, err);
        if (now > until) {
            withdrawn = true;
            until = now + GRACE;
            st = withdraw(m, mine, err);
        }
        if (any)
            pause.spins = 0;
        else
            rset_pause_once(&pause);
    }
    return st;
}

/* ---- the door ---- */

static rset_status
propose(rset_rendezvous *m, const rset_proposal *p, rset_known_kind *k, rset_err *err)
{
    rset_note   mine;
    rset_status st;

    m->seq++;
    m->answer.type = m->answer.told = 0;
    mine = note_of(m, p, k);
    if (m->comm->rank == 0) {
        rset_root_take(m, 0, &mine);
        return wait_at_root(m, err);
    }
    st = rset_outbox_post(&m->outbox, 0, &mine, err);
    return st == RSET_OK ? wait_for_answer(m, &mine, k, err) : st;
}

/* Rank 0 counts who has files of this kind. */
static void
announce(rset_rendezvous *m, const rset_proposal *p, rset_known_kind *k)
{
    rset_note n = {.type = RSET_NOTE_HAVE, .op = (int32_t)p->op, .kind = p->kind};
    rset_err  ignored = RSET_ERR_NONE;

    if (k->announced || p->op != RSET_RENDEZVOUS_CLOSE)
        return;
    k->announced = true;
    if (m->comm->rank == 0)
        rset_root_take(m, 0, &n);
    else
        (void)rset_outbox_post(&m->outbox, 0, &n, &ignored);
}

static void
take_go(rset_rendezvous *m, rset_proposal *p, rset_known_kind *k, uint64_t *nonce_out)
{
    const rset_note *answer = &m->answer;

    rset_kind_met(k, (int)p->op);
    rset_kind_note_names(k, &p->kind, answer->equal);
    k->insisted[p->op] = p->required;
    if (p->op == RSET_RENDEZVOUS_CLOSE)
        k->epoch = answer->epoch;
    if (m->job == 0)
        m->job = answer->nonce | 1;
    p->bits = answer->bits;
    p->most = answer->most;
    p->least_base = answer->least_base;
    p->most_base = answer->most_base;
    *nonce_out = answer->nonce;
}

rset_status
rset_rendezvous_meet(rset_rendezvous *m, rset_proposal *p, uint64_t *nonce_out, bool *known_out,
                     rset_err *err)
{
    rset_known_kind *k = rset_kinds_get(&m->kinds, p->kind.text);
    rset_status      st = rset_comm_usable(m->comm, err);
    bool             any;

    *known_out = p->told = false;
    if (st == RSET_OK && k == NULL)
        st = rset_fail(err, RSET_NOMEM, "no memory for a kind of file");
    if (st == RSET_OK)
        st = take_all(m, &any, err);
    if (st == RSET_OK)
        announce(m, p, k);
    if (st == RSET_OK && rset_kind_is_for_some(k, (int)p->op, p->evidence)) {
        *known_out = p->told = true;
        st = rset_fail(err, RSET_PEER, "%s is not one per rank", p->kind.text);
    } else if (st == RSET_OK) {
        st = propose(m, p, k, err);
        p->told = p->told || m->answer.told != 0;
    }
    if (st == RSET_OK && m->answer.type == RSET_NOTE_NO) {
        p->required = p->required || m->answer.required;
        p->protected_ = p->protected_ || m->answer.protected_ != 0;
        *known_out = m->answer.known != 0;
        st = rset_fail(err, RSET_PEER, "%s", m->answer.text);
    }
    if (st != RSET_OK) {
        p->required = p->required || (k != NULL && k->insisted[p->op]);
        count_close(m, p);
        return st;
    }
    p->required = p->required || m->answer.required;
    take_go(m, p, k, nonce_out);
    return RSET_OK;
}

rset_label
rset_rendezvous_label(rset_rendezvous *m, const rset_kind *kind)
{
    const rset_known_kind *k = rset_kinds_find(m->kinds, kind->text);

    return (rset_label){
        .job = m->job, .step = k != NULL ? k->epoch : 0, .ranks = (uint64_t)m->size};
}

void
rset_rendezvous_announce_failure(rset_rendezvous *m, const rset_kind *kind)
{
    rset_known_kind *k = rset_kinds_get(&m->kinds, kind->text);
    rset_note        n = {.type = RSET_NOTE_FAILED, .op = RSET_RENDEZVOUS_CLOSE, .kind = *kind};
    rset_err         ignored = RSET_ERR_NONE;

    if (k == NULL)
        return;
    n.epoch = ++k->epoch;
    snprintf(n.host, sizeof n.host, "%s", m->host);
    if (m->comm == NULL || rset_comm_usable(m->comm, &ignored) != RSET_OK)
        return;
    take_failure(m, m->comm->rank, &n);
    for (int r = 0; r < m->comm->size; r++)
        if (r != m->comm->rank)
            (void)rset_outbox_post(&m->outbox, r, &n, &ignored);
}

/* ---- the end ---- */

static bool
everybody_gone(const rset_rendezvous *m)
{
    if (m->comm->rank != 0)
        return m->all_gone;
    for (int r = 1; r < m->comm->size; r++)
        if (!m->guests[r].gone)
            return false;
    return true;
}

void
rset_rendezvous_end(rset_rendezvous *m)
{
    rset_note  leave = {.type = m->comm->rank == 0 ? RSET_NOTE_LEAVE_ALL : RSET_NOTE_LEAVE};
    rset_err   ignored = RSET_ERR_NONE;
    rset_pause pause = {0};
    double     until = rset_clock() + m->comm->timeout;
    bool       any;

    if (m->comm->rank == 0)
        m->guests[0].gone = true;
    else if (rset_outbox_post(&m->outbox, 0, &leave, &ignored) != RSET_OK)
        return;
    while (!everybody_gone(m) && rset_clock() < until) {
        if (take_all(m, &any, &ignored) != RSET_OK)
            return;
        if (m->comm->rank == 0 && !any)
            rset_root_decide(m);
        rset_pause_once(&pause);
    }
    for (int r = 1; m->comm->rank == 0 && r < m->comm->size; r++)
        (void)rset_outbox_post(&m->outbox, r, &leave, &ignored);
    while (m->outbox.messages != NULL && rset_clock() < until &&
           rset_comm_usable(m->comm, &ignored) == RSET_OK) {
        rset_outbox_reap(&m->outbox);
        rset_pause_once(&pause);
    }
}
