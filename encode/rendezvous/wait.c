/* wait.c: each rank from its proposal to the answer: what it takes in meanwhile, when it sends something up the tree, and
 * when it turns to rank 0 itself. See rendezvous_internal.h. */
#include "rendezvous_internal.h"

#include <stdio.h>
#include <string.h>

/* How long a rank that withdraws waits for what rank 0 says to that: it may have called everybody in
 * that very moment. When rank 0 is silent it has not come itself. */
#define GRACE 0.5

/* ---- receiving ---- */

/* All are told to go. Where this rank's proposal is another one meanwhile, it is not answered by that. */
static void
take_go(rset_rendezvous *m, const rset_note *n)
{
    const bool meant = n->seq == m->seq || (m->up == n->round && m->up_seq == m->seq);

    if (n->round != m->round) /* again */
        return;
    rset_combine_go(m, n);
    m->root_missed = 0;
    if (meant)
        m->answer = *n;
}

static void
take_from_root(rset_rendezvous *m, const rset_note *n)
{
    rset_known_kind *k;

    m->root_missed = 0;
    switch (n->type) {
    case RSET_NOTE_SOME:
        if ((k = rset_kinds_get(&m->kinds, n->kind.text)) != NULL) {
            (void)rset_kind_not_met(k, n->op, n->evidence != 0);
            (void)rset_kind_tell(k, n->op, n->evidence != 0);
            if (n->op != RSET_RENDEZVOUS_OPEN) /* rank 0 has had it said */
                k->late_told = true;
        }
        break;
    case RSET_NOTE_ALL:
        if ((k = rset_kinds_find(m->kinds, n->kind.text)) != NULL)
            rset_kind_for_all(k, n->op);
        break;
    case RSET_NOTE_ITSELF:
        if ((k = rset_kinds_get(&m->kinds, n->kind.text)) != NULL)
            rset_kind_note_itself(k, n);
        break;
    case RSET_NOTE_NO:
        if (n->seq == m->seq)
            m->answer = *n;
        break;
    default: break;
    }
}

void
rset_wait_take_absence(rset_rendezvous *m, int from, const rset_note *n)
{
    rset_known_kind *k = rset_kinds_get(&m->kinds, n->kind.text);

    if (k != NULL)
        rset_kind_note_absence(k, from, rset_comm_world(m->comm, from), n);
}

/* Word from rank 0, which may come through the parent. */
static void
take_from_above(rset_rendezvous *m, int from, const rset_note *n)
{
    if (n->type == RSET_NOTE_GO)
        take_go(m, n);
    else if (n->type == RSET_NOTE_DIRECT)
        rset_combine_told(m, n->round);
    else if (n->type == RSET_NOTE_LEAVE_ALL)
        m->all_gone = true;
    if (from == 0)
        take_from_root(m, n);
}

/* What came is as good as hostile. */
static void
take(rset_rendezvous *m, int from, rset_note *n)
{
    n->kind.text[sizeof n->kind.text - 1] = n->host[sizeof n->host - 1] = '\0';
    if (n->kind.nruns > RSET_RUNS_MAX || n->op < 0 || n->op >= RSET_RENDEZVOUS_OPS)
        return;
    if (n->type == RSET_NOTE_FAILED || n->type == RSET_NOTE_LEFT)
        rset_wait_take_absence(m, from, n);
    else if (n->type == RSET_NOTE_TOGETHER)
        rset_combine_take(m, from, n);
    else if (m->comm->rank == 0)
        rset_root_take(m, from, n);
    else if (from == 0 || from == rset_coll_parent(m->comm->rank))
        take_from_above(m, from, n);
}

/* To the part that it is of. */
static void
deliver(rset_rendezvous *whole, int from, rset_note *n)
{
    rset_rendezvous *m = rset_parts_find(whole, n->part);
    int              rank;

    n->text[sizeof n->text - 1] = '\0';
    if (n->type == RSET_NOTE_LACK)
        (void)rset_parts_take_lack(whole, from, n);
    else if (m == NULL)
        rset_parts_hold(whole, from, n);
    else if ((rank = rset_parts_rank(m, from)) >= 0)
        take(m, rank, n);
}

rset_status
rset_wait_take(rset_rendezvous *m, bool *any_out, rset_err *err)
{
    rset_rendezvous *whole = m->whole;
    rset_status      st = RSET_OK;
    rset_note        n;
    bool             found = true;
    int              from;

    for (rset_rendezvous *each = whole; each != NULL; each = each->next)
        rset_outbox_reap(&each->outbox);
    *any_out = false;
    while (m != whole && rset_parts_next_held(whole, m->part, &from, &n)) {
        deliver(whole, from, &n);
        *any_out = true;
    }
    while (st == RSET_OK && found) {
        rset_message in = {.tag = RSET_TAG_RENDEZVOUS, .room = &n, .len = sizeof n};

        n = (rset_note){0};
        st = rset_comm_poll(whole->comm, &in, &found, err);
        if (st == RSET_OK && found && in.len == rset_note_size(&n))
            deliver(whole, in.peer, &n);
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
                   .round = m->round,
                   .required = p->required,
                   .evidence = p->evidence,
                   .protected_ = p->protected_,
                   .needs_all = p->needs_all,
                   .whole = p->whole,
                   .nth = k->opens + (p->came == 0),
                   .came = (uint64_t)p->came,
                   .bits = p->bits,
                   .most = p->most,
                   .latest = p->latest,
                   .least_base = p->least_base,
                   .most_base = p->most_base,
                   .equal = ((uint64_t)1 << p->kind.nruns) - 1,
                   .epoch = p->op != RSET_RENDEZVOUS_OPEN || p->step ? k->epoch + 1 : 0,
                   .kind = p->kind};

    memcpy(n.keys, p->keys, sizeof n.keys);
    memcpy(n.gone, p->gone, sizeof n.gone);
    snprintf(n.host, sizeof n.host, "%s", m->host);
    return n;
}

/* On rank 0. */
static void
say_waiting(const rset_rendezvous *m)
{
    char text[RSET_NOTE_TEXT];

    if (m->guests == NULL || !rset_comm_long_wait(m->since, RSET_LONG_WAIT))
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
    rset_status st = rset_wait_take(m, &any, err);

    while (st == RSET_OK) {
        if (!any)
            rset_root_decide(m);
        if (m->answer.type != 0)
            return RSET_OK;
        if (m->whole->elsewhere) {
            rset_root_go_elsewhere(m);
            return RSET_OK;
        }
        if (any) {
            pause.spins = 0;
        } else {
            say_waiting(m);
            rset_pause_once(&pause);
        }
        st = rset_wait_take(m, &any, err);
    }
    return st;
}

/* ---- the other ranks ---- */

/* A rank that waits for an answer. */
typedef struct waiting {
    rset_note        mine;
    rset_known_kind *k;
    double           start, until;
    bool             asked; /* rank 0 itself, in the round of `mine` */
    bool             withdrawn;
} waiting;

/* The next time less is waited for rank 0, or for this kind. */
static void
count_missed(rset_rendezvous *m, const waiting *w)
{
    const rset_note *mine = &w->mine;
    rset_known_kind *k = w->k;

    if (rset_kind_was_met(k, mine->op))
        m->root_missed++;
    else
        m->timed_out = m->timed_out || mine->op != RSET_RENDEZVOUS_CALL;
    if (rset_kind_was_met(k, mine->op) || mine->op == RSET_RENDEZVOUS_OPEN ||
        ++k->timeouts >= RSET_TRIES)
        m->answer.told |= !rset_kind_not_met(k, mine->op, mine->evidence != 0);
}

/* Rank 0 itself has not come; or what it has said has not, for it comes through the parent in a calm round. */
static rset_status
give_up(rset_rendezvous *m, const waiting *w, double now, rset_err *err)
{
    const rset_note    *mine = &w->mine;
    rset_known_kind    *k = w->k;
    const rset_absence *absence = rset_kind_absence(k, mine);
    const int           parent = rset_coll_parent(m->comm->rank);
    char                or_parent[64] = "";

    if (absence != NULL && absence->at <= w->start) {
        rset_kind_say_absent(k, absence, m->comm->rank, mine, &m->answer);
        return RSET_OK;
    }
    m->answer.told = rset_kind_tell(k, mine->op, mine->evidence != 0);
    if (!rset_kind_reads_apart(k, mine))
        count_missed(m, w);
    if (parent != 0 && m->up == m->round && m->up_seq == m->seq)
        snprintf(or_parent, sizeof or_parent, ", or for rank %d, through which it answers",
                 rset_comm_world(m->comm, parent));
    return rset_fail(err, RSET_PEER, "%s %s: timed out after %.3g s waiting for rank %d%s",
                     rset_rendezvous_op_text(mine->op), mine->kind.text, now - w->start,
                     rset_comm_world(m->comm, 0), or_parent);
}

/* `how`: WITHDRAW, or ELSEWHERE. */
static rset_status
withdraw(rset_rendezvous *m, const waiting *w, rset_note_type how, rset_err *err)
{
    rset_note n = w->mine;

    rset_combine_turn(m);
    n.type = (int32_t)how;
    return rset_outbox_post(&m->outbox, 0, &n, err);
}

/* Proposes to rank 0 itself. */
static rset_status
ask(rset_rendezvous *m, waiting *w, double now, rset_err *err)
{
    rset_combine_turn(m);
    rset_root_announce(m, w->mine.op, &w->mine.kind);
    w->asked = true;
    w->mine.waited = now - w->start;
    return rset_outbox_post(&m->outbox, 0, &w->mine, err);
}

/* Has this round to be a direct one, as far as this rank can tell? */
static bool
must_ask(rset_rendezvous *m, const waiting *w, double now)
{
    return rset_combine_is_direct(m) || now > (w->start + w->until) / 2 ||
           rset_kind_is_for_some(w->k, w->mine.op, w->mine.evidence != 0);
}

/* Sends up what this rank and those below it propose, once they have come, or asks rank 0. */
static rset_status
go_on(rset_rendezvous *m, waiting *w, double now, rset_err *err)
{
    rset_combined what = RSET_COMBINE_WAITS;
    rset_note     sum;

    if (m->round !=
        w->mine.round) { /* all went without this rank's proposal, which is another one */
        rset_combine_turn(m);
        w->mine.round = m->round;
        w->asked = false;
    }
    if (w->asked)
        return RSET_OK;
    if (!must_ask(m, w, now) && m->up < m->round)
        what = rset_combine_look(m, &w->mine, &sum);
    if (what == RSET_COMBINE_WHOLE)
        return rset_combine_send_up(m, &sum, err);
    return what == RSET_COMBINE_DIFFERS || must_ask(m, w, now) ? ask(m, w, now, err) : RSET_OK;
}

static double
patience(rset_rendezvous *m, const waiting *w)
{
    return rset_rendezvous_until(m, &w->mine, w->start, m->root_missed);
}

/* Somebody will not come. */
static rset_status
do_without(rset_rendezvous *m, const waiting *w, const rset_absence *absence, rset_err *err)
{
    rset_kind_say_absent(w->k, absence, m->comm->rank, &w->mine, &m->answer);
    rset_kind_count_late(w->k, absence, &w->mine);
    rset_root_announce(m, w->mine.op, &w->mine.kind);
    return withdraw(m, w, RSET_NOTE_WITHDRAW, err);
}

static rset_status
wait_for_answer(rset_rendezvous *m, waiting *w, rset_err *err)
{
    const rset_absence *absence;
    rset_pause          pause = {0};
    rset_status         st = RSET_OK;
    bool                any = false;

    while (st == RSET_OK) {
        const double now = rset_clock(); /* before the look: who was stopped looks once more */
        const int    missed = m->root_missed;

        st = rset_wait_take(m, &any, err);
        if (st != RSET_OK || m->answer.type != 0)
            return st;
        if ((m->root_missed < missed || patience(m, w) < w->until) &&
            !w->withdrawn) /* it lives, and has the whole time; or somebody has left */
            w->until = patience(m, w);
        if ((absence = rset_kind_sure_absence(w->k, &w->mine, w->start)) != NULL)
            return do_without(m, w, absence, err);
        if (m->whole->elsewhere)
            return withdraw(m, w, RSET_NOTE_ELSEWHERE, err);
        if (now > w->until && w->withdrawn)
            return give_up(m, w, now, err);
        if (!w->withdrawn)
            st = go_on(m, w, now, err);
        if (st == RSET_OK && now > w->until) {
            w->withdrawn = true;
            w->until = now + GRACE;
            st = withdraw(m, w, RSET_NOTE_WITHDRAW, err);
        }
        if (any)
            pause.spins = 0;
        else
            rset_pause_once(&pause);
    }
    return st;
}

/* ---- leaving ---- */

/* Has this rank timed out, and goes on now? Those who came together come once more (rset_proposal.came). */
static bool
leaves(const rset_rendezvous *m, rset_status st)
{
    if (st != RSET_OK)
        return st == RSET_PEER && m->answer.type == 0;
    return m->answer.type == RSET_NOTE_NO && m->answer.waited > 0 && m->answer.came <= 1;
}

/* Does this rank tell rank r? Rank 0, and those at a distance of a power of two: where ranks come in turn, some at a time, each has
 * one of these among those before it, which was told itself. */
static bool
tells(const rset_rendezvous *m, int r)
{
    const int n = m->comm->size, up = (r - m->comm->rank + n) % n, down = n - up;

    return up != 0 && (r == 0 || (up & (up - 1)) == 0 || (down & (down - 1)) == 0);
}

/* Who comes later shall not wait. Not all are told by each: many may leave at one time. Rank 0 tells those who ask it. */
static void
tell_left(rset_rendezvous *m, const rset_note *mine)
{
    const bool answered = m->answer.type == RSET_NOTE_NO && m->answer.nth > 0;
    rset_note  n = *mine;
    rset_err   ignored = RSET_ERR_NONE;

    n.type = RSET_NOTE_LEFT;
    n.told = answered ? m->answer.nth : 1; /* else it is rank 0 that has not come */
    if (m->comm->rank == 0 && n.op != RSET_RENDEZVOUS_OPEN)
        rset_wait_take_absence(m, 0, &n);
    for (int r = 0; r < m->comm->size; r++)
        if (tells(m, r))
            (void)rset_outbox_post(&m->outbox, r, &n, &ignored);
}

rset_status
rset_wait_propose(rset_rendezvous *m, const rset_proposal *p, rset_known_kind *k, rset_err *err)
{
    waiting     w = {.k = k, .start = m->whole->began};
    rset_status st;

    m->seq++;
    m->answer.type = m->answer.told = 0;
    w.mine = note_of(m, p, k);
    k->opens += p->op == RSET_RENDEZVOUS_OPEN && p->came == 0;
    if (rset_kind_may_itself(k, &w.mine)) {
        m->answer = (rset_note){.type = RSET_NOTE_NO, .by_itself = 1, .told = 1};
        snprintf(m->answer.text, sizeof m->answer.text, "%s: other ranks have opened theirs before",
                 p->kind.text);
        return RSET_OK;
    }
    if (m->comm->rank != 0) {
        w.until = patience(m, &w);
        st = wait_for_answer(m, &w, err);
    } else {
        rset_root_come(m, &w.mine);
        st = wait_at_root(m, err);
        m->waits = false;
    }
    if (leaves(m, st))
        tell_left(m, &w.mine);
    return st;
}
