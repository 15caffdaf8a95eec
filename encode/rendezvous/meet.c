/* meet.c: see meet.h: the door of each rank. Rank 0's side is in meet_root.c, what is known of kinds in meet_kinds.c. */
#include "meet_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long a rank that withdraws waits for what rank 0 says to that: it may have called everybody in
 * that very moment. When rank 0 is silent it has not come itself. */
#define GRACE 0.5

struct rset_letter {
    rset_letter *next;
    rset_req     req;
    rset_note    note;
};

rset_status
rset_meeting_new(rset_comm *comm, const char *host, rset_meeting **out, rset_err *err)
{
    rset_meeting *m = calloc(1, sizeof *m);

    if (m != NULL) {
        m->comm = comm;
        snprintf(m->host, sizeof m->host, "%s", host);
        m->kinds = calloc(RSET_KINDS, sizeof *m->kinds);
        m->blank = calloc(1, sizeof *m->blank);
        m->seats = comm->rank == 0 ? calloc((size_t)comm->size, sizeof *m->seats) : NULL;
    }
    if (m == NULL || m->kinds == NULL || m->blank == NULL ||
        (comm->rank == 0 && m->seats == NULL)) {
        rset_meeting_free(m);
        return rset_fail(err, RSET_NOMEM, "no memory for a meeting of %d ranks", comm->size);
    }
    *out = m;
    return RSET_OK;
}

void
rset_meeting_free(rset_meeting *meeting)
{
    rset_letter *l, *next;

    if (meeting == NULL)
        return;
    for (l = meeting->letters; l != NULL; l = next) {
        next = l->next;
        if (!l->req.active || rset_comm_cancel(meeting->comm, &l->req))
            free(l); /* else the transport keeps it */
    }
    free(meeting->blank);
    free(meeting->kinds);
    free(meeting->seats);
    free(meeting);
}

const char *
rset_meet_op_text(int op)
{
    return op == RSET_MEET_OPEN ? "opening" : "closing";
}

/* ---- sending ---- */

/* One is always kept. */
static void
drop_letter(rset_meeting *m, rset_letter *l)
{
    if (m->blank == NULL)
        m->blank = l;
    else
        free(l);
}

static void
reap_letters(rset_meeting *m)
{
    for (rset_letter **at = &m->letters; *at != NULL;) {
        rset_letter *l = *at;
        rset_err     ignored = RSET_ERR_NONE;
        bool         done = !l->req.active;

        if (!done && rset_comm_test(m->comm, &l->req, &done, &ignored) != RSET_OK)
            return;
        if (!done) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        drop_letter(m, l);
    }
}

/* Without memory, once it is back: a rank that cannot say that it comes keeps all others waiting. */
static rset_letter *
blank_letter(rset_meeting *m)
{
    const double until = rset_clock() + m->comm->timeout;
    rset_letter *l;
    rset_pause   pause = {0};
    rset_err     ignored = RSET_ERR_NONE;

    while (m->blank == NULL && rset_clock() < until &&
           rset_comm_usable(m->comm, &ignored) == RSET_OK) {
        reap_letters(m);
        rset_pause_once(&pause);
    }
    l = m->blank;
    m->blank = NULL;
    return l;
}

static rset_letter *
new_letter(rset_meeting *m, const rset_note *n)
{
    rset_letter *l = malloc(sizeof *l);

    if (l == NULL)
        l = blank_letter(m);
    if (l != NULL)
        *l = (rset_letter){.note = *n};
    return l;
}

/* Sends without waiting; the copy lives until the transport is done with it. */
rset_status
rset_meet_post(rset_meeting *m, int to, const rset_note *n, rset_err *err)
{
    rset_letter *l = new_letter(m, n);
    rset_status  st;

    if (l == NULL)
        return rset_fail(err, RSET_NOMEM, "no memory for a message");
    st = rset_comm_isend(m->comm, to, RSET_TAG_MEET, &l->note, sizeof l->note, &l->req, err);
    if (st != RSET_OK) {
        drop_letter(m, l);
        return st;
    }
    l->next = m->letters;
    m->letters = l;
    return RSET_OK;
}

/* ---- receiving ---- */

static void
take(rset_meeting *m, int from, rset_note *n)
{
    n->kind[sizeof n->kind - 1] = n->host[sizeof n->host - 1] = n->text[sizeof n->text - 1] = '\0';
    if (m->comm->rank == 0) {
        rset_meet_take_to_root(m, from, n);
        return;
    }
    if (from != 0)
        return;
    m->root_missed = 0;
    if (n->type == NOTE_LEARN)
        (void)rset_meet_learn(m, n->kind, n->op, n->evidence != 0);
    else if (n->type == NOTE_BYE_ALL)
        m->all_gone = true;
    else if ((n->type == NOTE_GO || n->type == NOTE_NO) && n->seq == m->seq)
        m->answer = *n;
}

/* Takes in all messages that are there; *any_out: there was one. */
static rset_status
take_all(rset_meeting *m, bool *any_out, rset_err *err)
{
    rset_status st = RSET_OK;
    bool        found = true;

    *any_out = false;
    reap_letters(m);
    while (st == RSET_OK && found) {
        rset_note n = {0};
        int       from = -1;
        size_t    got = 0;

        st = rset_comm_poll(m->comm, RSET_TAG_MEET, &n, sizeof n, &from, &got, &found, err);
        if (st == RSET_OK && found && got == sizeof n)
            take(m, from, &n);
        *any_out = *any_out || found;
    }
    return st;
}

/* ---- the door ---- */

static rset_note
note_of(const rset_meeting *m, const rset_proposal *p)
{
    rset_note n = {.type = NOTE_PROPOSE,
                   .op = (int32_t)p->op,
                   .seq = m->seq,
                   .required = p->required,
                   .evidence = p->evidence,
                   .protected_ = p->protected_,
                   .key = p->key,
                   .bits = p->bits,
                   .most = p->most};

    snprintf(n.kind, sizeof n.kind, "%s", p->kind);
    snprintf(n.host, sizeof n.host, "%s", m->host);
    return n;
}

static rset_status
withdraw(rset_meeting *m, const rset_note *mine, rset_err *err)
{
    rset_note n = *mine;

    n.type = NOTE_WITHDRAW;
    return rset_meet_post(m, 0, &n, err);
}

/* Rank 0 itself has not come. */
static rset_status
give_up(rset_meeting *m, const rset_note *mine, double waited, rset_err *err)
{
    if (rset_meet_was_met(m, mine->kind, mine->op))
        m->root_missed++;
    m->answer.vain = !rset_meet_is_seldom(m, mine->kind, mine->op, mine->evidence != 0);
    m->answer.told = !rset_meet_learn(m, mine->kind, mine->op, mine->evidence != 0);
    return rset_fail(err, RSET_PEER, "%s %s: waited in vain for rank 0, %.3g s",
                     rset_meet_op_text(mine->op), mine->kind, waited);
}

/* On rank 0: decides until its own proposal is answered as well. */
static rset_status
wait_at_root(rset_meeting *m, rset_err *err)
{
    rset_pause  pause = {0};
    bool        any = false;
    rset_status st = take_all(m, &any, err);

    while (st == RSET_OK) {
        if (!any)
            rset_meet_decide(m);
        if (m->answer.type != 0)
            return RSET_OK;
        if (any)
            pause.spins = 0;
        else
            rset_pause_once(&pause);
        st = take_all(m, &any, err);
    }
    return st;
}

static rset_status
wait_for_answer(rset_meeting *m, const rset_note *mine, rset_err *err)
{
    rset_pause  pause = {0};
    double      start = rset_clock(), until = start + rset_meet_patience(m, mine, m->root_missed);
    bool        any = false, withdrawn = false;
    rset_status st = RSET_OK;

    while (st == RSET_OK) {
        const double now = rset_clock(); /* before the look: who was stopped looks once more */

        st = take_all(m, &any, err);
        if (st != RSET_OK || m->answer.type != 0)
            return st;
        if (now > until && withdrawn)
            return give_up(m, mine, now - start, err);
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

bool
rset_meet_known(rset_meeting *meeting, rset_meet_op op, const char *kind)
{
    rset_err ignored = RSET_ERR_NONE;
    bool     any;

    if (rset_comm_usable(meeting->comm, &ignored) == RSET_OK)
        (void)take_all(meeting, &any, &ignored);
    return rset_meet_is_alone(meeting, kind, (int)op, false);
}

void
rset_meet_teach(rset_meeting *meeting, rset_meet_op op, const char *kind, bool evidence)
{
    rset_note n = {.type = NOTE_LEARN, .op = (int32_t)op, .evidence = evidence};
    rset_err  ignored = RSET_ERR_NONE;

    if (meeting->comm->rank == 0) {
        rset_meet_teach_all(meeting, kind, (int)op, evidence);
        return;
    }
    snprintf(n.kind, sizeof n.kind, "%s", kind);
    (void)rset_meet_learn(meeting, kind, (int)op, evidence);
    (void)rset_meet_post(meeting, 0, &n, &ignored);
}

static rset_status
propose(rset_meeting *m, const rset_proposal *p, rset_err *err)
{
    rset_note   mine;
    rset_status st;

    m->seq++;
    m->answer.type = m->answer.told = m->answer.vain = 0;
    mine = note_of(m, p);
    if (m->comm->rank == 0) {
        rset_meet_take_to_root(m, 0, &mine);
        return wait_at_root(m, err);
    }
    st = rset_meet_post(m, 0, &mine, err);
    return st == RSET_OK ? wait_for_answer(m, &mine, err) : st;
}

/* Did one insist when this was met the last time? Then all do, whoever comes this time. */
static bool
insisted(rset_meeting *m, const rset_proposal *p)
{
    const rset_known_kind *k = rset_meet_find_kind(m, p->kind, (int)p->op);

    return k != NULL && k->insisted;
}

rset_status
rset_meet(rset_meeting *meeting, rset_proposal *proposal, uint64_t *nonce_out, bool *known_out,
          rset_err *err)
{
    const rset_note *answer = &meeting->answer;
    rset_status      st = rset_comm_usable(meeting->comm, err);

    *known_out = proposal->told = proposal->vain = false;
    if (st == RSET_OK && rset_meet_known(meeting, proposal->op, proposal->kind) &&
        rset_meet_is_alone(meeting, proposal->kind, (int)proposal->op, proposal->evidence)) {
        *known_out = proposal->told = true;
        return rset_fail(err, RSET_PEER, "%s is not one per rank", proposal->kind);
    }
    proposal->required = proposal->required || insisted(meeting, proposal);
    if (st == RSET_OK)
        st = propose(meeting, proposal, err);
    proposal->told = proposal->told || answer->told != 0;
    proposal->vain = answer->vain != 0;
    if (st != RSET_OK)
        return st;
    proposal->required = proposal->required || answer->required;
    if (answer->type == NOTE_NO) {
        *known_out = answer->known != 0;
        proposal->protected_ = proposal->protected_ || answer->protected_ != 0;
        return rset_fail(err, RSET_PEER, "%s", answer->text);
    }
    rset_meet_done(meeting, proposal->kind, (int)proposal->op);
    rset_meet_find_kind(meeting, proposal->kind, (int)proposal->op)->insisted = proposal->required;
    proposal->bits = answer->bits;
    proposal->most = answer->most;
    *nonce_out = answer->nonce;
    return RSET_OK;
}

static bool
everybody_gone(const rset_meeting *m)
{
    if (m->comm->rank != 0)
        return m->all_gone;
    for (int r = 1; r < m->comm->size; r++)
        if (!m->seats[r].gone)
            return false;
    return true;
}

void
rset_meet_end(rset_meeting *meeting)
{
    rset_note  bye = {.type = meeting->comm->rank == 0 ? NOTE_BYE_ALL : NOTE_BYE};
    rset_err   ignored = RSET_ERR_NONE;
    rset_pause pause = {0};
    double     until = rset_clock() + meeting->comm->timeout;
    bool       any;

    if (meeting->comm->rank == 0)
        meeting->seats[0].gone = true;
    else if (rset_meet_post(meeting, 0, &bye, &ignored) != RSET_OK)
        return;
    while (!everybody_gone(meeting) && rset_clock() < until) {
        if (take_all(meeting, &any, &ignored) != RSET_OK)
            return;
        if (meeting->comm->rank == 0 && !any)
            rset_meet_decide(meeting);
        rset_pause_once(&pause);
    }
    for (int r = 1; meeting->comm->rank == 0 && r < meeting->comm->size; r++)
        (void)rset_meet_post(meeting, r, &bye, &ignored);
    while (meeting->letters != NULL && rset_clock() < until &&
           rset_comm_usable(meeting->comm, &ignored) == RSET_OK) {
        reap_letters(meeting);
        rset_pause_once(&pause);
    }
}
