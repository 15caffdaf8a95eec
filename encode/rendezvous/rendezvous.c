/* rendezvous.c: see rendezvous.h: the door of each rank. How it waits is in wait.c. */
#include "rendezvous_internal.h"

#include "common/crc64.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

rset_status
rset_rendezvous_new(const char *host, int size, rset_rendezvous **out, rset_err *err)
{
    rset_rendezvous *m = calloc(1, sizeof *m);

    if (m == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for a rendezvous of %d ranks", size);
    m->size = size;
    m->whole = m;
    snprintf(m->host, sizeof m->host, "%s", host);
    *out = m;
    return RSET_OK;
}

rset_status
rset_rendezvous_attach(rset_rendezvous *m, rset_comm *comm, rset_err *err)
{
    rset_status st = rset_outbox_open(&m->outbox, comm, err);

    if (st != RSET_OK)
        return st;
    m->comm = comm;
    m->size = comm->size;
    st = rset_combine_open(m, err);
    if (st != RSET_OK) {
        rset_outbox_close(&m->outbox);
        m->comm = NULL;
    }
    return st;
}

static void
renew(rset_rendezvous *m)
{
    rset_outbox_renew(&m->outbox);
    rset_combine_renew(m);
    free(m->guests);
    free(m->gone);
    m->guests = NULL;
    m->gone = NULL;
    m->ngone = m->root_missed = 0;
    m->all_gone = m->waits = m->stirred = false;
    m->last_go = (rset_note){0};
    m->due = 0;
    for (rset_known_kind *k = m->kinds; k != NULL; k = k->next) {
        k->announced = false;
        k->have = 0;
    }
}

void
rset_rendezvous_renew(rset_rendezvous *whole)
{
    renew(whole);
    for (rset_rendezvous *m = whole->next; m != NULL; m = m->next) {
        rset_comm_reset(m->comm);
        renew(m);
    }
    rset_parts_renew(whole);
}

void
rset_rendezvous_free(rset_rendezvous *place)
{
    if (place == NULL)
        return;
    rset_parts_free(place);
    if (place->comm != NULL)
        rset_outbox_close(&place->outbox);
    rset_kinds_free(place->kinds);
    free(place->children);
    free(place->guests);
    free(place->gone);
    free(place);
}

/* ---- before there is a communicator ---- */

double
rset_rendezvous_patience(rset_rendezvous *m, rset_proposal *p, double timeout, bool *known_out)
{
    rset_known_kind *k = rset_kinds_find(m->kinds, p->kind.text);
    const bool       insists = p->evidence && p->op == RSET_RENDEZVOUS_OPEN;
    const double     wait = rset_kind_wait(k, timeout, m->timed_out && !p->required);

    *known_out = false;
    if (p->op == RSET_RENDEZVOUS_CALL)
        return timeout;
    *known_out = wait <= 0 && !insists;
    p->told = *known_out && rset_kind_tell(k, (int)p->op, p->evidence);
    if (!insists || k == NULL || k->timeouts == 0)
        return wait;
    return timeout < RSET_RENDEZVOUS_SHORT ? timeout : RSET_RENDEZVOUS_SHORT;
}

uint64_t
rset_rendezvous_step(rset_rendezvous *m, rset_rendezvous_op op, const rset_kind *kind)
{
    const rset_known_kind *k = rset_kinds_find(m->kinds, kind->text);
    const uint64_t         step[2] = {(uint64_t)op, k != NULL ? k->epoch : 0};

    if (op == RSET_RENDEZVOUS_OPEN)
        return 0;
    return rset_crc64(rset_crc64(0, step, sizeof step), kind->text, strlen(kind->text)) | 1;
}

static void
count_step(rset_rendezvous *m, const rset_kind *kind)
{
    rset_known_kind *k = rset_kinds_get(&m->kinds, kind->text);

    if (k != NULL)
        k->epoch++;
    /* The others have not, and learn at once who is behind; but nobody waits for what only some ranks have. */
    if (m->comm != NULL && !rset_kind_is_for_some(k, RSET_RENDEZVOUS_CLOSE, false))
        rset_combine_turn(m);
}

void
rset_rendezvous_skip(rset_rendezvous *m, const rset_kind *kind)
{
    count_step(rset_parts_of_kind(m, kind->text), kind);
}

/* One step further, together or not. */
static void
count_close(rset_rendezvous *m, const rset_proposal *p)
{
    if (p->op != RSET_RENDEZVOUS_OPEN)
        count_step(m, &p->kind);
}

void
rset_rendezvous_timed_out(rset_rendezvous *m, rset_proposal *p)
{
    rset_known_kind *k = rset_kinds_get(&m->kinds, p->kind.text);

    if (k != NULL) {
        k->timeouts++;
        p->told = rset_kind_tell(k, (int)p->op, p->evidence);
    }
    m->timed_out = m->timed_out || p->op != RSET_RENDEZVOUS_CALL;
    count_close(m, p);
}

/* ---- the door ---- */

static void
take_go(rset_rendezvous *m, rset_proposal *p, rset_known_kind *k, uint64_t *nonce_out)
{
    const rset_note *answer = &m->answer;

    rset_kind_met(k, (int)p->op);
    if (p->op == RSET_RENDEZVOUS_OPEN)
        k->opens = k->itself = 0;
    p->reads = p->op == RSET_RENDEZVOUS_OPEN && answer->epoch == 0;
    k->apart = answer->apart != 0 || (k->apart && p->reads);
    k->alone = 0;
    if (answer->apart == 0)
        rset_kind_note_names(k, &p->kind, answer->equal);
    k->insisted[p->op] = p->required;
    if (p->op == RSET_RENDEZVOUS_CLOSE)
        rset_kind_shown(k, m->size);
    if (p->op != RSET_RENDEZVOUS_OPEN)
        k->epoch = answer->epoch;
    if (m->job == 0)
        m->job = answer->nonce | 1;
    m->whole->last_part = m->part;
    m->whole->last_round = answer->round;
    p->among = m->part != 0 ? m->comm : NULL;
    p->bits = answer->bits;
    p->most = answer->most;
    p->latest = answer->latest;
    p->least_base = answer->least_base;
    p->most_base = answer->most_base;
    memcpy(p->gone, answer->gone, sizeof p->gone);
    *nonce_out = answer->nonce;
}

/* See rset_kind_reads_apart. */
static bool
reads_apart(const rset_proposal *p, const rset_known_kind *k)
{
    const rset_note n = {.op = (int32_t)p->op, .epoch = p->step, .needs_all = p->needs_all};

    return rset_kind_reads_apart(k, &n);
}

/* Where *p is proposed now, after all that is known. */
static rset_status
come_to(rset_rendezvous *whole, const rset_proposal *p, rset_rendezvous **at_out, rset_err *err)
{
    bool        any;
    rset_status st = rset_comm_usable(whole->comm, err);

    whole->elsewhere = false;
    *at_out = whole;
    if (st == RSET_OK)
        st = rset_wait_take(whole, &any, err);
    if (st == RSET_OK)
        st = rset_parts_choose(whole, p, at_out, err);
    whole->path = p->path;
    whole->at = *at_out; /* from now on who lacks such files is noticed */
    return st == RSET_OK && *at_out != whole ? rset_wait_take(*at_out, &any, err) : st;
}

/* `before`: what came of coming here. */
static rset_status
meet_at(rset_rendezvous *m, rset_status before, rset_proposal *p, uint64_t *nonce_out,
        bool *known_out, rset_err *err)
{
    rset_known_kind *k = rset_kinds_get(&m->kinds, p->kind.text);
    rset_status      st = before;

    if (st == RSET_OK && k == NULL)
        st = rset_fail(err, RSET_NOMEM, "no memory for a kind of file");
    if (st == RSET_OK && rset_kind_is_for_some(k, (int)p->op, p->evidence)) {
        rset_root_announce(m, (int)p->op, &p->kind);
        *known_out = p->told = true;
        st = rset_fail(err, RSET_PEER, "%s is not one per rank", p->kind.text);
    } else if (st == RSET_OK && reads_apart(p, k) && k->alone >= RSET_TRIES) {
        st = rset_fail(err, RSET_PEER, "%s: the other ranks read such files at other times",
                       p->kind.text);
    } else if (st == RSET_OK) {
        st = rset_wait_propose(m, p, k, err);
        p->told = p->told || m->answer.told != 0;
        if (st == RSET_OK && m->answer.type == 0)
            return RSET_OK;
    }
    if (st == RSET_OK && m->answer.type == RSET_NOTE_NO) {
        p->required = p->required || m->answer.required;
        p->protected_ = p->protected_ || m->answer.protected_ != 0;
        p->by_itself = m->answer.by_itself != 0;
        p->came = (int)m->answer.came;
        *known_out = m->answer.known != 0;
        st = rset_fail(err, RSET_PEER, "%s", m->answer.text);
    }
    if (st != RSET_OK) {
        p->required = p->required || (k != NULL && k->insisted[p->op]);
        if (st == RSET_PEER && reads_apart(p, k)) {
            k->alone++;
            *known_out = p->told = true;
        }
        count_close(m, p);
        return st;
    }
    p->required = p->required || m->answer.required;
    take_go(m, p, k, nonce_out);
    return RSET_OK;
}

rset_status
rset_rendezvous_meet(rset_rendezvous *whole, rset_proposal *p, uint64_t *nonce_out, bool *known_out,
                     rset_err *err)
{
    rset_rendezvous *m;
    rset_status      st;

    *known_out = p->told = p->by_itself = false;
    p->among = NULL;
    whole->began = 0;
    do {
        st = come_to(whole, p, &m, err);
        if (whole->began <= 0)
            whole->began = rset_clock(); /* what was there before is known */
        m->answer.type = 0;
        st = meet_at(m, st, p, nonce_out, known_out, err);
    } while (st == RSET_OK && m->answer.type == 0);
    whole->at = NULL;
    whole->path = NULL;
    return st;
}

rset_status
rset_rendezvous_lack(rset_rendezvous *whole, const char *pattern, rset_err *err)
{
    rset_note   n = {.type = RSET_NOTE_LACK, .seq = whole->last_part, .round = whole->last_round};
    rset_status st = rset_comm_usable(whole->comm, err);

    if (st == RSET_OK && (strlen(pattern) >= sizeof n.text || pattern[0] == '\0'))
        st = rset_fail(err, RSET_USAGE, "a pattern has 1 to %zu bytes, not %zu", sizeof n.text - 1,
                       strlen(pattern));
    if (st != RSET_OK)
        return st;
    snprintf(n.text, sizeof n.text, "%s", pattern);
    if (!rset_parts_take_lack(whole, whole->comm->rank, &n))
        return rset_fail(err, RSET_NOMEM, "no memory for a pattern");
    return rset_parts_say_lack(whole, pattern, err);
}

void
rset_rendezvous_read_apart(rset_rendezvous *m, const rset_kind *kind)
{
    rset_known_kind *k = rset_kinds_get(&rset_parts_of_kind(m, kind->text)->kinds, kind->text);

    if (k != NULL)
        k->apart = true;
}

rset_label
rset_rendezvous_label(rset_rendezvous *whole, const rset_kind *kind)
{
    rset_rendezvous       *m = rset_parts_of_kind(whole, kind->text);
    const rset_known_kind *k = rset_kinds_find(m->kinds, kind->text);

    return (rset_label){
        .job = m->job, .step = k != NULL ? k->epoch : 0, .ranks = (uint64_t)m->size};
}

void
rset_rendezvous_announce_failure(rset_rendezvous *whole, const rset_kind *kind, const char *path)
{
    const rset_proposal about = {.kind = *kind, .path = path};
    rset_rendezvous    *m = whole;
    rset_known_kind    *k;
    rset_note           n = {.type = RSET_NOTE_FAILED, .op = RSET_RENDEZVOUS_CLOSE, .kind = *kind};
    rset_err            ignored = RSET_ERR_NONE;

    if (rset_parts_choose(whole, &about, &m, &ignored) != RSET_OK ||
        (k = rset_kinds_get(&m->kinds, kind->text)) == NULL)
        return;
    n.epoch = ++k->epoch;
    snprintf(n.host, sizeof n.host, "%s", m->host);
    if (m->comm == NULL || rset_comm_usable(m->comm, &ignored) != RSET_OK)
        return;
    rset_combine_turn(m);
    rset_wait_take_absence(m, m->comm->rank, &n);
    for (int r = 0; r < m->comm->size; r++)
        if (r != m->comm->rank)
            (void)rset_outbox_post(&m->outbox, r, &n, &ignored);
}

/* ---- the end ---- */

static bool
everybody_gone(const rset_rendezvous *m)
{
    return m->comm->rank == 0 ? m->ngone == m->comm->size : m->all_gone;
}

/* Down the tree. Who has given up says so as well: those below it began to wait when it did. */
static void
tell_that_all_leave(rset_rendezvous *m)
{
    rset_note n = {.type = RSET_NOTE_LEAVE_ALL};
    rset_err  ignored = RSET_ERR_NONE;

    for (int k = m->nchildren - 1; k >= 0; k--)
        (void)rset_outbox_post(&m->outbox, rset_coll_child(m->comm, m->comm->rank, k), &n,
                               &ignored);
}

/* Of the whole, or of a part: nobody waits for all of those to leave, since not all have to know of it. */
static rset_status
leave(rset_rendezvous *m)
{
    rset_note n = {.type = RSET_NOTE_LEAVE};
    rset_err  ignored = RSET_ERR_NONE;

    m->leaving = true;
    if (m->comm->rank != 0)
        return rset_outbox_post(&m->outbox, 0, &n, &ignored);
    rset_root_take(m, 0, &n);
    return RSET_OK;
}

static void
decide_all(rset_rendezvous *whole)
{
    for (rset_rendezvous *m = whole; m != NULL; m = m->next)
        if (m->comm->rank == 0)
            rset_root_decide(m);
}

static bool
is_sending(const rset_rendezvous *whole)
{
    const rset_rendezvous *m = whole;

    while (m != NULL && m->outbox.messages == NULL)
        m = m->next;
    return m != NULL;
}

void
rset_rendezvous_end(rset_rendezvous *whole)
{
    rset_err   ignored = RSET_ERR_NONE;
    rset_pause pause = {0};
    double     until = rset_clock() + whole->comm->timeout;
    bool       any;

    for (rset_rendezvous *m = whole->next; m != NULL; m = m->next)
        (void)leave(m);
    if (leave(whole) != RSET_OK)
        return;
    while (!everybody_gone(whole) && rset_clock() < until) {
        if (rset_wait_take(whole, &any, &ignored) != RSET_OK)
            return;
        if (!any)
            decide_all(whole);
        rset_pause_once(&pause);
    }
    tell_that_all_leave(whole);
    while (is_sending(whole) && rset_clock() < until &&
           rset_comm_usable(whole->comm, &ignored) == RSET_OK) {
        for (rset_rendezvous *m = whole; m != NULL; m = m->next)
            rset_outbox_reap(&m->outbox);
        rset_pause_once(&pause);
    }
}
